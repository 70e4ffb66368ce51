//! Mathematical functions that the optimiser understands: minima, absolute values, roots, `fma`.

use super::{Lowered, Lowerer, Typed};
use crate::ir::{BinaryOp, Effect, Op, Ty, UnaryOp};
use crate::source::Span;
use crate::syntax::Expr;
use crate::types::{Scalar, Type};

/// The number of operands of a function that the optimiser understands, and their type if it
/// doesn't depend on the arguments.
pub(super) fn simple_function(name: &str) -> Option<(usize, Option<Scalar>)> {
    Some(match name {
        "min" | "max" | "fmin" | "fmax" => (2, None),
        "abs" | "labs" | "llabs" | "fabs" | "sqrt" => (1, None),
        "fabsf" | "sqrtf" => (1, Some(Scalar::Float)),
        "fminf" | "fmaxf" => (2, Some(Scalar::Float)),
        "fmaf" => (3, Some(Scalar::Float)),
        "fma" => (3, None),
        _ => return None,
    })
}

impl Lowerer<'_> {
    /// Lowers a call of a function that the optimiser understands.
    pub(super) fn simple_function(
        &mut self,
        name: &str,
        arguments: &[Expr],
        span: Span,
    ) -> Lowered<Option<Typed>> {
        use BinaryOp::{FMax, FMin, MaxS, MaxU, MinS, MinU};
        let Some((count, wanted)) = simple_function(name) else { return Ok(None) };
        self.check_argument_count(name, arguments, count, span)?;
        let typed =
            arguments.iter().map(|argument| self.rvalue(argument)).collect::<Lowered<Vec<_>>>()?;
        let mut common = wanted;
        for (one, argument) in typed.iter().zip(arguments) {
            let Some(scalar) = one.ty.scalar() else {
                let message = format!("`{name}` is for numbers, and this is `{}`", one.ty.name());
                return self.error(argument.span, message, "");
            };
            if wanted.is_none() {
                common =
                    Some(common.map_or(scalar.promoted(), |common: Scalar| common.common(scalar)));
            }
        }
        let mut common = common.unwrap_or(Scalar::Int);
        // With integer arguments, `sqrt(2)` and `fmax(1, 2)` call the functions of double.
        if common.is_integer() && !matches!(name, "min" | "max" | "abs" | "labs" | "llabs") {
            common = Scalar::Double;
        }
        if common == Scalar::Half {
            common = Scalar::Float;
        }
        let mut values = Vec::new();
        for (one, argument) in typed.into_iter().zip(arguments) {
            values.push(self.convert(one, &Type::Scalar(common), argument.span)?);
        }
        let (floating, signed) = (common.is_floating(), common.is_signed());
        let value = match name {
            "min" | "fmin" | "fminf" | "max" | "fmax" | "fmaxf" => {
                let smaller = name.contains("min");
                let op = match (smaller, floating, signed) {
                    (true, true, _) => FMin,
                    (false, true, _) => FMax,
                    (true, false, true) => MinS,
                    (true, false, false) => MinU,
                    (false, false, true) => MaxS,
                    (false, false, false) => MaxU,
                };
                self.builder.binary(op, values[0], values[1])
            }
            "fma" | "fmaf" => {
                let ty = self.builder.ty(values[0]);
                self.builder.op(Op::Fma, ty, values)
            }
            "sqrt" | "sqrtf" => self.builder.unary(UnaryOp::FSqrt, values[0]),
            _ if floating => self.builder.unary(UnaryOp::FAbs, values[0]),
            _ if !signed => values[0],
            _ => {
                let ty = self.builder.ty(values[0]);
                let text = if ty == Ty::I32 { "abs.s32 {0}, {1};" } else { "abs.s64 {0}, {1};" };
                self.instruction(text, ty, vec![values[0]], Effect::None)
            }
        };
        Ok(Some(Typed { ty: Type::Scalar(common), value }))
    }
}
