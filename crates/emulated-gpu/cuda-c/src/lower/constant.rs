//! Expressions whose value has to be known now: lengths, cases, arguments of templates.

use super::evaluate::MAX_CARRIED_OUT;
use super::expression::Any;
use super::{Lowered, Lowerer, Lvalue};
use crate::ir::{BlockId, Op, Value};
use crate::syntax::Expr;
use crate::types::Type;

impl Lowerer<'_> {
    /// The value of an integer that has to be constant. What is computed from constants is one as
    /// soon as it is lowered, so it is lowered where nothing runs.
    pub(super) fn constant(&mut self, expr: &Expr, what: &str) -> Lowered<(Type, u64)> {
        let (found, bits) = self.evaluated(|lowerer| lowerer.rvalue(expr), |found| found.value)?;
        match (bits, found.ty.is_integer()) {
            (Some(bits), true) => {
                let signed = found.ty.scalar().is_some_and(crate::types::Scalar::is_signed);
                let narrow = self.builder.ty(found.value).bits() == 32;
                let bits = if signed && narrow { i64::from(bits as u32 as i32) as u64 } else { bits };
                Ok((found.ty, bits))
            }
            (_, false) => self.error(
                expr.span,
                format!("{what} is an integer, and this is `{}`", found.ty.name()),
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

    /// Lowers where nothing runs; the bits of the value that it gives, if they are known now.
    pub(super) fn evaluated<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Lowered<T>,
        value: impl FnOnce(&T) -> Value,
    ) -> Lowered<(T, Option<u64>)> {
        let mut places = None;
        let found = self.aside(|lowerer| {
            let start = lowerer.builder.at;
            let found = inner(lowerer)?;
            places = Some((start, lowerer.builder.at));
            Ok(found)
        })?;
        let value = value(&found);
        let bits = self.builder.function.constant_of(value);
        let bits = match (bits, places) {
            (None, Some((start, end))) => self.carried_out(start, end, value),
            _ => bits,
        };
        if bits.is_none() && self.carried_out > MAX_CARRIED_OUT {
            return self.error(
                self.builder.span,
                format!("constant expressions take more than {MAX_CARRIED_OUT} steps"),
                "let the host compute it, and pass or copy it",
            );
        }
        Ok((found, bits))
    }

    /// The bytes of a struct, an array or a number that begins so; nothing where they aren't known now.
    pub(super) fn constant_bytes(
        &mut self,
        place: &Lvalue,
        init: &Expr,
    ) -> Lowered<Option<Vec<u8>>> {
        // Its place has to be known while it is computed.
        if let Op::Slot(slot) = self.builder.function.inst(place.address).op {
            self.builder.function.slots[slot as usize].constant = Some(Vec::new());
        }
        let problems = self.problems.len();
        let mut places = None;
        self.aside(|lowerer| {
            let start = lowerer.builder.at;
            lowerer.initialise(place, init)?;
            places = Some((start, lowerer.builder.at));
            Ok(())
        })?;
        // Its warnings come again when it is lowered where it stands.
        self.problems.truncate(problems);
        let Some((start, end)) = places else { return Ok(None) };
        Ok(self.carried_out_bytes(start, end, (place.address, place.ty.ty.size())))
    }

    /// The type of an expression that isn't computed.
    pub(super) fn type_of(&mut self, expr: &Expr) -> Lowered<Type> {
        self.aside(|lowerer| {
            Ok(match lowerer.any(expr)? {
                Any::Lvalue(place) => place.ty.ty,
                Any::Value(typed) => typed.ty,
            })
        })
    }

    /// Lowers into a block that nothing gets to.
    pub(super) fn aside<T>(&mut self, inner: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<T> {
        let at: BlockId = self.builder.at;
        self.builder.at = self.builder.new_block();
        let result = inner(self);
        self.builder.at = at;
        result
    }
}
