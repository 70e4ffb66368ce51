//! Declarators: a declared name with pointers, references and array lengths.

use std::rc::Rc;

use super::{Parsed, Parser};
use crate::diagnostic::Problem;
use crate::source::Span;
use crate::syntax::{Layout, TypeExpr};

/// A name with its complete type.
#[derive(Debug)]
pub(super) struct Declarator {
    pub(super) ty: TypeExpr,
    /// The declared name; empty if the declarator has no name.
    pub(super) name: Rc<str>,
    pub(super) span: Span,
    pub(super) restrict: bool,
    pub(super) layout: Layout,
}

impl Parser<'_> {
    pub(super) fn declarator(&mut self, base: &TypeExpr) -> Parsed<Declarator> {
        self.one_level_deeper(|parser| parser.declarator_inner(base))
    }

    fn declarator_inner(&mut self, base: &TypeExpr) -> Parsed<Declarator> {
        let (mut ty, mut restrict) = (base.clone(), false);
        let mut stars = 0;
        loop {
            if self.accept("*") {
                stars += 1;
                if stars > 16 {
                    let problem = Problem::new(self.last(), "a pointer of more than 16 levels");
                    return self.fail(problem);
                }
                ty = TypeExpr::Pointer(Box::new(ty));
            } else if self.accept("&") {
                ty = TypeExpr::Reference(Box::new(ty));
            } else if self.is("&&") {
                let problem =
                    Problem::new(self.span(), "references to temporaries (`&&`) aren't supported");
                return self.fail(problem.help("write `&` for a reference, or pass the value"));
            } else if self.accept("const") {
                ty =
                    TypeExpr::Qualified { inner: Box::new(ty), is_const: true, is_volatile: false };
            } else if self.accept("volatile") {
                ty =
                    TypeExpr::Qualified { inner: Box::new(ty), is_const: false, is_volatile: true };
            } else if self.accept("__restrict__")
                || self.accept("__restrict")
                || self.accept("restrict")
            {
                restrict = true;
            } else {
                break;
            }
        }
        // In `(*name)[4]`, the part in parentheses applies to the type that `[4]` completes, so the
        // text after the parentheses is read first.
        if self.is("(") && (self.peek_ahead(1).is("*") || self.peek_ahead(1).is("&")) {
            let inner = self.position + 1;
            self.skip_brackets()?;
            if self.is("(") {
                let problem = Problem::new(self.span(), "pointers to functions aren't supported");
                return self
                    .fail(problem.help("write a template over the function, or a `switch`"));
            }
            let around = self.lengths(ty)?;
            let after = std::mem::replace(&mut self.position, inner);
            let declarator = self.declarator(&around)?;
            self.expect(")", "after the name")?;
            self.position = after;
            return Ok(declarator);
        }
        if self.is("[") && matches!(base, TypeExpr::Auto) {
            let problem = Problem::new(self.span(), "structured bindings aren't supported");
            return self.fail(problem.help("name the struct, and read its members"));
        }
        let (mut name, mut span) = (Rc::from(""), self.span());
        if self.is("operator") {
            (name, span) = self.operator_name()?;
        } else if self.peek().kind == crate::lex::TokenKind::Word
            && !super::specifiers::is_keyword(&self.peek().text)
        {
            (name, span) = self.word("a name")?;
        }
        if self.is("::") {
            let problem = Problem::new(self.span(), "members can only be defined in their struct");
            return self.fail(problem.help("move the body into the `struct`"));
        }
        let ty = self.lengths(ty)?;
        let mut layout = Layout::default();
        self.layout(&mut layout)?;
        Ok(Declarator { ty, name, span, restrict, layout })
    }

    /// Parses `operator+` as a name.
    fn operator_name(&mut self) -> Parsed<(Rc<str>, Span)> {
        let start = self.bump().span;
        let mut text = String::from("operator");
        let token = self.bump();
        text.push_str(&token.text);
        if token.is("(") || token.is("[") {
            text.push_str(&self.bump().text);
        }
        Ok((text.into(), start.until(self.last())))
    }

    /// Parses the lengths `[2][3]` after a name. The last one is the innermost.
    fn lengths(&mut self, element: TypeExpr) -> Parsed<TypeExpr> {
        if !self.is("[") {
            return Ok(element);
        }
        let mut lengths = Vec::new();
        while self.accept("[") {
            let length = if self.is("]") { None } else { Some(Rc::new(self.expression()?)) };
            self.expect("]", "after the length")?;
            lengths.push(length);
            if lengths.len() > 16 {
                return self.fail(Problem::new(self.last(), "an array of more than 16 dimensions"));
            }
        }
        Ok(lengths
            .into_iter()
            .rev()
            .fold(element, |element, length| TypeExpr::Array(Box::new(element), length)))
    }

    /// A type without a name, as in casts and `sizeof`.
    pub(super) fn type_name(&mut self) -> Parsed<TypeExpr> {
        let specifiers = self.specifiers()?;
        let declarator = self.declarator(&specifiers.ty)?;
        if !declarator.name.is_empty() {
            let problem = Problem::new(declarator.span, "a type has no name here");
            return self.fail(problem.help("delete the name"));
        }
        Ok(declarator.ty)
    }
}
