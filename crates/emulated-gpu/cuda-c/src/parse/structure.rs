//! Structs and unions.

use std::rc::Rc;

use super::{Name, Parsed, Parser};
use crate::diagnostic::Problem;
use crate::lex::TokenKind;
use crate::source::Span;
use crate::syntax::{
    Attributes, ExprKind, Function, InnerName, Item, Layout, Statement, StatementKind,
    StructDeclaration, StructTemplate, TemplateParameter, TypeExpr,
};

/// The start of a struct, before its name.
struct Head {
    is_union: bool,
    layout: Layout,
}

impl Parser<'_> {
    pub(super) fn unnamed(&mut self, what: &str) -> Rc<str> {
        self.unnamed += 1;
        format!("(unnamed {what} {})", self.unnamed).into()
    }

    fn head(&mut self) -> Parsed<Head> {
        let is_union = self.bump().is("union");
        let mut layout = Layout::default();
        self.layout(&mut layout)?;
        Ok(Head { is_union, layout })
    }

    /// Parses `struct name { … }`, or `struct name`.
    pub(super) fn structure(&mut self) -> Parsed<TypeExpr> {
        let head = self.head()?;
        let (name, span) = if self.peek().kind == TokenKind::Word {
            if !self.peek_ahead(1).is("{") && !self.peek_ahead(1).is(":") {
                // The struct may have been declared in another namespace.
                let known = self.qualified_name().is_some_and(|name| name.is == Some(Name::Type));
                if known {
                    let (name, span) = self.path("the struct's name")?;
                    return Ok(TypeExpr::Named(name, span));
                }
            }
            self.word("the struct's name")?
        } else {
            (self.unnamed("struct"), self.span())
        };
        self.reject_bases()?;
        let full = self.declare_here(&name, Name::Type);
        if !self.is("{") {
            return Ok(TypeExpr::Named(full, span));
        }
        Ok(TypeExpr::Struct(Rc::new(self.body(head, &name, full, span)?)))
    }

    fn reject_bases(&mut self) -> Parsed<()> {
        if self.is(":") {
            let problem = Problem::new(self.span(), "inheritance isn't supported");
            return self.fail(problem.help("make the other struct a member of this one"));
        }
        Ok(())
    }

    /// Parses `struct name { … };` after template parameters.
    pub(super) fn struct_template(&mut self, parameters: Vec<TemplateParameter>) -> Parsed<()> {
        let head = self.head()?;
        let known = self.qualified_name().is_some_and(|name| name.is == Some(Name::TypeTemplate));
        let (plain, span) = self.word("the struct's name")?;
        let full = self.declare_here(&plain, Name::TypeTemplate);
        let arguments = if self.is("<") { Some(self.template_arguments()?) } else { None };
        if arguments.is_some() && !known {
            let problem = Problem::new(span, format!("there is no template `{plain}`"));
            return self.fail(problem.help("write the primary template before its specialisation"));
        }
        let mut declaration = None;
        if !self.is(";") {
            self.reject_bases()?;
            declaration = Some(Rc::new(self.body(head, &plain, full.clone(), span)?));
        }
        self.expect(";", "after the struct")?;
        let template = StructTemplate { name: full, parameters, arguments, declaration, span };
        self.items.push(Item::StructTemplate(Rc::new(template)));
        Ok(())
    }

    /// The members, in braces.
    fn body(
        &mut self,
        head: Head,
        plain: &Rc<str>,
        name: Rc<str>,
        span: Span,
    ) -> Parsed<StructDeclaration> {
        let Head { is_union, layout } = head;
        let mut own = StructDeclaration { name, layout, is_union, span, ..Default::default() };
        self.expect("{", "before the members")?;
        self.enclosing_bodies += 1;
        let result = self.scoped(|parser| {
            while !parser.is("}") && !parser.ended() {
                if parser.accept(";") {
                    continue;
                }
                if ["public", "private", "protected"].iter().any(|word| parser.is(word))
                    && parser.peek_ahead(1).is(":")
                {
                    parser.bump();
                    parser.bump();
                    continue;
                }
                parser.member(plain, &mut own)?;
            }
            parser.expect("}", "after the members")
        });
        self.enclosing_bodies -= 1;
        result.map(|()| own)
    }

    fn member(&mut self, plain: &Rc<str>, own: &mut StructDeclaration) -> Parsed<()> {
        if self.is("virtual") {
            let problem = Problem::new(self.span(), "virtual functions aren't supported");
            return self.fail(problem.help("switch over an enum that names the kind"));
        }
        if self.is("friend") {
            let problem = Problem::new(self.span(), "`friend` in a struct isn't supported");
            return self.fail(problem.help("write it outside of the struct"));
        }
        if self.is("using") {
            let span = self.span();
            if let StatementKind::Aliases(aliases) = self.using()? {
                let named = |(name, ty)| InnerName::Alias(name, ty, span);
                own.names.extend(aliases.into_iter().map(named));
            }
            return Ok(());
        }
        if self.is("static_assert") {
            let span = self.span();
            let kind = self.static_assert()?;
            own.names.push(InnerName::Assert(Rc::new(Statement { kind, span })));
            return Ok(());
        }
        if self.is("template") {
            return self.scoped(|parser| {
                let parameters = parser.template_parameters()?;
                parser.method_or_members(plain, own, parameters)
            });
        }
        self.method_or_members(plain, own, Vec::new())
    }

    fn method_or_members(
        &mut self,
        plain: &Rc<str>,
        own: &mut StructDeclaration,
        template: Vec<TemplateParameter>,
    ) -> Parsed<()> {
        let before = self.position;
        let words =
            ["__device__", "__host__", "__forceinline__", "inline", "constexpr", "explicit"];
        let mut is_explicit = false;
        while words.iter().any(|word| self.is(word)) {
            is_explicit |= self.bump().is("explicit");
        }
        if self.is("~") {
            self.bump();
            let span = self.word("the struct's name")?.1;
            if self.default_or_delete().is_some() {
                return self.skip_default();
            }
            let problem = Problem::new(span, "destructors aren't supported");
            return self.fail(problem.help("a kernel has nothing to free: delete it"));
        }
        if self.peek().text == *plain && self.peek_ahead(1).is("(") {
            return self.constructor(own, template, is_explicit);
        }
        if self.is("operator")
            && !self.peek_ahead(1).is("(")
            && self.peek_ahead(1).kind == TokenKind::Word
        {
            if !template.is_empty() {
                let problem = Problem::new(self.span(), "conversion templates aren't supported");
                let help = "write one `operator T()` for each type";
                return self.fail(problem.help(help));
            }
            return self.conversion(own, is_explicit);
        }
        self.position = before;
        while self.accept("explicit") {}
        let span = self.span();
        let specifiers = self.specifiers()?;
        let (attributes, base) = (specifiers.attributes, specifiers.ty.clone());
        if let (true, TypeExpr::Struct(inner)) = (self.is(";"), &base)
            && crate::syntax::is_unnamed(&inner.name)
        {
            own.fields.push((base.clone(), inner.name.clone(), inner.span));
            return self.expect(";", "after the members");
        }
        if self.is(";") && matches!(base, TypeExpr::Enum(_) | TypeExpr::Struct(_)) {
            own.names.push(InnerName::Type(base, span));
            return self.expect(";", "after the type");
        }
        let mut declarator = self.declarator(&base)?;
        if attributes.is_typedef {
            self.declare(&declarator.name, Name::Type);
            let ty = super::declaration::named_by_alias(declarator.ty, &declarator.name);
            own.names.push(InnerName::Alias(declarator.name, ty, span));
            return self.expect(";", "after the name");
        }
        if self.is("(") {
            if self.default_or_delete().is_some() {
                return self.skip_default();
            }
            if !template.is_empty() {
                self.template_methods.insert(declarator.name.clone());
            }
            let function = self.function(specifiers, declarator, template)?;
            own.methods.push(function);
            return Ok(());
        }
        loop {
            if self.is(":") {
                let problem = Problem::new(self.span(), "bit fields aren't supported");
                return self.fail(problem.help("use shifts and masks on an unsigned integer"));
            }
            if declarator.name.is_empty() {
                let problem = Problem::new(declarator.span, "a member needs a name");
                return self.fail(problem);
            }
            let value = match () {
                () if self.accept("=") => Some(self.initialiser()?),
                () if self.is("{") => Some(self.list()?),
                () => None,
            };
            let (name, ty, place) = (declarator.name, declarator.ty, declarator.span);
            match value {
                Some(value) if attributes.is_static => {
                    own.names.push(InnerName::Constant(name, ty, value, place));
                }
                None if attributes.is_static => {
                    let problem = Problem::new(place, "static members aren't supported");
                    return self.fail(problem.help(
                        "write a constant as `static constexpr int name = 4;`, and a variable outside of the struct",
                    ));
                }
                value => {
                    if let Some(value) = value {
                        own.defaults.push((own.fields.len(), value));
                    }
                    let align = declarator.layout.align.or_else(|| specifiers.layout.align.clone());
                    own.aligned.extend(align.map(|align| (own.fields.len(), align)));
                    own.fields.push((ty, name, place));
                }
            }
            if !self.accept(",") {
                break;
            }
            declarator = self.declarator(&base)?;
        }
        self.expect(";", "after the member")
    }

    /// A conversion operator, `operator float() const { … }`.
    fn conversion(&mut self, own: &mut StructDeclaration, is_explicit: bool) -> Parsed<()> {
        let span = self.bump().span;
        let mut specifiers = self.specifiers()?;
        specifiers.attributes.device = true;
        specifiers.attributes.is_explicit = is_explicit;
        let mut declarator = self.declarator(&specifiers.ty)?;
        declarator.name = Rc::from("operator");
        declarator.span = span.until(self.last());
        let function = self.function(specifiers, declarator, Vec::new())?;
        own.conversions.push(function);
        Ok(())
    }

    /// Whether the function whose parameters begin here is `= default` (true) or `= delete`
    /// (false); `None` if it is neither.
    fn default_or_delete(&self) -> Option<bool> {
        let (mut at, mut depth) = (0, 0);
        loop {
            let token = self.peek_ahead(at);
            if token.kind == TokenKind::End {
                return None;
            }
            depth += i32::from(token.is("(")) - i32::from(token.is(")"));
            at += 1;
            if depth == 0 {
                break;
            }
        }
        while self.peek_ahead(at).kind == TokenKind::Word {
            at += 1;
        }
        let word = self.peek_ahead(at + 1);
        (self.peek_ahead(at).is("=") && (word.is("default") || word.is("delete")))
            .then(|| word.is("default"))
    }

    /// Skips a function that is `= default` or `= delete`: structs are always copied member by
    /// member.
    fn skip_default(&mut self) -> Parsed<()> {
        while !self.is(";") && !self.ended() {
            self.bump();
        }
        self.expect(";", "after it")
    }

    /// A constructor, `T(int a) : member(a) { … }` or `T() = default;`.
    fn constructor(
        &mut self,
        own: &mut StructDeclaration,
        template: Vec<TemplateParameter>,
        is_explicit: bool,
    ) -> Parsed<()> {
        let (_, span) = self.word("the struct's name")?;
        if let Some(default) = self.default_or_delete() {
            own.has_default |= default && self.peek_ahead(1).is(")");
            return self.skip_default();
        }
        self.enclosing_bodies += 1;
        let result = self.scoped(|parser| {
            parser.expect("(", "before the parameters")?;
            let parameters = parser.parameters()?;
            parser.accept("noexcept");
            if parser.is(";") {
                let problem = Problem::new(span, "members can only be defined in their struct");
                return parser.fail(problem.help("move the body into the `struct`"));
            }
            let mut initialisers = Vec::new();
            if parser.accept(":") {
                loop {
                    let (name, place) = parser.word("the name of a member")?;
                    let start = parser.span();
                    let value = if parser.is("{") {
                        parser.list()?
                    } else {
                        parser.expect("(", "after the member's name")?;
                        let values = parser.arguments(")")?;
                        let span = start.until(parser.last());
                        let list = values.into_iter().map(|value| (None, value)).collect();
                        parser.expr(ExprKind::List(list), span)?
                    };
                    initialisers.push((name, value, place));
                    if !parser.accept(",") {
                        break;
                    }
                }
            }
            let body = parser.block()?;
            own.constructors.push(Rc::new(Function {
                name: own.name.clone(),
                attributes: Attributes { device: true, is_explicit, ..Attributes::default() },
                template,
                result: TypeExpr::Void,
                specialises: None,
                parameters,
                is_const: false,
                initialisers,
                body: Some(body),
                bounds: Vec::new(),
                span,
                end: parser.last(),
            }));
            Ok(())
        });
        self.enclosing_bodies -= 1;
        result
    }
}
