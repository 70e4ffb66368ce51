//! Constant expressions: array lengths, case labels, template arguments.

use super::evaluate::MAX_STEPS;
use super::{Lowered, Lowerer, Lvalue};
use crate::ir::{BlockId, Op, Value};
use crate::syntax::Expr;
use crate::types::Type;

impl Lowerer<'_> {
    /// The value of an integer constant expression. Operations on constants are folded when they
    /// are lowered, so the expression is lowered into an unreachable block.
    pub(super) fn constant(&mut self, expr: &Expr, what: &str) -> Lowered<(Type, u64)> {
        let (typed, bits) = self.evaluated(|lowerer| lowerer.rvalue(expr), |typed| typed.value)?;
        match (bits, typed.ty.is_integer()) {
            (Some(bits), true) => {
                let signed = typed.ty.scalar().is_some_and(crate::types::Scalar::is_signed);
                let narrow = self.builder.ty(typed.value).bits() == 32;
                let bits = if signed && narrow { i64::from(bits as u32 as i32) as u64 } else { bits };
                Ok((typed.ty, bits))
            }
            (_, false) => self.error(
                expr.span,
                format!("{what} is an integer, and this is `{}`", typed.ty.name()),
                "write an integer",
            ),
            (None, true) => self.error(
                expr.span,
                format!("{what} has to be known when the kernel is compiled"),
                "use a number, a `#define`, a `constexpr` variable or a parameter of a template; memory \
                 whose size the launch says is `extern __shared__`",
            ),
        }
    }

    /// Lowers into an unreachable block, and returns the bits of the resulting value if it is
    /// constant.
    pub(super) fn evaluated<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Lowered<T>,
        value: impl FnOnce(&T) -> Value,
    ) -> Lowered<(T, Option<u64>)> {
        let (lowered, start, end) = self.in_unreachable_block(inner)?;
        let value = value(&lowered);
        let known = self.builder.function.constant_of(value);
        let bits = known.or_else(|| self.interpret_value(start, end, value));
        if bits.is_none() && self.interpreted_steps > MAX_STEPS {
            let message = format!("constant expressions take more than {MAX_STEPS} steps");
            let help = "let the host compute it, and pass or copy it";
            return self.error(self.builder.span, message, help);
        }
        Ok((lowered, bits))
    }

    /// The bytes of a variable with a constant initialiser; `None` if they aren't constant.
    pub(super) fn constant_bytes(
        &mut self,
        place: &Lvalue,
        init: &Expr,
    ) -> Lowered<Option<Vec<u8>>> {
        // Marks the slot as constant, so that the evaluation may read it.
        if let Op::Slot(slot) = self.builder.function.inst(place.address).op {
            self.builder.function.slots[slot as usize].constant = Some(Vec::new());
        }
        let problems = self.problems.len();
        let ((), start, end) =
            self.in_unreachable_block(|lowerer| lowerer.initialise(place, init))?;
        // The warnings are dropped, because they are reported again when the variable itself is
        // lowered.
        self.problems.truncate(problems);
        Ok(self.interpret_bytes(start, end, (place.address, place.ty.ty.size())))
    }

    /// The type of an expression that isn't evaluated.
    pub(super) fn type_of(&mut self, expr: &Expr) -> Lowered<Type> {
        let (operand, ..) = self.in_unreachable_block(|lowerer| lowerer.operand(expr))?;
        Ok(super::overload::type_of(&operand))
    }

    /// Lowers into an unreachable block. Returns the result, and the first and the last block.
    fn in_unreachable_block<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Lowered<T>,
    ) -> Lowered<(T, BlockId, BlockId)> {
        let start = self.builder.new_block();
        let at = std::mem::replace(&mut self.builder.at, start);
        let result = inner(self);
        let end = std::mem::replace(&mut self.builder.at, at);
        Ok((result?, start, end))
    }
}
