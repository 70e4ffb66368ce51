//! Variables, structs, enums, aliases.

use std::rc::Rc;

use super::declarator::Declarator;
use super::specifiers::Specifiers;
use super::{Name, Parsed, Parser};
use crate::diagnostic::Problem;
use crate::lex::Kind;
use crate::syntax::{
    EnumDeclaration, Expr, ExprKind, Function, Parameter, StatementKind, StructDeclaration,
    TypeExpr, Variable,
};

impl Parser<'_> {
    fn unnamed(&mut self, what: &str) -> Rc<str> {
        self.unnamed += 1;
        format!("(unnamed {what} {})", self.unnamed).into()
    }

    /// `struct name { … }`, or `struct name`.
    pub(super) fn structure(&mut self) -> Parsed<TypeExpr> {
        let is_union = self.bump().is("union");
        let mut align = None;
        while self.is("__align__") || self.is("alignas") {
            self.bump();
            self.expect("(", "before the alignment")?;
            align = Some(Rc::new(self.assignment()?));
            self.expect(")", "behind the alignment")?;
        }
        let (name, span) = if self.peek().kind == Kind::Word {
            self.word("the struct's name")?
        } else {
            (self.unnamed("struct"), self.span())
        };
        if self.is(":") {
            let problem = Problem::new(self.span(), "structs that inherit aren't built");
            return self.fail(problem.help("make the other struct a member of this one"));
        }
        if self.is("<") {
            return self.fail(
                Problem::new(self.span(), "templates of structs aren't built")
                    .help("write one struct for each type, or a template of a function"),
            );
        }
        if !self.is("{") {
            self.declare(&name, Name::Type);
            return Ok(TypeExpr::Named(name, span));
        }
        self.declare(&name, Name::Type);
        self.bump();
        let (mut fields, mut defaults, mut methods) = (Vec::new(), Vec::new(), Vec::new());
        while !self.is("}") && !self.ended() {
            if self.accept(";") {
                continue;
            }
            if (self.is("public") || self.is("private") || self.is("protected"))
                && self.ahead(1).is(":")
            {
                self.bump();
                self.bump();
                continue;
            }
            self.member(&name, &mut fields, &mut defaults, &mut methods)?;
        }
        self.expect("}", "behind the members")?;
        Ok(TypeExpr::Struct(Rc::new(StructDeclaration {
            name,
            fields,
            defaults,
            methods,
            align,
            is_union,
            span,
        })))
    }

    fn member(
        &mut self,
        own: &Rc<str>,
        fields: &mut Vec<(TypeExpr, Rc<str>, crate::source::Span)>,
        defaults: &mut Vec<(usize, Expr)>,
        methods: &mut Vec<Rc<Function>>,
    ) -> Parsed<()> {
        if self.is("virtual") {
            let problem = Problem::new(self.span(), "virtual functions aren't built");
            return self.fail(problem.help("switch over an enum that says which kind it is"));
        }
        if self.is("template") || self.is("friend") || self.is("using") || self.is("explicit") {
            let message = format!("`{}` in a struct isn't built", self.peek().text);
            return self
                .fail(Problem::new(self.span(), message).help("write it outside of the struct"));
        }
        let before = self.at;
        while ["__device__", "__host__", "__forceinline__", "inline", "constexpr"]
            .iter()
            .any(|word| self.is(word))
        {
            self.bump();
        }
        if self.peek().text == *own && self.ahead(1).is("(") || self.is("~") {
            let problem = Problem::new(self.span(), "constructors and destructors aren't built");
            return self.fail(problem.help("list the members' values in braces: `T x = {1, 2};`"));
        }
        self.at = before;
        let specifiers = self.specifiers()?;
        if specifiers.attributes.is_static {
            let problem = Problem::new(self.span(), "static members aren't built");
            return self.fail(problem.help("write it outside of the struct"));
        }
        loop {
            let declarator = self.declarator(&specifiers.ty)?;
            if self.is("(") {
                let function = self.function(specifiers, declarator, Vec::new())?;
                methods.push(function);
                return Ok(());
            }
            if self.is(":") {
                let problem = Problem::new(self.span(), "bit fields aren't built");
                return self.fail(problem.help("use shifts and masks on an unsigned integer"));
            }
            if declarator.name.is_empty() {
                let problem = Problem::new(declarator.span, "a member needs a name");
                return self.fail(problem);
            }
            if self.accept("=") {
                defaults.push((fields.len(), self.initialiser()?));
            } else if self.is("{") {
                defaults.push((fields.len(), self.list()?));
            }
            fields.push((declarator.ty, declarator.name, declarator.span));
            if !self.accept(",") {
                break;
            }
        }
        self.expect(";", "behind the member")
    }

    /// `enum name { … }`, or `enum name`.
    pub(super) fn enumeration(&mut self) -> Parsed<TypeExpr> {
        self.bump();
        let scoped = self.is("class") || self.is("struct");
        if scoped {
            self.bump();
        }
        let (name, span) = if self.peek().kind == Kind::Word {
            self.word("the enum's name")?
        } else {
            (self.unnamed("enum"), self.span())
        };
        if self.accept(":") {
            self.type_name()?;
        }
        self.declare(&name, Name::Type);
        if !self.accept("{") {
            return Ok(TypeExpr::Named(name, span));
        }
        let mut values = Vec::new();
        while !self.is("}") && !self.ended() {
            let (value, place) = self.word("the name of a value")?;
            if !scoped {
                self.declare(&value, Name::Value);
            }
            let number = if self.accept("=") { Some(self.conditional()?) } else { None };
            values.push((value, number, place));
            if !self.accept(",") {
                break;
            }
        }
        self.expect("}", "behind the values")?;
        Ok(TypeExpr::Enum(Rc::new(EnumDeclaration { name, scoped, values })))
    }

    /// What stands behind `=`.
    pub(super) fn initialiser(&mut self) -> Parsed<Expr> {
        if self.is("{") { self.list() } else { self.assignment() }
    }

    /// `{a, b}`, `{.x = a}`
    pub(super) fn list(&mut self) -> Parsed<Expr> {
        self.deeper(|parser| {
            let start = parser.span();
            parser.expect("{", "before the list")?;
            let mut elements = Vec::new();
            while !parser.is("}") && !parser.ended() {
                let mut name = None;
                if parser.is(".") {
                    parser.bump();
                    name = Some(parser.word("a member's name")?.0);
                    parser.expect("=", "behind the member's name")?;
                }
                elements.push((name, parser.initialiser()?));
                if !parser.accept(",") {
                    break;
                }
            }
            parser.expect("}", "behind the list")?;
            parser.expr(ExprKind::List(elements), start.to(parser.last()))
        })
    }

    /// Variables, an alias or a type, up to the `;`.
    pub(super) fn declaration(
        &mut self,
        specifiers: Specifiers,
        first: Option<Declarator>,
    ) -> Parsed<StatementKind> {
        if first.is_none() && self.accept(";") {
            return Ok(StatementKind::Type(specifiers.ty));
        }
        let mut variables = Vec::new();
        let mut next = first;
        let mut ty = specifiers.ty.clone();
        loop {
            let declarator = match next.take() {
                Some(declarator) => declarator,
                None => self.declarator(&ty)?,
            };
            // A struct that is defined here is so once, however many variables follow.
            match &ty {
                TypeExpr::Struct(own) => ty = TypeExpr::Named(own.name.clone(), own.span),
                TypeExpr::Enum(own) => ty = TypeExpr::Named(own.name.clone(), declarator.span),
                _ => {}
            }
            if declarator.name.is_empty() {
                let problem = Problem::new(declarator.span, "expected the name of a variable");
                return self.fail(problem);
            }
            if specifiers.attributes.is_typedef {
                self.declare(&declarator.name, Name::Type);
                self.expect(";", "behind the name")?;
                return Ok(StatementKind::Alias(declarator.name, declarator.ty));
            }
            self.declare(&declarator.name, Name::Value);
            let init = if self.accept("=") {
                Some(self.initialiser()?)
            } else if self.is("{") {
                Some(self.list()?)
            } else if self.is("(") {
                let start = self.bump().span;
                let arguments = self.arguments(")")?;
                let span = start.to(self.last());
                Some(self.expr(ExprKind::Construct(declarator.ty.clone(), arguments), span)?)
            } else {
                None
            };
            variables.push(Variable {
                ty: declarator.ty,
                name: declarator.name,
                attributes: specifiers.attributes,
                init,
                align: specifiers.align.clone(),
                span: declarator.span,
            });
            if !self.accept(",") {
                break;
            }
        }
        self.expect(";", "behind the variable")?;
        Ok(StatementKind::Variables(variables))
    }

    /// A function from its parameters on.
    pub(super) fn function(
        &mut self,
        specifiers: Specifiers,
        declarator: Declarator,
        template: Vec<crate::syntax::TemplateParameter>,
    ) -> Parsed<Rc<Function>> {
        if declarator.name.is_empty() {
            let problem = Problem::new(self.span(), "this function has no name");
            return self.fail(problem.help("write its name before the parameters"));
        }
        self.scoped(|parser| {
            parser.expect("(", "before the parameters")?;
            let parameters = parser.parameters()?;
            while ["const", "noexcept", "override", "final"].iter().any(|word| parser.is(word)) {
                parser.bump();
            }
            if parser.is("->") {
                let problem = Problem::new(
                    parser.span(),
                    "a result's type behind the parameters isn't built",
                );
                return parser.fail(problem.help("write it before the name"));
            }
            let body = if parser.is("{") {
                Some(parser.block()?)
            } else {
                parser.expect(";", "behind the function's parameters, or a body")?;
                None
            };
            Ok(Rc::new(Function {
                name: declarator.name,
                attributes: specifiers.attributes,
                template,
                result: declarator.ty,
                parameters,
                body,
                bounds: specifiers.bounds,
                span: declarator.span,
                end: parser.last(),
            }))
        })
    }

    fn parameters(&mut self) -> Parsed<Vec<Parameter>> {
        let mut parameters = Vec::new();
        if self.is("void") && self.ahead(1).is(")") {
            self.bump();
        }
        while !self.is(")") && !self.ended() {
            if self.is("...") {
                let problem =
                    Problem::new(self.span(), "functions of any number of arguments aren't built");
                return self.fail(problem.help("write one function for each number of arguments"));
            }
            let start = self.span();
            let specifiers = self.specifiers()?;
            let declarator = self.declarator(&specifiers.ty)?;
            let default = if self.accept("=") { Some(Rc::new(self.assignment()?)) } else { None };
            // An array as a parameter is a pointer to its elements.
            let ty = match declarator.ty {
                TypeExpr::Array(element, _) => TypeExpr::Pointer(element),
                other => other,
            };
            self.declare(&declarator.name, Name::Value);
            let (name, restrict) = (declarator.name, declarator.restrict);
            let span = if name.is_empty() { start.to(self.last()) } else { declarator.span };
            parameters.push(Parameter { ty, name, restrict, default, span });
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")", "behind the parameters")?;
        Ok(parameters)
    }
}
