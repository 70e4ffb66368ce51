//! The parser: converts tokens to the syntax tree, by recursive descent. The parser only has to
//! know which names are types or templates; otherwise `(a)(b)` and `a < b > (c)` would be
//! ambiguous.

mod declaration;
mod declarator;
mod expression;
mod item;
mod literal;
mod names;
mod specifiers;
mod statement;
mod structure;
mod template;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::rc::Rc;

pub(crate) use literal::{character, integer};

use crate::diagnostic::{Problem, Problems};
use crate::lex::{Token, TokenKind};
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, Item};
use crate::types::header_types;

/// The maximum nesting of statements and expressions.
const MAX_NESTING: usize = 100;
/// The maximum number of operators in a row without brackets.
const MAX_HEIGHT: u16 = 250;

/// The kind of a name, as far as the parser has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Type,
    /// A function template.
    Template,
    /// A struct template.
    TypeTemplate,
    Value,
}

/// A statement or an item can't be parsed any further; the error has been reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop;

type Parsed<T> = Result<T, Stop>;

pub(crate) struct Parser<'a> {
    tokens: Vec<Token>,
    position: usize,
    depth: usize,
    scopes: Vec<HashMap<Rc<str>, Name>>,
    problems: &'a mut Problems,
    /// A counter from which unnamed structs and enums get their names.
    unnamed: u32,
    items: Vec<Item>,
    /// The number of enclosing functions and structs.
    enclosing_bodies: u32,
    /// The enclosing namespaces, as `a::b::`.
    namespace: String,
    /// Whether the innermost enclosing `extern "…" { … }` is `extern "C"`.
    has_c_names: bool,
    /// The full paths of all namespaces.
    namespaces: HashSet<Rc<str>>,
    /// Aliases of namespaces, and names declared by `using a::name`.
    aliases: HashMap<Rc<str>, Rc<str>>,
    /// Namespaces named by `using namespace`.
    using: Vec<Rc<str>>,
    /// Names of member function templates: `<` after them begins arguments.
    template_methods: HashSet<Rc<str>>,
}

/// Operators that can be spelt as words.
const OPERATOR_WORDS: [(&str, &str); 11] = [
    ("and", "&&"),
    ("or", "||"),
    ("not", "!"),
    ("xor", "^"),
    ("bitand", "&"),
    ("bitor", "|"),
    ("compl", "~"),
    ("not_eq", "!="),
    ("and_eq", "&="),
    ("or_eq", "|="),
    ("xor_eq", "^="),
];

/// Parses all tokens, and then the tokens of each name expression.
pub(crate) fn parse(
    tokens: Vec<Token>,
    names: Vec<Vec<Token>>,
    problems: &mut Problems,
) -> Vec<Item> {
    let scope = header_types().map(|name| (Rc::from(name), Name::Type)).collect();
    let mut parser = Parser {
        tokens,
        position: 0,
        depth: 0,
        scopes: vec![scope],
        problems,
        unnamed: 0,
        items: Vec::new(),
        enclosing_bodies: 0,
        namespace: String::new(),
        has_c_names: false,
        namespaces: HashSet::default(),
        aliases: HashMap::default(),
        using: Vec::new(),
        template_methods: HashSet::default(),
    };
    parser.replace_word_operators();
    parser.items();
    for tokens in names {
        (parser.tokens, parser.position) = (tokens, 0);
        let _: Parsed<()> = parser.name_expression();
    }
    parser.items
}

impl Parser<'_> {
    fn replace_word_operators(&mut self) {
        for token in self.tokens.iter_mut().filter(|token| token.kind == TokenKind::Word) {
            if let Some((_, text)) = OPERATOR_WORDS.iter().find(|(word, _)| **word == *token.text) {
                (token.kind, token.text) = (TokenKind::Punctuation, Rc::from(*text));
            }
        }
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.position.min(self.tokens.len() - 1)]
    }

    fn peek_ahead(&self, count: usize) -> &Token {
        &self.tokens[(self.position + count).min(self.tokens.len() - 1)]
    }

    fn span(&self) -> Span {
        self.peek().span
    }

    /// The place of the previous token.
    fn last(&self) -> Span {
        self.tokens[self.position.saturating_sub(1).min(self.tokens.len() - 1)].span
    }

    fn bump(&mut self) -> Token {
        let token = self.peek().clone();
        if self.position + 1 < self.tokens.len() {
            self.position += 1;
        }
        token
    }

    fn is(&self, text: &str) -> bool {
        self.peek().is(text)
    }

    fn accept(&mut self, text: &str) -> bool {
        let matches = self.is(text);
        if matches {
            self.bump();
        }
        matches
    }

    fn ended(&self) -> bool {
        self.peek().kind == TokenKind::End
    }

    fn fail<T>(&mut self, problem: Problem) -> Parsed<T> {
        self.problems.push(problem);
        Err(Stop)
    }

    fn expect(&mut self, text: &str, after: &str) -> Parsed<()> {
        if self.accept(text) {
            return Ok(());
        }
        // Point to the end of the previous token, because the expected text is missing there.
        let last = self.last();
        let place = Span { start: last.end.saturating_sub(1), ..last };
        let message = format!("expected `{text}` {after}, found {}", self.describe_next());
        let label = format!("`{text}` is missing after this");
        self.fail(Problem::new(place, message).label(label))
    }

    /// `(expression)`
    fn bracketed(&mut self, before: &str, after: &str) -> Parsed<Expr> {
        self.expect("(", before)?;
        let inner = self.expression()?;
        self.expect(")", after)?;
        Ok(inner)
    }

    /// Parses items that are separated by commas, up to the token `end`.
    fn separated<T>(
        &mut self,
        end: &str,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.is(end) && !self.ended() {
            items.push(item(self)?);
            if !self.accept(",") {
                break;
            }
        }
        Ok(items)
    }

    /// The next token, for messages.
    fn describe_next(&self) -> String {
        if self.ended() { "the end".to_owned() } else { format!("`{}`", self.peek().text) }
    }

    /// Consumes a `>` that closes template arguments, also as a part of `>>`.
    fn expect_greater(&mut self) -> Parsed<()> {
        if self.is(">>") || self.is(">>>") {
            let token = &mut self.tokens[self.position];
            let rest: Rc<str> = Rc::from(&token.text[1..]);
            token.text = rest;
            token.span.start += 1;
            return Ok(());
        }
        self.expect(">", "after the arguments of the template")
    }

    fn word(&mut self, what: &str) -> Parsed<(Rc<str>, Span)> {
        let token = self.peek().clone();
        if token.kind == TokenKind::Word && !specifiers::is_keyword(&token.text) {
            self.bump();
            return Ok((token.text, token.span));
        }
        let help = specifiers::is_keyword(&token.text)
            .then(|| format!("`{}` is a keyword; use another name", token.text));
        let message = format!("expected {what}, found {}", self.describe_next());
        let problem = Problem::new(token.span, message);
        self.fail(problem.maybe_help(help))
    }

    fn declare(&mut self, name: &Rc<str>, is: Name) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.clone(), is);
        }
    }

    fn scoped<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.scopes.push(HashMap::default());
        let result = inner(self);
        self.scopes.pop();
        result
    }

    fn one_level_deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_NESTING {
            let problem =
                Problem::new(self.span(), format!("this nests more than {MAX_NESTING} deep"));
            return self.fail(problem.help("move a part of it into another function"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn expr(&mut self, kind: ExprKind, span: Span) -> Parsed<Expr> {
        use ExprKind::{Assign, Binary, Call, Cast, Comma, Conditional, Index, Member, Unary};
        let below = match &kind {
            Unary(_, a) | Cast(_, _, a) | Member { base: a, .. } => a.height,
            Binary(_, a, b) | Assign(_, a, b) | Comma(a, b) | Index(a, b) => a.height.max(b.height),
            Conditional(a, b, c) => a.height.max(b.height).max(c.height),
            Call(a, _) => a.height,
            _ => 0,
        };
        if below >= MAX_HEIGHT {
            let problem = Problem::new(span, format!("more than {MAX_HEIGHT} operators in a row"));
            return self.fail(problem.help("give a part of it a name, as a variable"));
        }
        Ok(Expr { kind, span, height: below + 1 })
    }

    /// Skips to the position after the next `;` of this level, or before the `}` that closes it.
    fn recover(&mut self) {
        let mut depth = 0;
        while !self.ended() {
            if self.is("{") || self.is("(") || self.is("[") {
                depth += 1;
            } else if self.is("}") {
                if depth == 0 {
                    return;
                }
                depth -= 1;
                if depth == 0 {
                    self.bump();
                    return;
                }
            } else if self.is(")") || self.is("]") {
                depth = (depth - 1).max(0);
            } else if self.is(";") && depth == 0 {
                self.bump();
                return;
            }
            self.bump();
        }
    }
}
