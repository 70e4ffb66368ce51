//! Declarations: variables, functions, enums, aliases.

use std::rc::Rc;

use super::declarator::Declarator;
use super::specifiers::Specifiers;
use super::{Name, Parsed, Parser};
use crate::diagnostic::Problem;
use crate::lex::TokenKind;
use crate::syntax::{
    EnumDeclaration, Expr, ExprKind, Function, Layout, Parameter, StatementKind, StructDeclaration,
    TemplateArgument, TypeExpr, Variable,
};

/// Whether a struct or an enum only has a name that [`Parser::unnamed`] made up.
fn is_unnamed(name: &str) -> bool {
    name.rsplit("::").next().is_some_and(|last| last.starts_with('('))
}

/// Gives an unnamed struct or enum in `typedef struct { … } name` that name (C++, "The typedef
/// specifier", "for linkage purposes").
pub(super) fn named_by_alias(ty: TypeExpr, name: &Rc<str>) -> TypeExpr {
    match ty {
        TypeExpr::Struct(own) if is_unnamed(&own.name) => {
            let name = name.clone();
            TypeExpr::Struct(Rc::new(StructDeclaration { name, ..(*own).clone() }))
        }
        TypeExpr::Enum(own) if is_unnamed(&own.name) => {
            TypeExpr::Enum(Rc::new(EnumDeclaration { name: name.clone(), ..(*own).clone() }))
        }
        other => other,
    }
}

impl Parser<'_> {
    /// Parses `enum name { … }`, or `enum name`.
    pub(super) fn enumeration(&mut self) -> Parsed<TypeExpr> {
        self.bump();
        let scoped = self.is("class") || self.is("struct");
        if scoped {
            self.bump();
        }
        let (name, span) = if self.peek().kind == TokenKind::Word {
            let defines = self.peek_ahead(1).is("{") || self.peek_ahead(1).is(":");
            if defines { self.word("the enum's name")? } else { self.path("the enum's name")? }
        } else {
            (self.unnamed("enum"), self.span())
        };
        if self.accept(":") {
            self.type_name()?;
        }
        if !self.is("{") && (name.contains("::") || self.scopes[0].contains_key(&name)) {
            return Ok(TypeExpr::Named(name, span));
        }
        let name = self.declare_here(&name, Name::Type);
        if !self.accept("{") {
            return Ok(TypeExpr::Named(name, span));
        }
        let values = self.separated("}", |parser| {
            let (mut value, place) = parser.word("the name of a value")?;
            if !scoped {
                value = parser.declare_here(&value, Name::Value);
            }
            let number = if parser.accept("=") { Some(parser.conditional()?) } else { None };
            Ok((value, number, place))
        })?;
        self.expect("}", "after the values")?;
        Ok(TypeExpr::Enum(Rc::new(EnumDeclaration { name, scoped, values })))
    }

    /// The initial value after `=`.
    pub(super) fn initialiser(&mut self) -> Parsed<Expr> {
        if self.is("{") { self.list() } else { self.assignment() }
    }

    /// A list in braces: `{a, b}`, `{.x = a}`.
    pub(super) fn list(&mut self) -> Parsed<Expr> {
        self.one_level_deeper(|parser| {
            let start = parser.span();
            parser.expect("{", "before the list")?;
            let elements = parser.separated("}", |parser| {
                let mut name = None;
                if parser.accept(".") {
                    name = Some(parser.word("a member's name")?.0);
                    parser.expect("=", "after the member's name")?;
                }
                Ok((name, parser.initialiser()?))
            })?;
            parser.expect("}", "after the list")?;
            parser.expr(ExprKind::List(elements), start.until(parser.last()))
        })
    }

    /// Parses variables, aliases or a type, up to the `;`.
    pub(super) fn declaration(
        &mut self,
        specifiers: Specifiers,
        first: Option<Declarator>,
    ) -> Parsed<StatementKind> {
        if first.is_none() && self.accept(";") {
            if let Some(align) = &specifiers.layout.align
                && let TypeExpr::Struct(_) | TypeExpr::Enum(_) = &specifiers.ty
            {
                let problem =
                    Problem::warning(align.span, "an alignment after a struct has no effect");
                self.problems.push(problem.help("write it before the struct's name"));
            }
            if let TypeExpr::Struct(own) = &specifiers.ty
                && crate::syntax::is_unnamed(&own.name)
            {
                // The members of an unnamed union become variables.
                for (_, name, _) in &own.fields {
                    self.declare(name, Name::Value);
                }
            }
            return Ok(StatementKind::Type(specifiers.ty));
        }
        let (mut variables, mut aliases) = (Vec::new(), Vec::new());
        let mut next = first;
        let mut ty = specifiers.ty.clone();
        loop {
            let declarator = match next.take() {
                Some(declarator) => declarator,
                None => self.declarator(&ty)?,
            };
            // Only the first variable defines a struct; the others refer to it by name.
            let mut defined = &mut ty;
            while let TypeExpr::Qualified { inner, .. } = defined {
                defined = inner;
            }
            match defined {
                TypeExpr::Struct(own) => *defined = TypeExpr::Named(own.name.clone(), own.span),
                TypeExpr::Enum(own) => {
                    *defined = TypeExpr::Named(own.name.clone(), declarator.span);
                }
                _ => {}
            }
            if declarator.name.is_empty() {
                let problem = Problem::new(declarator.span, "expected the name of a variable");
                return self.fail(problem);
            }
            let align = declarator.layout.align.or_else(|| specifiers.layout.align.clone());
            if specifiers.attributes.is_typedef {
                if let Some(align) = align {
                    let problem =
                        Problem::new(align.span, "a `typedef` with an alignment isn't supported");
                    let help = "write the alignment before the struct's name, or on each variable";
                    return self.fail(problem.help(help));
                }
                let name = self.declare_here(&declarator.name, Name::Type);
                let named = named_by_alias(declarator.ty, &name);
                if let TypeExpr::Named(own, span) = &ty
                    && is_unnamed(own)
                {
                    ty = TypeExpr::Named(name.clone(), *span);
                }
                aliases.push((name, named));
                if self.accept(",") {
                    continue;
                }
                self.expect(";", "after the name")?;
                return Ok(StatementKind::Aliases(aliases));
            }
            let name = self.declare_here(&declarator.name, Name::Value);
            let init = if self.accept("=") {
                Some(self.initialiser()?)
            } else if self.is("{") {
                Some(self.list()?)
            } else if self.is("(") {
                let start = self.bump().span;
                let arguments = self.arguments(")")?;
                let span = start.until(self.last());
                Some(self.expr(ExprKind::Construct(declarator.ty.clone(), arguments), span)?)
            } else {
                None
            };
            variables.push(Variable {
                ty: declarator.ty,
                name,
                attributes: specifiers.attributes,
                init,
                align,
                span: declarator.span,
            });
            if !self.accept(",") {
                break;
            }
        }
        self.expect(";", "after the variable")?;
        Ok(StatementKind::Variables(variables))
    }

    /// Parses a function, from its parameters on.
    pub(super) fn function(
        &mut self,
        specifiers: Specifiers,
        declarator: Declarator,
        template: Vec<crate::syntax::TemplateParameter>,
    ) -> Parsed<Rc<Function>> {
        let specialises = if self.is("<") { Some(self.template_arguments()?) } else { None };
        if declarator.name.is_empty() {
            let problem = Problem::new(self.span(), "this function has no name");
            return self.fail(problem.help("write its name before the parameters"));
        }
        self.enclosing_bodies += 1;
        let result = self.function_inner(specifiers, declarator, template, specialises);
        self.enclosing_bodies -= 1;
        result
    }

    fn function_inner(
        &mut self,
        specifiers: Specifiers,
        declarator: Declarator,
        template: Vec<crate::syntax::TemplateParameter>,
        specialises: Option<Vec<TemplateArgument>>,
    ) -> Parsed<Rc<Function>> {
        self.scoped(|parser| {
            parser.expect("(", "before the parameters")?;
            let parameters = parser.parameters()?;
            let mut is_const = false;
            while ["const", "noexcept", "override", "final"].iter().any(|word| parser.is(word)) {
                is_const |= parser.bump().is("const");
            }
            parser.layout(&mut Layout::default())?;
            if parser.is("->") {
                let message = "a result type after the parameters isn't supported";
                let problem = Problem::new(parser.span(), message);
                return parser.fail(problem.help("write it before the name"));
            }
            let body = if parser.is("{") {
                Some(parser.block()?)
            } else {
                parser.expect(";", "after the function's parameters, or a body")?;
                None
            };
            Ok(Rc::new(Function {
                name: declarator.name,
                attributes: specifiers.attributes,
                template,
                result: declarator.ty,
                specialises,
                parameters,
                is_const,
                initialisers: Vec::new(),
                body,
                bounds: specifiers.bounds,
                span: declarator.span,
                end: parser.last(),
            }))
        })
    }

    pub(super) fn parameters(&mut self) -> Parsed<Vec<Parameter>> {
        if self.is("void") && self.peek_ahead(1).is(")") {
            self.bump();
        }
        let parameters = self.separated(")", |parser| {
            if parser.is("...") {
                let problem = Problem::new(parser.span(), "variadic functions aren't supported");
                return parser
                    .fail(problem.help("write one function for each number of arguments"));
            }
            let start = parser.span();
            let specifiers = parser.specifiers()?;
            let declarator = parser.declarator(&specifiers.ty)?;
            let default =
                if parser.accept("=") { Some(Rc::new(parser.assignment()?)) } else { None };
            // A parameter that is an array is a pointer to its elements.
            let ty = match declarator.ty {
                TypeExpr::Array(element, _) => TypeExpr::Pointer(element),
                other => other,
            };
            parser.declare(&declarator.name, Name::Value);
            let (name, restrict) = (declarator.name, declarator.restrict);
            let span = if name.is_empty() { start.until(parser.last()) } else { declarator.span };
            Ok(Parameter { ty, name, restrict, default, span })
        })?;
        self.expect(")", "after the parameters")?;
        Ok(parameters)
    }
}
