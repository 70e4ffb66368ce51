//! Macro expansion by Prosser's algorithm, on which the wording of the C standard is based. Each token has a hide set:
//! the macros from whose expansion it comes, which are not expanded in it again.

use std::rc::Rc;

use rustc_hash::FxHashMap as HashMap;

use super::{HideSet, Macro, Preprocessor};
use crate::diagnostic::Problem;
use crate::lex::{MAX_TOKENS, Token, TokenKind, lex};
use crate::source::Span;

/// The maximum size in bytes of all tokens that `#` and `##` make: each use can double them.
const MAX_PASTED_BYTES: usize = 1 << 24;
/// The maximum number of comparisons of macro names to find the tokens that must not be expanded
/// again: about a second of work. It grows with the square of the nesting depth of macros.
const MAX_COMPARED: u64 = 1 << 28;
/// The maximum nesting of macros in arguments of macros.
const MAX_NESTING: usize = 200;

fn count(hidden: Option<&Rc<HideSet>>) -> u64 {
    hidden.map_or(0, |node| node.count)
}

fn hides(hidden: Option<&Rc<HideSet>>, name: &str) -> bool {
    let mut hidden = hidden;
    while let Some(node) = hidden {
        if &*node.name == name {
            return true;
        }
        hidden = node.outer.as_ref();
    }
    false
}

impl Preprocessor<'_> {
    /// Expands all macros in these tokens.
    pub(super) fn expand(&mut self, tokens: Vec<Token>) -> Vec<Token> {
        let mut input = tokens;
        input.reverse();
        let mut output = Vec::new();
        while let Some(token) = input.pop() {
            if self.stopped {
                return output;
            }
            self.usage.name_comparisons += count(token.hidden.as_ref());
            if token.kind != TokenKind::Word || hides(token.hidden.as_ref(), &token.text) {
                output.push(token);
                continue;
            }
            if &*token.text == "__LINE__" || &*token.text == "__FILE__" {
                output.push(self.place(&token));
                continue;
            }
            let Some(own) = self.macros.get(&token.text).cloned() else {
                output.push(token);
                continue;
            };
            let arguments = if own.parameters.is_some() {
                if !input.last().is_some_and(|next| next.is("(")) {
                    output.push(token);
                    continue;
                }
                match self.arguments(&mut input, &own, &token) {
                    Some(arguments) => arguments,
                    None => return output,
                }
            } else {
                Vec::new()
            };
            self.usage.expanded += arguments.iter().map(Vec::len).sum::<usize>();
            self.check_limits(token.span);
            let body = self.substitute(&own, &arguments, &token);
            self.usage.expanded += body.len() + 1;
            self.check_limits(token.span);
            input.extend(body.into_iter().rev());
        }
        output
    }

    /// Stops if macros become too large, or take too long.
    fn check_limits(&mut self, span: Span) {
        let message = match () {
            () if self.usage.expanded > MAX_TOKENS => {
                format!("macros expand to more than {MAX_TOKENS} tokens")
            }
            () if self.usage.pasted > MAX_PASTED_BYTES => {
                format!("`#` and `##` make tokens of more than {MAX_PASTED_BYTES} bytes")
            }
            () if self.usage.name_comparisons > MAX_COMPARED => {
                "macros use each other too deeply and too often".to_owned()
            }
            () if self.usage.depth > MAX_NESTING => {
                format!("macros in arguments of macros are nested more than {MAX_NESTING} deep")
            }
            () => return,
        };
        let help = "write a `__device__` function instead of the macro, or split it";
        self.stop(Problem::new(span, message).help(help));
    }

    fn place(&self, token: &Token) -> Token {
        let source = self.sources.get(token.span.file);
        if &*token.text == "__LINE__" {
            let line = source.place(token.span.start).0.to_string();
            Token { kind: TokenKind::Number, text: line.into(), ..token.clone() }
        } else {
            let name = format!("\"{}\"", source.name.replace('\\', "\\\\").replace('"', "\\\""));
            Token { kind: TokenKind::String, text: name.into(), ..token.clone() }
        }
    }

    /// Removes the arguments of a macro from the input, whose next token is the opening bracket.
    fn arguments(
        &mut self,
        input: &mut Vec<Token>,
        own: &Macro,
        name: &Token,
    ) -> Option<Vec<Vec<Token>>> {
        let parameters = own.parameters.as_ref().map_or(0, Vec::len);
        input.pop();
        let mut arguments = vec![Vec::new()];
        let mut depth = 0;
        loop {
            let Some(token) = input.pop() else {
                let message = format!("the arguments of the macro `{}` have no `)`", name.text);
                self.error(Problem::new(name.span, message));
                return None;
            };
            match &*token.text {
                "(" | "[" | "{" if token.kind == TokenKind::Punctuation => {
                    depth += i32::from(token.is("("))
                }
                ")" if token.kind == TokenKind::Punctuation && depth == 0 => break,
                ")" if token.kind == TokenKind::Punctuation => depth -= 1,
                "," if token.kind == TokenKind::Punctuation
                    && depth == 0
                    && !(own.variadic && arguments.len() == parameters) =>
                {
                    arguments.push(Vec::new());
                    continue;
                }
                _ => {}
            }
            if let Some(argument) = arguments.last_mut() {
                argument.push(token);
            }
        }
        if own.variadic && arguments.len() + 1 == parameters {
            arguments.push(Vec::new());
        }
        if parameters == 0 && arguments.len() == 1 && arguments[0].is_empty() {
            arguments.clear();
        }
        if arguments.len() != parameters {
            let message = format!(
                "the macro `{}` has {parameters} parameters, and {} arguments are given",
                name.text,
                arguments.len()
            );
            self.error(Problem::new(name.span, message));
            return None;
        }
        Some(arguments)
    }

    fn substitute(&mut self, own: &Macro, arguments: &[Vec<Token>], name: &Token) -> Vec<Token> {
        let hidden = Some(Rc::new(HideSet {
            name: name.text.clone(),
            outer: name.hidden.clone(),
            count: count(name.hidden.as_ref()) + 1,
        }));
        let parameters = own.parameters.as_deref().unwrap_or_default();
        let places: HashMap<&str, usize> =
            parameters.iter().enumerate().map(|(place, name)| (&**name, place)).collect();
        let index = |token: &Token| match token.kind {
            TokenKind::Word => places.get(&*token.text).copied(),
            _ => None,
        };
        let mut output: Vec<Token> = Vec::new();
        let mut at = 0;
        while at < own.body.len() && !self.stopped {
            let token = &own.body[at];
            if token.is("#")
                && own.parameters.is_some()
                && let Some(parameter) = own.body.get(at + 1).and_then(&index)
            {
                output.push(self.stringify(&arguments[parameter], name.span, token.spaced));
                at += 2;
                continue;
            }
            if token.is("##") && !output.is_empty() && at + 1 < own.body.len() {
                let next = &own.body[at + 1];
                let right = match index(next) {
                    Some(parameter) => arguments[parameter].clone(),
                    None => vec![next.clone()],
                };
                let mut right = right.into_iter();
                if let Some(first) = right.next()
                    && let Some(left) = output.pop()
                {
                    output.extend(self.paste(&left, &first, name.span));
                }
                output.extend(right);
                at += 2;
                continue;
            }
            match index(token) {
                Some(parameter) => {
                    let pasted = own.body.get(at + 1).is_some_and(|next| next.is("##"));
                    let argument = arguments[parameter].clone();
                    let argument = match pasted {
                        true => argument,
                        false => {
                            self.usage.depth += 1;
                            self.check_limits(name.span);
                            let expanded = self.expand(argument);
                            self.usage.depth -= 1;
                            expanded
                        }
                    };
                    if pasted && argument.is_empty() {
                        // If an empty argument is pasted to a token, the result is that token.
                        at += 2;
                        continue;
                    }
                    let mut argument = argument;
                    if let Some(first) = argument.first_mut() {
                        first.spaced = token.spaced;
                    }
                    output.extend(argument);
                }
                None => output.push(Token { span: name.span, first: false, ..token.clone() }),
            }
            at += 1;
        }
        for token in &mut output {
            self.usage.name_comparisons += count(token.hidden.as_ref()) * count(hidden.as_ref());
            self.check_limits(name.span);
            if self.stopped {
                break;
            }
            token.hidden = merge(token.hidden.as_ref(), hidden.as_ref());
        }
        output
    }

    fn paste(&mut self, left: &Token, right: &Token, span: Span) -> Vec<Token> {
        self.usage.pasted += left.text.len() + right.text.len();
        self.check_limits(span);
        if self.stopped {
            return Vec::new();
        }
        let text = format!("{}{}", left.text, right.text);
        let mut tokens = lex(&text, span.file, self.problems);
        tokens.pop();
        if tokens.len() != 1 {
            let message = format!("`{}` and `{}` don't make one token", left.text, right.text);
            self.error(Problem::new(span, message).help("use `##` between names and numbers"));
        }
        for token in &mut tokens {
            (token.span, token.first, token.spaced) = (span, false, left.spaced);
        }
        tokens
    }

    fn stringify(&mut self, tokens: &[Token], span: Span, spaced: bool) -> Token {
        self.usage.pasted += tokens.iter().map(|token| token.text.len() + 1).sum::<usize>();
        self.check_limits(span);
        let tokens = if self.stopped { &[] } else { tokens };
        let mut text = String::from("\"");
        for (index, token) in tokens.iter().enumerate() {
            if index > 0 && token.spaced {
                text.push(' ');
            }
            if matches!(token.kind, TokenKind::String | TokenKind::Character) {
                text.push_str(&token.text.replace('\\', "\\\\").replace('"', "\\\""));
            } else {
                text.push_str(&token.text);
            }
        }
        text.push('"');
        let kind = TokenKind::String;
        Token { kind, text: text.into(), span, first: false, spaced, hidden: None }
    }
}

/// The union of a token's hide set and of `second`, that of the macro that is being expanded. The result
/// shares the list of `second`, as all tokens of this expansion do.
fn merge(first: Option<&Rc<HideSet>>, second: Option<&Rc<HideSet>>) -> Option<Rc<HideSet>> {
    let mut result = second.cloned();
    let mut node = first;
    while let Some(own) = node {
        if !hides(result.as_ref(), &own.name) {
            let count = count(result.as_ref()) + 1;
            result = Some(Rc::new(HideSet { name: own.name.clone(), outer: result, count }));
        }
        node = own.outer.as_ref();
    }
    result
}
