//! The top level of a source: items.

use super::{Name, Parsed, Parser, Stop};
use crate::diagnostic::Problem;
use crate::lex::TokenKind;
use crate::syntax::{Item, Statement, StatementKind, TemplateParameter};

/// The construct around a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeclarationContext {
    Nothing,
    /// `template <>`
    Specialisation,
}

impl Parser<'_> {
    /// The kind of a name in this namespace.
    fn kind_of(&self, name: &str) -> Option<Name> {
        self.scopes[0].get(&*format!("{}{name}", self.namespace)).copied()
    }

    pub(super) fn items(&mut self) {
        while !self.ended() && !self.problems.too_many() {
            self.items_until("}");
            if self.accept("}") {
                let last = self.last();
                self.problems.push(Problem::new(last, "this `}` closes nothing").help("delete it"));
            }
        }
    }

    /// Reads items up to, but not including, `end`. After an item with an error, parsing continues
    /// with the next item.
    pub(super) fn items_until(&mut self, end: &str) {
        let (depth, namespace) = (self.depth, self.namespace.clone());
        while !self.ended() && !self.is(end) && !self.problems.too_many() {
            let before = self.position;
            if self.accept(";") {
                continue;
            }
            if self.item().is_err() {
                self.scopes.truncate(1);
                (self.depth, self.enclosing_bodies) = (depth, 0);
                self.namespace.clone_from(&namespace);
                self.recover();
                if self.position == before {
                    self.bump();
                }
            }
        }
    }

    fn item(&mut self) -> Result<(), Stop> {
        let span = self.span();
        if self.peek().kind == TokenKind::Pragma {
            self.bump();
            return Ok(());
        }
        if self.is("extern")
            && self.peek_ahead(1).kind == TokenKind::String
            && self.peek_ahead(2).is("{")
        {
            return self.linkage();
        }
        if self.is("namespace") || self.is("inline") && self.peek_ahead(1).is("namespace") {
            self.accept("inline");
            return self.namespace_item();
        }
        if self.is("using") || self.is("static_assert") {
            let kind = if self.is("using") { self.using()? } else { self.static_assert()? };
            self.items.push(Item::Statement(Statement { kind, span }));
            return Ok(());
        }
        if self.is("template") && !self.peek_ahead(1).is("<") {
            return self.instance();
        }
        if self.is("extern") && self.peek_ahead(1).is("template") {
            // `extern template` declares an instantiation in another file, so nothing is
            // instantiated here.
            self.skip_item();
            return self.expect(";", "after the declaration");
        }
        if self.is("asm") {
            let problem = Problem::new(span, "`asm` outside of functions isn't supported");
            return self.fail(problem.help("write it into the function that needs it"));
        }
        if self.is("template") {
            return self.template();
        }
        self.declared(Vec::new(), DeclarationContext::Nothing)
    }

    /// Skips to the `;` that ends the item.
    pub(super) fn skip_item(&mut self) {
        let mut depth = 0;
        while !self.ended() && (depth > 0 || !self.is(";")) {
            depth += i32::from(self.is("(")) - i32::from(self.is(")"));
            self.bump();
        }
    }

    /// Parses `extern "C" { … }`, which may hold any items, also another such block.
    fn linkage(&mut self) -> Parsed<()> {
        self.bump();
        let has_c_names = &*self.peek().text == "\"C\"";
        let outer = std::mem::replace(&mut self.has_c_names, has_c_names);
        self.bump();
        self.bump();
        self.items_until("}");
        self.has_c_names = outer;
        self.expect("}", "after the functions")
    }

    pub(super) fn declared(
        &mut self,
        template: Vec<TemplateParameter>,
        around: DeclarationContext,
    ) -> Parsed<()> {
        let span = self.span();
        let mut specifiers = self.specifiers()?;
        specifiers.attributes.extern_c |=
            self.has_c_names && template.is_empty() && around == DeclarationContext::Nothing;
        if self.is(";") {
            let kind = self.declaration(specifiers, None)?;
            self.items.push(Item::Statement(Statement { kind, span }));
            return Ok(());
        }
        let mut declarator = self.declarator(&specifiers.ty)?;
        let attributes = specifiers.attributes;
        let special = around == DeclarationContext::Specialisation;
        if special && !self.is("<") {
            let message = "the template arguments of this specialisation are missing";
            let problem = Problem::new(declarator.span, message);
            let help = format!("write them after the name: `{}<float>(…)`", declarator.name);
            return self.fail(problem.help(help));
        }
        let variable = self.is("(") && self.begins_value();
        if (self.is("(") || special) && !variable && !attributes.shared && !attributes.constant {
            let known = self.kind_of(&declarator.name);
            let is = match (template.is_empty() && !special, known) {
                (true, Some(Name::Template)) => Name::Template,
                (true, _) => Name::Value,
                (false, _) => Name::Template,
            };
            declarator.name = self.declare_here(&declarator.name, is);
            let function = self.function(specifiers, declarator, template)?;
            self.items.push(Item::Function(function));
            return Ok(());
        }
        if !template.is_empty() {
            let problem = Problem::new(span, "only functions and structs may be templates");
            return self.fail(problem.help("use a type without template parameters"));
        }
        let kind = self.declaration(specifiers, Some(declarator))?;
        self.items.push(Item::Statement(Statement { kind, span }));
        Ok(())
    }

    /// Whether the brackets here contain the initial value of a variable, rather than parameters.
    fn begins_value(&mut self) -> bool {
        self.position += 1;
        let parameter = self.begins_type()
            || self.peek().kind == TokenKind::Word && !self.is("true") && !self.is("false")
            || [")", "...", "["].iter().any(|text| self.is(text));
        self.position -= 1;
        !parameter
    }

    pub(super) fn static_assert(&mut self) -> Parsed<StatementKind> {
        self.bump();
        self.expect("(", "after static_assert")?;
        let condition = self.assignment()?;
        let mut text = None;
        if self.accept(",") {
            let token = self.bump();
            text = Some(self.bytes(&token)?);
        }
        self.expect(")", "after the condition")?;
        self.expect(";", "after static_assert")?;
        Ok(StatementKind::StaticAssert(condition, text))
    }
}
