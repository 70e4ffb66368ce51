//! The conditional operator, `condition ? yes : no`.

use super::{Lowered, Lowerer, Typed};
use crate::ir::{Target, Terminator};
use crate::source::Span;
use crate::syntax::Expr;
use crate::types::Type;

impl Lowerer<'_> {
    /// The value of the operand that the condition selects.
    pub(super) fn choose(
        &mut self,
        condition: &Expr,
        yes: &Expr,
        no: &Expr,
        span: Span,
    ) -> Lowered<Typed> {
        let truth = self.condition(condition)?;
        let known = self.builder.function.constant_of(truth);
        let (first, second) = (self.builder.new_block(), self.builder.new_block());
        let join = self.builder.new_block();
        self.builder.branch(truth, first, second);
        self.builder.at = first;
        let a = self.rvalue(yes)?;
        let first = std::mem::replace(&mut self.builder.at, second);
        let b = self.rvalue(no)?;
        let ty = self.common_type(&a, &b, span)?;
        if ty == Type::Void {
            self.builder.jump(join);
            self.builder.at = first;
            self.builder.jump(join);
            self.builder.at = join;
            return Ok(Typed { ty, value: a.value });
        }
        let b = self.convert(b, &ty, no.span)?;
        self.builder.end(Terminator::Jump(Target { block: join, args: vec![b] }));
        self.builder.at = first;
        let a = self.convert(a, &ty, yes.span)?;
        self.builder.end(Terminator::Jump(Target { block: join, args: vec![a] }));
        self.builder.at = join;
        let register = self.builder.ty(a);
        let result = self.builder.function.block_param(join, register);
        let constant = |value| self.builder.function.constant_of(value).is_some();
        // In a constant expression, the condition is known.
        let value = match known {
            Some(1) if constant(a) => a,
            Some(0) if constant(b) => b,
            _ => result,
        };
        Ok(Typed { ty, value })
    }

    fn common_type(&mut self, a: &Typed, b: &Typed, span: Span) -> Lowered<Type> {
        if a.ty == b.ty {
            return Ok(a.ty.clone());
        }
        if let (Some(x), Some(y)) = (a.ty.scalar(), b.ty.scalar()) {
            return Ok(Type::Scalar(x.common(y)));
        }
        let zero = |typed: &Typed| typed.ty == Type::Null || self.is_zero(typed);
        if self.is_pointer(&a.ty) && (zero(b) || self.cost(&b.ty, &a.ty).is_some()) {
            return Ok(a.ty.clone());
        }
        if self.is_pointer(&b.ty) && (zero(a) || self.cost(&a.ty, &b.ty).is_some()) {
            return Ok(b.ty.clone());
        }
        let message = format!("one side is `{}`, the other `{}`", a.ty.name(), b.ty.name());
        self.error(span, message, "cast one of them to the other's type")
    }
}
