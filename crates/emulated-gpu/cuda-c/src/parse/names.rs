//! Names, with optional namespaces.
//!
//! The parser replaces a name in a namespace by its full path, such as `a::b::name`, so that the
//! later stages need no knowledge of namespaces.

use std::rc::Rc;

use super::{Name, Parsed, Parser};
use crate::diagnostic::Problem;
use crate::lex::{Token, TokenKind};
use crate::syntax::{StatementKind, TypeExpr};

/// The maximum number of namespaces in `using namespace`: each name is looked up in all of them.
const MAX_USING: usize = 64;

/// A name with its full path.
#[derive(Debug)]
pub(super) struct QualifiedName {
    /// The full path, with all namespaces.
    pub(super) name: Rc<str>,
    pub(super) is: Option<Name>,
    /// The number of tokens of the name.
    pub(super) tokens: usize,
}

impl Parser<'_> {
    /// The qualified name that starts at the next token; `None` if there isn't any.
    pub(super) fn qualified_name(&self) -> Option<QualifiedName> {
        let (mut at, mut path): (usize, Option<Rc<str>>) = (0, None);
        if self.is("::") {
            (at, path) = (1, Some(Rc::from("")));
        }
        loop {
            let token = self.peek_ahead(at);
            if token.kind != TokenKind::Word {
                return None;
            }
            if !self.peek_ahead(at + 1).is("::") {
                break;
            }
            let Some(inner) = self.namespace_of(path.as_deref(), &token.text) else { break };
            path = Some(inner);
            at += 2;
        }
        let word = &self.peek_ahead(at).text;
        let (name, is) = match path {
            None => self.find(word),
            Some(path) => {
                let name: Rc<str> = format!("{path}{word}").into();
                let is = self.scopes[0].get(&name).copied();
                (name, is)
            }
        };
        Some(QualifiedName { name, is, tokens: at + 1 })
    }

    /// The full path of a namespace, ending in `::`.
    fn namespace_of(&self, path: Option<&str>, word: &str) -> Option<Rc<str>> {
        if path.is_none() && word == "std" {
            // The names of the C++ library that are supported are global here.
            return Some(Rc::from(""));
        }
        if let Some(known) = self.aliases.get(&*format!("{}{word}", path.unwrap_or_default())) {
            return known.ends_with("::").then(|| known.clone());
        }
        let known = |before: &str| {
            let full: Rc<str> = format!("{before}{word}::").into();
            self.namespaces.contains(&full).then_some(full)
        };
        match path {
            Some(path) => known(path),
            None => self.search_paths().find_map(|before| known(&before)),
        }
    }

    /// The namespaces in which an unqualified name is looked up, the innermost first.
    fn search_paths(&self) -> impl Iterator<Item = Rc<str>> {
        let mut paths: Vec<Rc<str>> = Vec::new();
        let mut rest = self.namespace.as_str();
        loop {
            paths.push(Rc::from(rest));
            let Some(shorter) = rest.strip_suffix("::") else { break };
            rest = &rest[..shorter.rfind("::").map_or(0, |at| at + 2)];
        }
        paths.extend(self.using.iter().cloned());
        paths.into_iter()
    }

    /// The full path and the kind of an unqualified name.
    fn find(&self, word: &Rc<str>) -> (Rc<str>, Option<Name>) {
        if let Some(is) = self.scopes[1..].iter().rev().find_map(|scope| scope.get(word)) {
            return (word.clone(), Some(*is));
        }
        if let Some(full) = self.aliases.get(word).filter(|full| !full.ends_with("::")) {
            return (full.clone(), self.scopes[0].get(full).copied());
        }
        if self.namespace.is_empty() && self.using.is_empty() {
            return (word.clone(), self.scopes[0].get(word).copied());
        }
        for path in self.search_paths() {
            let name: Rc<str> = format!("{path}{word}").into();
            if let Some(is) = self.scopes[0].get(&name) {
                return (name, Some(*is));
            }
        }
        (word.clone(), None)
    }

    /// Consumes a name, and returns its full path.
    pub(super) fn path(&mut self, what: &str) -> Parsed<(Rc<str>, crate::source::Span)> {
        let start = self.span();
        let Some(QualifiedName { name, tokens, .. }) = self.qualified_name() else {
            return self.word(what);
        };
        for _ in 1..tokens {
            self.bump();
        }
        self.word(what)?;
        Ok((name, start.until(self.last())))
    }

    /// Declares a name in the current scope (a namespace, a function or a struct), and returns its
    /// full path.
    pub(super) fn declare_here(&mut self, name: &Rc<str>, is: Name) -> Rc<str> {
        if self.enclosing_bodies > 0 {
            self.declare(name, is);
            return name.clone();
        }
        let full: Rc<str> = match self.namespace.as_str() {
            "" => name.clone(),
            path => format!("{path}{name}").into(),
        };
        self.scopes[0].insert(full.clone(), is);
        full
    }

    /// The position after the template arguments that begin `start` tokens ahead.
    fn after_arguments(&self, start: usize) -> Option<usize> {
        let (mut at, mut depth, mut brackets) = (start, 0i32, 0i32);
        loop {
            let token = self.peek_ahead(at);
            match &*token.text {
                _ if token.kind == TokenKind::End => return None,
                ";" | "{" | "}" if token.kind == TokenKind::Punctuation => return None,
                "(" | "[" => brackets += 1,
                ")" | "]" => brackets -= 1,
                "<" if brackets == 0 => depth += 1,
                ">" | ">>" | ">>>" if brackets == 0 && token.kind == TokenKind::Punctuation => {
                    depth -= token.text.len() as i32;
                    if depth <= 0 {
                        return Some(if depth == 0 { at + 1 } else { at });
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// The number of tokens of the type name that begins here; `None` if there isn't any.
    fn type_tokens(&self) -> Option<usize> {
        let name = self.qualified_name()?;
        let mut at = match name.is? {
            Name::Type => name.tokens,
            Name::TypeTemplate if self.peek_ahead(name.tokens).is("<") => {
                self.after_arguments(name.tokens)?
            }
            Name::TypeTemplate => name.tokens,
            Name::Template | Name::Value => return None,
        };
        // In `T::name x`, `T::name` is a type; otherwise it is a value.
        while self.peek_ahead(at).is("::") {
            if self.peek_ahead(at + 1).kind != TokenKind::Word
                || self.peek_ahead(at + 2).kind != TokenKind::Word
            {
                return None;
            }
            at += 2;
        }
        Some(at)
    }

    pub(super) fn begins_named_type(&self) -> bool {
        self.type_tokens().is_some()
    }

    /// The token after the type name that begins here.
    pub(super) fn after_type(&self) -> &Token {
        self.peek_ahead(self.type_tokens().unwrap_or(1))
    }

    /// Whether a type is followed by `(*name)[`, which is a declaration.
    pub(super) fn declares_in_brackets(&self) -> bool {
        let at = self.type_tokens().unwrap_or(1);
        self.peek_ahead(at).is("(")
            && (self.peek_ahead(at + 1).is("*") || self.peek_ahead(at + 1).is("&"))
            && self.peek_ahead(at + 2).kind == TokenKind::Word
            && self.peek_ahead(at + 3).is(")")
            && self.peek_ahead(at + 4).is("[")
    }

    /// A type name with its template arguments. If `is_type` (after `typename`), `T::name` is
    /// always a type.
    pub(super) fn named_type(&mut self, is_type: bool) -> Parsed<TypeExpr> {
        let is = self.qualified_name().and_then(|name| name.is);
        let (name, span) = self.path("the name of a type")?;
        let mut ty = if is == Some(Name::TypeTemplate) && self.is("<") {
            let arguments = self.template_arguments()?;
            TypeExpr::Applied(name, arguments.into(), span.until(self.last()))
        } else {
            TypeExpr::Named(name, span)
        };
        while self.is("::") && (is_type || self.peek_ahead(2).kind == TokenKind::Word) {
            self.bump();
            let (inner, _) = self.word("the name of a type")?;
            ty = TypeExpr::Inner(Box::new(ty), inner, span.until(self.last()));
        }
        Ok(ty)
    }

    /// Parses `namespace a { … }` or `namespace a = b;`.
    pub(super) fn namespace_item(&mut self) -> Parsed<()> {
        if self.peek_ahead(2).is("=") {
            return self.namespace_alias();
        }
        self.bump();
        let before = self.namespace.clone();
        while !self.is("{") {
            let (word, _) = self.word("the name of a namespace")?;
            self.namespace.push_str(&format!("{word}::"));
            self.namespaces.insert(Rc::from(self.namespace.as_str()));
            if !self.accept("::") {
                break;
            }
        }
        let result = self.one_level_deeper(|parser| {
            parser.expect("{", "after the name of the namespace")?;
            parser.items_until("}");
            parser.expect("}", "at the end of the namespace")
        });
        self.namespace = before;
        result
    }

    pub(super) fn namespace_alias(&mut self) -> Parsed<()> {
        self.bump();
        let (name, _) = self.word("the name of a namespace")?;
        self.expect("=", "after the name")?;
        let path = self.namespace_path()?;
        self.expect(";", "after the namespace")?;
        self.aliases.insert(name, path);
        Ok(())
    }

    fn namespace_path(&mut self) -> Parsed<Rc<str>> {
        let mut path: Option<Rc<str>> = self.accept("::").then(|| Rc::from(""));
        loop {
            let (word, span) = self.word("the name of a namespace")?;
            let Some(inner) = self.namespace_of(path.as_deref(), &word) else {
                let problem = Problem::new(span, format!("there is no namespace `{word}`"));
                return self.fail(problem.help("include the file that it is in"));
            };
            path = Some(inner.clone());
            if !self.accept("::") {
                return Ok(inner);
            }
        }
    }

    /// Parses `using name = T;`, `using a::name;` or `using namespace a;`.
    pub(super) fn using(&mut self) -> Parsed<StatementKind> {
        self.bump();
        if self.accept("namespace") {
            let path = self.namespace_path()?;
            self.expect(";", "after the namespace")?;
            if !path.is_empty() && !self.using.contains(&path) {
                self.using.push(path);
            }
            if self.using.len() > MAX_USING {
                let problem = Problem::new(
                    self.last(),
                    format!("more than {MAX_USING} namespaces are named by `using namespace`"),
                );
                return self.fail(problem.help("write the namespaces before the names"));
            }
            return Ok(StatementKind::Empty);
        }
        if self.peek_ahead(1).is("::") || self.is("::") {
            let (full, _) = self.path("a name")?;
            self.expect(";", "after the name")?;
            if let Some(at) = full.rfind("::") {
                self.aliases.insert(Rc::from(&full[at + 2..]), full);
            }
            return Ok(StatementKind::Empty);
        }
        let (name, _) = self.word("a name")?;
        self.expect("=", "after the name")?;
        let ty = self.type_name()?;
        self.expect(";", "after the type")?;
        let name = self.declare_here(&name, Name::Type);
        let ty = super::declaration::named_by_alias(ty, &name);
        Ok(StatementKind::Aliases(vec![(name, ty)]))
    }
}
