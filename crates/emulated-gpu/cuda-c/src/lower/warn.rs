//! Warnings about code that compiles, but probably doesn't do what was meant.

use super::{Lowerer, Typed};
use crate::diagnostic::Problem;
use crate::source::Span;
use crate::syntax::{Binary, Expr, ExprKind};
use crate::types::{Scalar, Type};

impl Lowerer<'_> {
    /// Warns of a product of `int` that is widened to 64 bits only after it may have overflowed.
    pub(super) fn check_widened(&mut self, to: &Type, expr: &Expr, typed: &Typed) {
        let wide = to.scalar().is_some_and(|scalar| scalar.is_integer() && scalar.size() == 8);
        if !wide || typed.ty != Type::Scalar(Scalar::Int) || !multiplies(expr) {
            return;
        }
        if self.builder.function.constant_of(typed.value).is_some() {
            return;
        }
        let message = "this product of `int` may overflow before it becomes 64 bits wide";
        self.warn(
            Problem::warning(expr.span, message)
                .label("computed in 32 bits")
                .help("widen a factor first: `(size_t)a * b`"),
        );
    }

    /// Warns of a comparison that converts a negative number to a large unsigned one.
    pub(super) fn check_sign(
        &mut self,
        operator: Binary,
        a: (&Typed, Scalar),
        b: (&Typed, Scalar),
        span: Span,
    ) {
        let signed = if a.1.is_signed() { a.0 } else { b.0 };
        // A constant that isn't negative keeps its value.
        let Some(bits) = self.builder.function.constant_of(signed.value) else { return };
        let narrow = self.builder.ty(signed.value).bits() == 32;
        let negative = if narrow { (bits as u32 as i32) < 0 } else { (bits as i64) < 0 };
        if negative {
            let message =
                format!("`{}` compares a negative number with an unsigned one", operator.text());
            let help =
                "the negative number becomes a large one; cast the other side to a signed type";
            self.warn(Problem::warning(span, message).help(help));
        }
    }

    /// Warns of `if (a = b)`.
    pub(super) fn check_condition(&mut self, condition: &Expr) {
        if let ExprKind::Assign(None, ..) = condition.kind {
            let message = "this assigns, and the condition is the assigned value";
            self.warn(Problem::warning(condition.span, message).help("write `==` to compare"));
        }
    }
}

fn multiplies(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary(Binary::Multiply, ..) => true,
        ExprKind::Binary(Binary::Add | Binary::Subtract, a, b) => multiplies(a) || multiplies(b),
        _ => false,
    }
}
