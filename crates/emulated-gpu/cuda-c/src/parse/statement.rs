//! Statements.

use std::rc::Rc;

use super::{Parsed, Parser};
use crate::diagnostic::Problem;
use crate::lex::{Token, TokenKind};
use crate::source::Span;
use crate::syntax::{Asm, Case, Expr, Layout, Loop, Statement, StatementKind, Unroll};

impl Parser<'_> {
    /// Parses a block, `{ … }`. After a statement with an error, parsing continues with the next
    /// statement.
    pub(super) fn block(&mut self) -> Parsed<Vec<Statement>> {
        let open = self.span();
        self.expect("{", "before the statements")?;
        self.scoped(|parser| {
            let mut statements = Vec::new();
            while !parser.is("}") {
                if parser.ended() {
                    let problem = Problem::new(open, "this `{` is never closed");
                    return parser.fail(problem.help("write `}` where the block ends"));
                }
                let (before, depth, scopes) = (parser.position, parser.depth, parser.scopes.len());
                match parser.statement() {
                    Ok(statement) => statements.push(statement),
                    Err(stop) => {
                        if parser.problems.too_many() {
                            return Err(stop);
                        }
                        parser.depth = depth;
                        parser.scopes.truncate(scopes);
                        parser.recover();
                        if parser.position == before && !parser.is("}") {
                            parser.bump();
                        }
                    }
                }
            }
            parser.bump();
            Ok(statements)
        })
    }

    pub(super) fn statement(&mut self) -> Parsed<Statement> {
        let span = self.span();
        let kind = self.one_level_deeper(Self::statement_kind)?;
        Ok(Statement { kind, span })
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind> {
        self.skip_attributes()?;
        self.pragma_operator()?;
        let token = self.peek().clone();
        if token.kind == TokenKind::Pragma {
            return self.unrolled_loop();
        }
        match &*token.text {
            _ if token.kind != TokenKind::Word && token.kind != TokenKind::Punctuation => {}
            "{" => return Ok(StatementKind::Block(self.block()?)),
            ";" => {
                self.bump();
                return Ok(StatementKind::Empty);
            }
            "if" => return self.conditional_statement(),
            "for" | "while" | "do" => return self.loop_statement(Unroll::Unspecified),
            "switch" => {
                self.bump();
                let value = self.bracketed("after switch", "after the value")?;
                let body = self.scoped(Self::statement)?;
                return Ok(StatementKind::Switch(value, Box::new(body)));
            }
            "case" => {
                self.bump();
                let value = self.conditional()?;
                self.expect(":", "after the case")?;
                return Ok(StatementKind::Case(Case::Value(value)));
            }
            "default" => {
                self.bump();
                self.expect(":", "after default")?;
                return Ok(StatementKind::Case(Case::Default));
            }
            "break" | "continue" => {
                self.bump();
                self.expect(";", &format!("after {}", token.text))?;
                let is_break = &*token.text == "break";
                return Ok(if is_break { StatementKind::Break } else { StatementKind::Continue });
            }
            "return" => {
                self.bump();
                let value = match () {
                    () if self.is(";") => None,
                    () if self.is("{") => Some(self.list()?),
                    () => Some(self.expression()?),
                };
                self.expect(";", "after return")?;
                return Ok(StatementKind::Return(value));
            }
            "goto" => {
                self.bump();
                let (label, _) = self.word("a label")?;
                self.expect(";", "after the label")?;
                return Ok(StatementKind::Goto(label));
            }
            "using" => return self.using(),
            "namespace" => {
                self.namespace_alias()?;
                return Ok(StatementKind::Empty);
            }
            "static_assert" => return self.static_assert(),
            "asm" | "__asm__" => return self.asm(),
            "try" | "catch" | "throw" => {
                let problem = Problem::new(token.span, "exceptions aren't supported");
                return self
                    .fail(problem.help("return a code, or stop the kernel with `__trap()`"));
            }
            "delete" => {
                let problem = Problem::new(token.span, "`new` and `delete` aren't supported");
                return self.fail(problem.help("allocate before the launch, and pass a pointer"));
            }
            _ => {}
        }
        let after = self.peek_ahead(1);
        if token.kind == TokenKind::Word && after.is(":") && !self.peek_ahead(2).is(":") {
            let (label, _) = self.word("a label")?;
            self.bump();
            return Ok(StatementKind::Label(label));
        }
        let attribute =
            ["alignas", "__align__", "decltype", "__attribute__", "struct", "union", "enum"];
        let to_array = self.after_type().is("(") && self.declares_in_brackets();
        if self.begins_plain_type()
            || self.begins_type() && (attribute.contains(&&*token.text) || to_array)
        {
            let specifiers = self.specifiers()?;
            return self.declaration(specifiers, None);
        }
        // Two names in a row (`unknown x;`) are a declaration with an unknown type.
        if token.kind == TokenKind::Word
            && after.kind == TokenKind::Word
            && !super::specifiers::is_keyword(&token.text)
            && self.qualified_name().is_none_or(|name| name.is.is_none())
        {
            self.specifiers()?;
        }
        let value = self.expression()?;
        self.expect(";", "after the statement")?;
        Ok(StatementKind::Expression(value))
    }

    /// Skips attributes before a statement, such as `[[fallthrough]]`.
    fn skip_attributes(&mut self) -> Parsed<()> {
        let attribute = self.is("[") && self.peek_ahead(1).is("[");
        if attribute { self.layout(&mut Layout::default()) } else { Ok(()) }
    }

    /// `_Pragma("unroll 4")` is the same as `#pragma unroll 4`.
    fn pragma_operator(&mut self) -> Parsed<()> {
        while self.is("_Pragma") {
            let start = self.bump().span;
            self.expect("(", "after _Pragma")?;
            let text = self.bump().text;
            self.expect(")", "after the text of _Pragma")?;
            let text = text.trim_matches('"').replacen('(', " (", 1);
            if text.starts_with("unroll") || text.starts_with("nounroll") {
                self.position -= 1;
                let closing = self.peek().clone();
                let (kind, span) = (TokenKind::Pragma, start.until(closing.span));
                self.tokens[self.position] = Token { kind, text: text.into(), span, ..closing };
            }
        }
        Ok(())
    }

    fn unrolled_loop(&mut self) -> Parsed<StatementKind> {
        let token = self.bump();
        let (word, count) = token.text.split_once(' ').unwrap_or((&token.text, ""));
        let unroll = if word == "nounroll" {
            let one = crate::syntax::ExprKind::Integer(1, crate::types::Scalar::Int);
            Unroll::By(Rc::new(self.expr(one, token.span)?))
        } else if count.trim().is_empty() {
            Unroll::Full
        } else {
            // The count is a constant expression.
            let lexed = crate::lex::lex(count, token.span.file, self.problems);
            let rest = self.tokens.split_off(self.position);
            let after = rest.len();
            let only = lexed.len() - 1;
            self.tokens.extend(
                lexed
                    .into_iter()
                    .take(only)
                    .map(|own| crate::lex::Token { span: token.span, ..own }),
            );
            self.tokens.extend(rest);
            let count = self.expression()?;
            self.position = self.tokens.len() - after;
            Unroll::By(Rc::new(count))
        };
        if !self.is("for") && !self.is("while") && !self.is("do") {
            let problem = Problem::new(token.span, "`#pragma unroll` isn't followed by a loop");
            return self.fail(problem.help("write it on the line before the `for`"));
        }
        self.loop_statement(unroll)
    }

    fn conditional_statement(&mut self) -> Parsed<StatementKind> {
        self.bump();
        let is_constexpr = self.accept("constexpr");
        self.expect("(", "after if")?;
        if self.begins_plain_type() {
            let problem = Problem::new(self.span(), "a variable in a condition isn't supported");
            return self.fail(problem.help("declare it on the line before"));
        }
        let condition = self.expression()?;
        self.expect(")", "after the condition")?;
        let yes = Box::new(self.scoped(Self::statement)?);
        let no =
            if self.accept("else") { Some(Box::new(self.scoped(Self::statement)?)) } else { None };
        Ok(StatementKind::If { condition, yes, no, is_constexpr })
    }

    fn loop_statement(&mut self, unroll: Unroll) -> Parsed<StatementKind> {
        let word = self.bump();
        self.scoped(|parser| {
            let (mut init, mut condition, mut step) = (None, None, None);
            let body_first = word.is("do");
            if body_first {
                let body = Box::new(parser.statement()?);
                parser.expect("while", "after the body of do")?;
                condition = Some(parser.bracketed("after while", "after the condition")?);
                parser.expect(";", "after do … while (…)")?;
                let own = Loop { init, condition, step, body, body_first, unroll };
                return Ok(StatementKind::Loop(own));
            }
            parser.expect("(", &format!("after {}", word.text))?;
            if word.is("while") {
                condition = Some(parser.expression()?);
            } else {
                if let Some(colon) = parser.range_colon() {
                    let problem = Problem::new(colon, "range-based `for` isn't supported");
                    let help = "count with an index: `for (int i = 0; i < n; ++i)`";
                    return parser.fail(problem.help(help));
                }
                init = Some(Box::new(parser.statement()?));
                if !parser.is(";") {
                    condition = Some(parser.expression()?);
                }
                parser.expect(";", "after the condition")?;
                if !parser.is(")") {
                    step = Some(parser.expression()?);
                }
            }
            parser.expect(")", "after the parts of the loop")?;
            let body = Box::new(parser.statement()?);
            Ok(StatementKind::Loop(Loop { init, condition, step, body, body_first, unroll }))
        })
    }

    /// The `:` of `for (T name : range)`, if the loop header that begins here has one.
    fn range_colon(&self) -> Option<Span> {
        let (mut depth, mut choices) = (0, 0);
        for token in &self.tokens[self.position..] {
            match &*token.text {
                _ if token.kind != TokenKind::Punctuation => {}
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" if depth > 0 => depth -= 1,
                ";" | ")" if depth == 0 => return None,
                "?" => choices += 1,
                ":" if depth == 0 && choices == 0 => return Some(token.span),
                ":" => choices -= i32::from(choices > 0),
                _ => {}
            }
        }
        None
    }

    fn asm(&mut self) -> Parsed<StatementKind> {
        self.bump();
        let mut volatile = false;
        loop {
            match () {
                () if self.accept("volatile") || self.accept("__volatile__") => volatile = true,
                () if self.accept("inline") => {}
                () if self.is("goto") => {
                    let problem = Problem::new(self.span(), "`asm goto` isn't supported");
                    let help = "write the jump in C, and let `asm` compute its condition";
                    return self.fail(problem.help(help));
                }
                () => break,
            }
        }
        self.expect("(", "after asm")?;
        let mut text = Vec::new();
        while self.peek().kind == TokenKind::String {
            let token = self.bump();
            text.extend_from_slice(&self.bytes(&token)?);
        }
        let (mut outputs, mut inputs, mut memory) = (Vec::new(), Vec::new(), false);
        if self.is("::") {
            self.bump();
            inputs = self.operands()?;
        } else if self.accept(":") {
            outputs = self.operands()?;
            if self.accept(":") {
                inputs = self.operands()?;
            } else if self.is("::") {
                // The token `::` means that there are no inputs: it includes the colon before the
                // clobbers.
                self.bump();
                self.clobbers(&mut memory);
            }
        }
        if self.accept(":") {
            self.clobbers(&mut memory);
        }
        self.expect(")", "after the operands of asm")?;
        self.expect(";", "after asm")?;
        Ok(StatementKind::Asm(Asm { text: text.into(), outputs, inputs, volatile, memory }))
    }

    /// The clobbers after the operands; only `"memory"` matters.
    fn clobbers(&mut self, memory: &mut bool) {
        while self.peek().kind == TokenKind::String {
            *memory |= &*self.bump().text == "\"memory\"";
            self.accept(",");
        }
    }

    fn operands(&mut self) -> Parsed<Vec<(Rc<[u8]>, Expr)>> {
        let mut operands = Vec::new();
        if self.is("[") {
            let problem = Problem::new(self.span(), "named operands of `asm` aren't supported");
            let help = "write `%0`, `%1`, …, counted from the first output";
            return self.fail(problem.help(help));
        }
        while self.peek().kind == TokenKind::String {
            let token = self.bump();
            let constraint = self.bytes(&token)?;
            let value = self.bracketed("after the constraint", "after the operand")?;
            operands.push((constraint, value));
            if !self.accept(",") {
                break;
            }
        }
        Ok(operands)
    }
}
