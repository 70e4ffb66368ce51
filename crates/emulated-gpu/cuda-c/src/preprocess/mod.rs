//! The preprocessor: executes directives and expands macros.
//!
//! The tokens of a macro's expansion have the position at which the macro is used, so that messages
//! and `.loc` refer to that line; the arguments keep their own positions.

mod condition;
mod expand;
mod folders;
mod include;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::rc::Rc;

pub use folders::Folders;

use crate::diagnostic::{Problem, Problems};
use crate::lex::{MAX_TOKENS, Token, TokenKind, lex, too_many_tokens};
use crate::source::{Sources, Span};

/// The macros that a token came from, as a linked list.
#[derive(Debug)]
pub(crate) struct HideSet {
    name: Rc<str>,
    outer: Option<Rc<HideSet>>,
    /// The length of the list.
    count: u64,
}

#[derive(Clone, Debug)]
struct Macro {
    /// The parameter names of a function-like macro.
    parameters: Option<Vec<Rc<str>>>,
    variadic: bool,
    body: Vec<Token>,
}

/// Finds files for `#include`.
pub trait Resolver {
    /// The name of the file for messages, and its text; `None` if it doesn't exist. `from` is the
    /// name of the file that includes it.
    fn resolve(&self, include: &str, from: &str) -> Option<(String, String)>;
}

struct Condition {
    /// Whether the current branch is active.
    on: bool,
    /// Whether a branch has been active.
    was_active: bool,
    /// Whether the enclosing branch is active.
    outer: bool,
    /// Whether `#else` has been read.
    has_else: bool,
    span: Span,
}

pub(crate) struct Preprocessor<'a> {
    sources: &'a mut Sources,
    problems: &'a mut Problems,
    resolver: Option<&'a dyn Resolver>,
    macros: HashMap<Rc<str>, Macro>,
    once: HashSet<String>,
    output: Vec<Token>,
    depth: usize,
    /// The resources used so far.
    usage: Usage,
    /// Whether a limit was exceeded: nothing more is read or expanded.
    stopped: bool,
}

/// The resources of preprocessing that are limited.
#[derive(Debug, Default)]
struct Usage {
    /// Included files.
    includes: usize,
    /// The number of bytes of all files.
    bytes: usize,
    /// The number of tokens of all files.
    tokens: usize,
    /// The number of tokens in macros' arguments and expansions.
    expanded: usize,
    /// The number of bytes of the tokens that `#` and `##` made.
    pasted: usize,
    /// The number of comparisons of a name with the macros in its token's hide set.
    name_comparisons: u64,
    /// The nesting depth of the arguments that are being expanded.
    depth: usize,
}

/// The macros that are defined.
#[derive(Clone, Debug, Default)]
pub(crate) struct Macros(HashMap<Rc<str>, Macro>);

/// Preprocesses a text: returns the tokens of the text and all its includes, with macros expanded,
/// and the macros that are defined at the end.
pub(crate) fn preprocess(
    file: u32,
    macros: Macros,
    defines: &[(String, String)],
    resolver: Option<&dyn Resolver>,
    sources: &mut Sources,
    problems: &mut Problems,
) -> (Vec<Token>, Macros) {
    let mut preprocessor = Preprocessor {
        sources,
        problems,
        resolver,
        macros: macros.0,
        once: HashSet::default(),
        output: Vec::new(),
        depth: 0,
        usage: Usage::default(),
        stopped: false,
    };
    for (name, value) in defines {
        let number = preprocessor.sources.add(&format!("the definition of {name}"), value);
        let mut body = lex(value, number, preprocessor.problems);
        body.pop();
        let own = Macro { parameters: None, variadic: false, body };
        preprocessor.macros.insert(Rc::from(name.as_str()), own);
    }
    preprocessor.file(file);
    let end = preprocessor.sources.get(file).text.len() as u32;
    let span = Span { file, start: end.saturating_sub(1), end };
    let (text, kind) = (Rc::from(""), TokenKind::End);
    let last = Token { kind, text, span, first: true, spaced: true, hidden: None };
    preprocessor.output.push(last);
    (preprocessor.output, Macros(preprocessor.macros))
}

impl Preprocessor<'_> {
    fn error(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Reports that a limit was exceeded, and stops the preprocessing.
    fn stop(&mut self, problem: Problem) {
        if !std::mem::replace(&mut self.stopped, true) {
            self.error(problem);
        }
    }

    fn file(&mut self, file: u32) {
        let text = self.sources.get(file).text.clone();
        let mut tokens = lex(&text, file, self.problems);
        tokens.pop();
        self.usage.tokens += tokens.len();
        if let Some(token) = tokens.first().filter(|_| self.usage.tokens > MAX_TOKENS) {
            return self.stop(too_many_tokens(token.span));
        }
        let mut conditions: Vec<Condition> = Vec::new();
        let mut pending: Vec<Token> = Vec::new();
        let mut at = 0;
        while at < tokens.len() && !self.stopped {
            if tokens[at].first && tokens[at].is("#") {
                let end = at + 1 + tokens[at + 1..].iter().take_while(|token| !token.first).count();
                self.flush(&mut pending);
                let line = tokens[at + 1..end].to_vec();
                self.directive(&line, tokens[at].span, &mut conditions);
                at = end;
                continue;
            }
            if conditions.last().is_none_or(|condition| condition.on) {
                pending.push(tokens[at].clone());
            }
            at += 1;
        }
        self.flush(&mut pending);
        if let Some(condition) = conditions.last() {
            let problem = Problem::new(condition.span, "this condition has no `#endif`");
            self.error(problem.help("write `#endif` where it ends"));
        }
    }

    fn flush(&mut self, pending: &mut Vec<Token>) {
        if !pending.is_empty() {
            let span = pending[0].span;
            let expanded = self.expand(std::mem::take(pending));
            self.output.extend(expanded);
            if self.output.len() > MAX_TOKENS {
                self.stop(too_many_tokens(span));
            }
        }
    }

    fn directive(&mut self, line: &[Token], hash: Span, conditions: &mut Vec<Condition>) {
        let Some(name) = line.first() else { return };
        let on = conditions.last().is_none_or(|condition| condition.on);
        let rest = &line[1..];
        match &*name.text {
            "if" | "ifdef" | "ifndef" => {
                let defined =
                    rest.first().is_some_and(|token| self.macros.contains_key(&token.text));
                let holds = match &*name.text {
                    _ if !on => false,
                    "if" => self.holds(rest, name.span),
                    word => defined == (word == "ifdef"),
                };
                let (outer, last, span) = (on, false, name.span);
                conditions.push(Condition {
                    on: holds,
                    was_active: holds,
                    outer,
                    has_else: last,
                    span,
                });
            }
            "elif" | "else" => {
                let Some(mut condition) = conditions.pop() else {
                    let message = format!("`#{}` without `#if`", name.text);
                    let help = "begin the condition with `#if`, or delete this line";
                    return self.error(Problem::new(name.span, message).help(help));
                };
                if condition.has_else {
                    let message = format!("`#{}` after `#else`", name.text);
                    let problem = Problem::new(name.span, message);
                    self.error(problem.help("`#else` is the last branch: delete one of them"));
                }
                condition.has_else |= &*name.text == "else";
                let open = condition.outer && !condition.was_active;
                condition.on = open && (&*name.text == "else" || self.holds(rest, name.span));
                condition.was_active |= condition.on;
                conditions.push(condition);
            }
            "endif" => {
                if conditions.pop().is_none() {
                    let problem = Problem::new(name.span, "`#endif` without `#if`");
                    self.error(problem.help("delete this line"));
                }
            }
            _ if !on => {}
            "define" => self.define(rest, name.span),
            "undef" => {
                if let Some(token) = rest.first() {
                    self.macros.remove(&token.text);
                }
            }
            "include" => self.include(rest, name.span),
            "pragma" => self.pragma(rest, hash),
            "error" | "warning" => {
                let words: Vec<&str> = rest.iter().map(|token| &*token.text).collect();
                let message = format!("#{}: {}", name.text, words.join(" "));
                self.error(if &*name.text == "error" {
                    Problem::new(name.span, message)
                } else {
                    Problem::warning(name.span, message)
                });
            }
            "line" => {}
            word => {
                let words = ["if", "ifdef", "ifndef", "elif", "else", "endif", "define", "undef"]
                    .into_iter()
                    .chain(["include", "pragma", "error"]);
                let problem = Problem::new(name.span, format!("there is no directive `#{word}`"));
                let known = crate::diagnostic::closest(word, words);
                let help = known.map(|known| format!("did you mean `#{known}`?"));
                self.error(problem.maybe_help(help));
            }
        }
    }

    fn define(&mut self, rest: &[Token], span: Span) {
        let Some(name) = rest.first().filter(|token| token.kind == TokenKind::Word) else {
            let problem = Problem::new(span, "`#define` needs a name");
            return self.error(problem.help("write `#define NAME value`"));
        };
        let mut own = Macro { parameters: None, variadic: false, body: rest[1..].to_vec() };
        if rest.get(1).is_some_and(|token| token.is("(") && !token.spaced) {
            let Some(end) = rest.iter().position(|token| token.is(")")) else {
                let problem = Problem::new(rest[1].span, "the macro's parameters have no `)`");
                return self.error(problem.help("close the list on the same line"));
            };
            let mut parameters: Vec<Rc<str>> = Vec::new();
            for token in rest[2..end].iter().filter(|token| !token.is(",")) {
                if token.is("...") {
                    own.variadic = true;
                    parameters.push(Rc::from("__VA_ARGS__"));
                } else if token.kind == TokenKind::Word {
                    parameters.push(token.text.clone());
                } else {
                    let message = format!("`{}` isn't a parameter name", token.text);
                    return self.error(Problem::new(token.span, message));
                }
            }
            own.parameters = Some(parameters);
            own.body = rest[end + 1..].to_vec();
        }
        self.macros.insert(name.text.clone(), own);
    }

    fn pragma(&mut self, rest: &[Token], hash: Span) {
        if rest.first().is_some_and(|token| token.is("once")) {
            self.once.insert(self.sources.get(hash.file).name.clone());
            return;
        }
        let Some(first) = rest.first() else { return };
        if !first.is("unroll") && !first.is("nounroll") {
            return;
        }
        let expanded = self.expand(rest[1..].to_vec());
        let span = hash.until(rest[rest.len() - 1].span);
        let words: Vec<&str> = expanded.iter().map(|token| &*token.text).collect();
        let text: Rc<str> = format!("{} {}", first.text, words.join(" ")).into();
        let kind = TokenKind::Pragma;
        self.output.push(Token { kind, text, span, first: true, spaced: true, hidden: None });
    }
}
