//! Expressions, by operator precedence.

use super::{Name, Parsed, Parser};
use crate::diagnostic::Problem;
use crate::lex::TokenKind;
use crate::source::Span;
use crate::syntax::{Binary, CastStyle, Expr, ExprKind, TypeExpr, Unary};

/// The operators of each precedence, the loosest first.
const LEVELS: [&[Binary]; 10] = [
    &[Binary::LogicalOr],
    &[Binary::LogicalAnd],
    &[Binary::Or],
    &[Binary::Xor],
    &[Binary::And],
    &[Binary::Equal, Binary::NotEqual],
    &[Binary::LessEqual, Binary::GreaterEqual, Binary::Less, Binary::Greater],
    &[Binary::ShiftLeft, Binary::ShiftRight],
    &[Binary::Add, Binary::Subtract],
    &[Binary::Multiply, Binary::Divide, Binary::Remainder],
];

const ASSIGNMENTS: [(&str, Option<Binary>); 11] = [
    ("=", None),
    ("+=", Some(Binary::Add)),
    ("-=", Some(Binary::Subtract)),
    ("*=", Some(Binary::Multiply)),
    ("/=", Some(Binary::Divide)),
    ("%=", Some(Binary::Remainder)),
    ("<<=", Some(Binary::ShiftLeft)),
    (">>=", Some(Binary::ShiftRight)),
    ("&=", Some(Binary::And)),
    ("^=", Some(Binary::Xor)),
    ("|=", Some(Binary::Or)),
];

impl Parser<'_> {
    /// An expression with comma operators.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        let mut left = self.assignment()?;
        while self.accept(",") {
            let right = self.assignment()?;
            let span = left.span.until(right.span);
            left = self.expr(ExprKind::Comma(Box::new(left), Box::new(right)), span)?;
        }
        Ok(left)
    }

    pub(super) fn assignment(&mut self) -> Parsed<Expr> {
        self.one_level_deeper(|parser| {
            let left = parser.conditional()?;
            let found = ASSIGNMENTS.iter().find(|(text, _)| parser.is(text));
            let Some((_, operator)) = found else { return Ok(left) };
            parser.bump();
            let right = if parser.is("{") { parser.list()? } else { parser.assignment()? };
            let span = left.span.until(right.span);
            parser.expr(ExprKind::Assign(*operator, Box::new(left), Box::new(right)), span)
        })
    }

    pub(super) fn conditional(&mut self) -> Parsed<Expr> {
        self.one_level_deeper(|parser| {
            let condition = parser.binary(0)?;
            if !parser.accept("?") {
                return Ok(condition);
            }
            let yes = parser.expression()?;
            parser.expect(":", "after the first of the two values")?;
            let no = parser.assignment()?;
            let span = condition.span.until(no.span);
            let kind = ExprKind::Conditional(Box::new(condition), Box::new(yes), Box::new(no));
            parser.expr(kind, span)
        })
    }

    /// Parses an expression without comparisons, so that `>` closes template arguments.
    pub(super) fn additive(&mut self) -> Parsed<Expr> {
        self.binary(8)
    }

    fn binary(&mut self, level: usize) -> Parsed<Expr> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.is(operator.text())) {
            self.bump();
            let right = self.binary(level + 1)?;
            let span = left.span.until(right.span);
            left = self.expr(ExprKind::Binary(*operator, Box::new(left), Box::new(right)), span)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        self.one_level_deeper(Self::unary_inner)
    }

    fn unary_inner(&mut self) -> Parsed<Expr> {
        let token = self.peek().clone();
        let operator = match &*token.text {
            _ if token.kind != TokenKind::Punctuation && token.kind != TokenKind::Word => None,
            "-" => Some(Unary::Minus),
            "+" => Some(Unary::Plus),
            "!" => Some(Unary::Not),
            "~" => Some(Unary::Complement),
            "*" => Some(Unary::Dereference),
            "&" => Some(Unary::AddressOf),
            "++" => Some(Unary::Increment),
            "--" => Some(Unary::Decrement),
            _ => None,
        };
        if let Some(operator) = operator {
            self.bump();
            let operand = self.unary()?;
            let span = token.span.until(operand.span);
            return self.expr(ExprKind::Unary(operator, Box::new(operand)), span);
        }
        if self.is("sizeof") || self.is("alignof") {
            self.bump();
            if self.is("(") {
                self.bump();
                if self.begins_type() {
                    let ty = self.type_name()?;
                    self.expect(")", "after the type")?;
                    let span = token.span.until(self.last());
                    let sizeof = token.is("sizeof");
                    let kind =
                        if sizeof { ExprKind::SizeofType(ty) } else { ExprKind::AlignofType(ty) };
                    return self.expr(kind, span);
                }
                let inner = self.expression()?;
                self.expect(")", "after the expression")?;
                let inner = self.postfix(inner)?;
                let span = token.span.until(self.last());
                return self.expr(ExprKind::SizeofValue(Box::new(inner)), span);
            }
            let inner = self.unary()?;
            let span = token.span.until(inner.span);
            return self.expr(ExprKind::SizeofValue(Box::new(inner)), span);
        }
        if self.is("(") {
            let at = self.position;
            self.bump();
            if self.begins_plain_type() {
                let ty = self.type_name()?;
                self.expect(")", "after the type of the cast")?;
                if self.is("{") {
                    let problem = Problem::new(self.span(), "compound literals aren't supported");
                    return self.fail(problem.help("write `T{…}` without the brackets"));
                }
                let operand = self.unary()?;
                let span = token.span.until(operand.span);
                return self.expr(ExprKind::Cast(CastStyle::Value, ty, Box::new(operand)), span);
            }
            self.position = at;
        }
        if self.is("new") {
            let problem = Problem::new(token.span, "`new` and `delete` aren't supported");
            return self.fail(problem.help("allocate before the launch, and pass a pointer"));
        }
        let primary = self.primary()?;
        self.postfix(primary)
    }

    fn postfix(&mut self, mut left: Expr) -> Parsed<Expr> {
        loop {
            let start = left.span;
            let kind = if self.accept("[") {
                let index = self.expression()?;
                self.expect("]", "after the index")?;
                ExprKind::Index(Box::new(left), Box::new(index))
            } else if self.accept("(") {
                let arguments = self.arguments(")")?;
                ExprKind::Call(Box::new(left), arguments)
            } else if self.is(".") || self.is("->") {
                let arrow = self.bump().is("->");
                let explicit = self.accept("template");
                let (name, _) = self.word("a member's name")?;
                let applied = self.is("<") && (explicit || self.template_methods.contains(&name));
                let template = if applied { self.template_arguments()? } else { Vec::new() };
                ExprKind::Member { base: Box::new(left), name, arrow, template }
            } else if self.accept("++") {
                ExprKind::Unary(Unary::PostIncrement, Box::new(left))
            } else if self.accept("--") {
                ExprKind::Unary(Unary::PostDecrement, Box::new(left))
            } else if self.is("<<<") {
                let problem = Problem::new(self.span(), "a launch is host code");
                return self.fail(problem.help(
                    "launch from the host: only `__global__` and `__device__` functions are compiled",
                ));
            } else {
                return Ok(left);
            };
            let span = start.until(self.last());
            left = self.expr(kind, span)?;
        }
    }

    /// Parses arguments, up to the closing bracket.
    pub(super) fn arguments(&mut self, end: &str) -> Parsed<Vec<Expr>> {
        let arguments = self.separated(end, Self::initialiser)?;
        self.expect(end, "after the arguments")?;
        Ok(arguments)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let token = self.peek().clone();
        match token.kind {
            TokenKind::Number => {
                self.bump();
                return self.number(&token);
            }
            TokenKind::Character => {
                self.bump();
                return self.character(&token);
            }
            TokenKind::String => {
                let mut text = Vec::new();
                while self.peek().kind == TokenKind::String {
                    let part = self.bump();
                    text.extend_from_slice(&self.bytes(&part)?);
                }
                return self.expr(ExprKind::String(text.into()), token.span.until(self.last()));
            }
            TokenKind::Punctuation if token.is("(") => {
                self.bump();
                let inner = self.expression()?;
                self.expect(")", "after the expression")?;
                let span = token.span.until(self.last());
                return Ok(Expr { span, ..inner });
            }
            TokenKind::Punctuation if token.is("[") => {
                let problem = Problem::new(token.span, "lambdas aren't supported");
                return self.fail(problem.help("write a `__device__` function"));
            }
            TokenKind::Word => return self.word_expression(),
            TokenKind::Punctuation if token.is("::") => return self.word_expression(),
            _ => {}
        }
        let message = format!("expected an expression, found {}", self.describe_next());
        self.fail(Problem::new(token.span, message))
    }

    fn word_expression(&mut self) -> Parsed<Expr> {
        let token = self.peek().clone();
        match &*token.text {
            "true" | "false" => {
                self.bump();
                return self.expr(ExprKind::Bool(&*token.text == "true"), token.span);
            }
            "nullptr" | "NULL" => {
                self.bump();
                return self.expr(ExprKind::Null, token.span);
            }
            "this" => {
                self.bump();
                return self.expr(ExprKind::Name("this".into(), None), token.span);
            }
            "static_cast" | "reinterpret_cast" | "const_cast" => {
                self.bump();
                self.expect("<", "after the cast")?;
                let ty = self.type_name()?;
                self.expect_greater()?;
                let inner = self.bracketed("after the type of the cast", "after the value")?;
                let value = &*token.text == "static_cast";
                let style = if value { CastStyle::Value } else { CastStyle::Reinterpret };
                let span = token.span.until(self.last());
                return self.expr(ExprKind::Cast(style, ty, Box::new(inner)), span);
            }
            _ => {}
        }
        if self.begins_type() {
            let ty = self.specifiers()?.ty;
            let arguments = if self.accept("(") {
                self.arguments(")")?
            } else if self.is("{") {
                vec![self.list()?]
            } else {
                let message = format!("`{}` is a type; a value is expected", token.text);
                return self.fail(Problem::new(token.span, message));
            };
            let span = token.span.until(self.last());
            return self.expr(ExprKind::Construct(ty, arguments), span);
        }
        if super::specifiers::is_keyword(&token.text) {
            let message = format!("expected an expression, found `{}`", token.text);
            return self.fail(Problem::new(token.span, message));
        }
        let is = self.qualified_name().and_then(|name| name.is);
        if let Some(Name::Type | Name::TypeTemplate) = is {
            return self.scoped_value();
        }
        let (mut name, span) = self.path("a name")?;
        if token.is("::") && !name.contains("::") {
            // A leading `::` skips local names.
            name = format!("::{name}").into();
        }
        if self.is("::") {
            return self.scope_member(TypeExpr::Named(name, span), span);
        }
        let template = is == Some(Name::Template) && self.is("<");
        let arguments = if template { Some(self.template_arguments()?) } else { None };
        self.expr(ExprKind::Name(name, arguments), span)
    }

    /// `Enum::value`, `Struct<T>::constant`
    fn scoped_value(&mut self) -> Parsed<Expr> {
        let span = self.span();
        let ty = self.named_type(false)?;
        if !self.is("::") {
            return self.fail(Problem::new(span, "this is a type; a value is expected"));
        }
        self.scope_member(ty, span)
    }

    fn scope_member(&mut self, mut ty: TypeExpr, span: Span) -> Parsed<Expr> {
        loop {
            self.expect("::", "after the type")?;
            let (name, _) = self.word("a name")?;
            if !self.is("::") {
                let span = span.until(self.last());
                return self.expr(ExprKind::Scoped(ty, name), span);
            }
            ty = TypeExpr::Inner(Box::new(ty), name, span.until(self.last()));
        }
    }
}
