//! Macros: Prosser's algorithm, by which the C standard's words were made. Each token carries the
//! macros that it comes from, and those it doesn't expand again.

use std::rc::Rc;

use super::{Hidden, MOST_TOKENS, Macro, Preprocessor};
use crate::diagnostic::Problem;
use crate::lex::{Token, TokenKind, lex};
use crate::source::Span;

fn hides(hidden: Option<&Rc<Hidden>>, name: &str) -> bool {
    let mut hidden = hidden;
    while let Some(node) = hidden {
        if &*node.name == name {
            return true;
        }
        hidden = node.more.as_ref();
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
            let body = self.substitute(&own, &arguments, &token);
            self.expanded += body.len() + 1;
            if self.expanded > MOST_TOKENS {
                let message = format!("macros expand to more than {MOST_TOKENS} tokens");
                self.error(Problem::new(token.span, message));
                return output;
            }
            input.extend(body.into_iter().rev());
        }
        output
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

    /// Takes the arguments of a use of `own` off the input, whose next token is the bracket.
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
        let hidden = Some(Rc::new(Hidden { name: name.text.clone(), more: name.hidden.clone() }));
        let parameters = own.parameters.as_deref().unwrap_or_default();
        let index = |token: &Token| {
            let is = |name: &Rc<str>| token.kind == TokenKind::Word && *name == token.text;
            parameters.iter().position(is)
        };
        let mut output: Vec<Token> = Vec::new();
        let mut at = 0;
        while at < own.body.len() {
            let token = &own.body[at];
            if token.is("#")
                && own.parameters.is_some()
                && let Some(parameter) = own.body.get(at + 1).and_then(&index)
            {
                output.push(stringify(&arguments[parameter], name.span, token.spaced));
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
                    let argument = if pasted { argument } else { self.expand(argument) };
                    if pasted && argument.is_empty() {
                        // Nothing, pasted to what follows, is what follows.
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
            token.hidden = merge(token.hidden.as_ref(), hidden.as_ref());
        }
        output
    }

    fn paste(&mut self, left: &Token, right: &Token, span: Span) -> Vec<Token> {
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
}

/// Those of both, where `second` is that of the macro that is being expanded.
fn merge(first: Option<&Rc<Hidden>>, second: Option<&Rc<Hidden>>) -> Option<Rc<Hidden>> {
    let mut result = second.cloned();
    let mut node = first;
    while let Some(own) = node {
        if !hides(result.as_ref(), &own.name) {
            result = Some(Rc::new(Hidden { name: own.name.clone(), more: result }));
        }
        node = own.more.as_ref();
    }
    result
}

fn stringify(tokens: &[Token], span: Span, spaced: bool) -> Token {
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
    Token { kind: TokenKind::String, text: text.into(), span, first: false, spaced, hidden: None }
}
