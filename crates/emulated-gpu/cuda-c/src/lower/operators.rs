//! Arithmetic, comparison and logical operators.

use super::{Lowered, Lowerer, Typed};
use crate::diagnostic::Problem;
use crate::ir::{BinaryOp, Compare, CompareKind, Op, Target, Terminator, Ty, UnaryOp, Value};
use crate::source::Span;
use crate::syntax::{Binary, Expr, Unary};
use crate::types::{Scalar, Type};

impl Lowerer<'_> {
    pub(super) fn arithmetic_unary(
        &mut self,
        operator: Unary,
        operand: &Expr,
        span: Span,
    ) -> Lowered<Typed> {
        let typed = self.rvalue(operand)?;
        if operator == Unary::Not {
            let truth = self.condition_value(&typed, operand.span)?;
            let value = self.builder.unary(UnaryOp::Not, truth);
            return Ok(Typed { ty: Type::Scalar(Scalar::Bool), value });
        }
        if matches!(typed.ty, Type::Struct(_)) {
            let text = if operator == Unary::Minus { "-" } else { "~" };
            if let Some(found) = self.operator_method(&typed, text, &[], span)? {
                return Ok(self.read(found));
            }
            let name = format!("operator{text}");
            if let Some(result) = self.overloaded(&name, vec![typed.clone()], &[operand], span)? {
                return Ok(result);
            }
        }
        let typed = self.as_number(typed, span)?;
        let Some(from) = typed.ty.scalar() else {
            let message =
                format!("this operator is for numbers, and this is `{}`", typed.ty.name());
            return self.error(span, message, "");
        };
        let scalar = from.promoted();
        let value = self.scalar_to_scalar(typed.value, from, scalar);
        let value = match operator {
            Unary::Plus => value,
            Unary::Minus if scalar == Scalar::Half => {
                let float = self.half_to_float(value);
                let negative = self.builder.unary(UnaryOp::FNeg, float);
                self.float_to_half(negative)
            }
            Unary::Minus if scalar.is_floating() => self.builder.unary(UnaryOp::FNeg, value),
            Unary::Minus => self.builder.unary(UnaryOp::Neg, value),
            _ if scalar.is_floating() => {
                let message = "`~` is for integers";
                return self.error(span, message, "use __float_as_uint for a float's bits");
            }
            _ => self.builder.unary(UnaryOp::Not, value),
        };
        Ok(Typed { ty: Type::Scalar(scalar), value })
    }

    pub(super) fn binary(
        &mut self,
        operator: Binary,
        left: &Expr,
        right: &Expr,
        span: Span,
    ) -> Lowered<Typed> {
        if matches!(operator, Binary::LogicalAnd | Binary::LogicalOr) {
            return self.logical(operator, left, right);
        }
        let a = self.rvalue(left)?;
        if matches!(a.ty, Type::Struct(_))
            && let Some(found) = self.operator_method(&a, operator.text(), &[right], span)?
        {
            return Ok(self.read(found));
        }
        let b = self.rvalue(right)?;
        if matches!(a.ty, Type::Struct(_)) || matches!(b.ty, Type::Struct(_)) {
            let name = format!("operator{}", operator.text());
            let both = vec![a.clone(), b.clone()];
            let (x, y) = (self.as_number(a.clone(), span)?, self.as_number(b.clone(), span)?);
            let number =
                |ty: &Type| ty.scalar().is_some() || matches!(ty, Type::Pointer(_) | Type::Null);
            let numbers = number(&x.ty) && number(&y.ty);
            let one = number(&a.ty) || number(&b.ty);
            match self.cost_of_operator(&name, both.clone(), span)? {
                Some(1..) if numbers && one => {
                    let message = format!(
                        "`{name}` of `{}` and `{}` may mean two things",
                        a.ty.name(),
                        b.ty.name()
                    );
                    return self.error(span, message, "cast one to the other's type");
                }
                Some(_) => {
                    if let Some(result) = self.overloaded(&name, both, &[left, right], span)? {
                        return Ok(result);
                    }
                }
                // A struct that converts to a number is computed as one if no operator fits.
                None if numbers => return self.operate(operator, x, y, span),
                None => {}
            }
            let message =
                format!("there is no `{name}` for `{}` and `{}`", a.ty.name(), b.ty.name());
            let help = "write it out member by member, or define this operator";
            return self.error(span, message, help);
        }
        self.operate(operator, a, b, span)
    }

    /// Applies a binary operator to two values.
    pub(super) fn operate(
        &mut self,
        operator: Binary,
        a: Typed,
        b: Typed,
        span: Span,
    ) -> Lowered<Typed> {
        let pointers = (self.is_pointer(&a.ty), self.is_pointer(&b.ty));
        if pointers.0 || pointers.1 {
            return self.pointers(operator, a, b, span);
        }
        let scoped =
            |ty: &Type| matches!(ty, Type::Enum(name, _) if self.scoped_enums.contains(name));
        let alike = operator.compares() && a.ty == b.ty;
        if (scoped(&a.ty) || scoped(&b.ty)) && !alike {
            let help = "an `enum class` isn't a number: cast it, `(int)…`";
            return self.unsuitable(operator, &a, &b, span, help);
        }
        let (Some(x), Some(y)) = (a.ty.scalar(), b.ty.scalar()) else {
            return self.unsuitable(operator, &a, &b, span, "");
        };
        if matches!(operator, Binary::ShiftLeft | Binary::ShiftRight) {
            return self.shift(operator, &a, x, &b, y, span);
        }
        let common = x.common(y);
        let (p, q) =
            (self.scalar_to_scalar(a.value, x, common), self.scalar_to_scalar(b.value, y, common));
        let floating = common.is_floating();
        if floating
            && matches!(operator, Binary::Remainder | Binary::And | Binary::Or | Binary::Xor)
        {
            let message =
                format!("`{}` is for integers, and this is `{}`", operator.text(), common.name());
            let help = if operator == Binary::Remainder { "use fmodf(a, b)" } else { "" };
            return self.error(span, message, help);
        }
        if operator.compares() {
            if common.is_integer() && x.is_signed() != y.is_signed() && !common.is_signed() {
                self.check_sign(operator, (&a, x), (&b, y), span);
            }
            let value = self.comparison(operator, common, p, q);
            return Ok(Typed { ty: Type::Scalar(Scalar::Bool), value });
        }
        if matches!(operator, Binary::Divide | Binary::Remainder)
            && !floating
            && self.builder.function.constant_of(q) == Some(0)
        {
            self.warn(
                Problem::warning(span, "this divides by 0").help("the result is not defined"),
            );
        }
        let value = self.arithmetic(operator, common, p, q);
        Ok(Typed { ty: Type::Scalar(common), value })
    }

    pub(super) fn is_pointer(&self, ty: &Type) -> bool {
        matches!(ty, Type::Pointer(_) | Type::Null)
    }

    /// Whether a value is the integer 0, which is also the null pointer.
    pub(super) fn is_zero(&self, typed: &Typed) -> bool {
        typed.ty.is_integer() && self.builder.function.constant_of(typed.value) == Some(0)
    }

    fn comparison(&mut self, operator: Binary, common: Scalar, a: Value, b: Value) -> Value {
        let (a, b) = if common == Scalar::Half {
            (self.half_to_float(a), self.half_to_float(b))
        } else {
            (a, b)
        };
        let compare = match operator {
            Binary::Equal => Compare::Eq,
            Binary::NotEqual => Compare::Ne,
            Binary::Less => Compare::Lt,
            Binary::LessEqual => Compare::Le,
            Binary::Greater => Compare::Gt,
            _ => Compare::Ge,
        };
        let kind = match () {
            () if common.is_floating() && compare == Compare::Ne => CompareKind::Unordered,
            () if common.is_floating() => CompareKind::Ordered,
            () if common.is_signed() => CompareKind::Signed,
            () => CompareKind::Unsigned,
        };
        self.builder.compare(compare, kind, a, b)
    }

    fn arithmetic(&mut self, operator: Binary, common: Scalar, a: Value, b: Value) -> Value {
        if common == Scalar::Half {
            let (x, y) = (self.half_to_float(a), self.half_to_float(b));
            // An operation on halves that is computed in float and rounded again gives the same
            // result as one rounding.
            let result = self.exact_float(operator, x, y);
            return self.float_to_half(result);
        }
        let op = match (operator, common.is_floating(), common.is_signed()) {
            (Binary::Add, true, _) => BinaryOp::FAdd,
            (Binary::Subtract, true, _) => BinaryOp::FSub,
            (Binary::Multiply, true, _) => BinaryOp::FMul,
            (_, true, _) => BinaryOp::FDiv,
            (Binary::Add, ..) => BinaryOp::Add,
            (Binary::Subtract, ..) => BinaryOp::Sub,
            (Binary::Multiply, ..) => BinaryOp::Mul,
            (Binary::Divide, _, true) => BinaryOp::DivS,
            (Binary::Divide, ..) => BinaryOp::DivU,
            (Binary::Remainder, _, true) => BinaryOp::RemS,
            (Binary::Remainder, ..) => BinaryOp::RemU,
            (Binary::And, ..) => BinaryOp::And,
            (Binary::Or, ..) => BinaryOp::Or,
            _ => BinaryOp::Xor,
        };
        // Signed overflow is undefined, which the optimiser uses.
        let exact =
            common.is_signed() && matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul);
        let ty = self.builder.ty(a);
        self.builder.op(Op::Binary(op, exact), ty, vec![a, b])
    }

    fn shift(
        &mut self,
        operator: Binary,
        a: &Typed,
        x: Scalar,
        b: &Typed,
        y: Scalar,
        span: Span,
    ) -> Lowered<Typed> {
        if x.is_floating() || y.is_floating() {
            return self.error(span, "shifts are for integers", "");
        }
        let scalar = x.promoted();
        let value = self.scalar_to_scalar(a.value, x, scalar);
        let count = self.scalar_to_scalar(b.value, y, Scalar::UnsignedInt);
        if let Some(count) = self.builder.function.constant_of(count)
            && count >= scalar.size() * 8
        {
            let message = format!(
                "a `{}` has {} bits, and is shifted by {count}",
                scalar.name(),
                scalar.size() * 8
            );
            self.warn(Problem::warning(span, message).help("the result is not defined in C"));
        }
        let op = match (operator, scalar.is_signed()) {
            (Binary::ShiftLeft, _) => BinaryOp::Shl,
            (_, true) => BinaryOp::ShrS,
            (_, false) => BinaryOp::ShrU,
        };
        let value = self.builder.binary(op, value, count);
        Ok(Typed { ty: Type::Scalar(scalar), value })
    }

    fn pointers(&mut self, operator: Binary, a: Typed, b: Typed, span: Span) -> Lowered<Typed> {
        let size = |ty: &Type| ty.pointee().map_or(1, |to| self.completed(to).ty.size().max(1));
        match (operator, &a.ty, &b.ty) {
            (Binary::Add, Type::Pointer(_), other) if other.is_integer() => {
                let size = size(&a.ty);
                let value = self.advance(a.value, &b, size);
                Ok(Typed { ty: a.ty, value })
            }
            (Binary::Add, other, Type::Pointer(_)) if other.is_integer() => {
                let size = size(&b.ty);
                let value = self.advance(b.value, &a, size);
                Ok(Typed { ty: b.ty, value })
            }
            (Binary::Subtract, Type::Pointer(_), other) if other.is_integer() => {
                let size = size(&a.ty);
                let scalar = b.ty.scalar().unwrap_or(Scalar::Long);
                let wide = self.scalar_to_scalar(b.value, scalar, Scalar::Long);
                let value = self.builder.unary(UnaryOp::Neg, wide);
                let back = Typed { ty: Type::Scalar(Scalar::Long), value };
                let value = self.advance(a.value, &back, size);
                Ok(Typed { ty: a.ty, value })
            }
            (Binary::Subtract, Type::Pointer(x), Type::Pointer(y)) if x.ty == y.ty => {
                let size = size(&a.ty);
                let bytes = self.builder.binary(BinaryOp::Sub, a.value, b.value);
                let size = self.builder.integer(Ty::I64, size as i64);
                let value = self.builder.binary(BinaryOp::DivS, bytes, size);
                Ok(Typed { ty: Type::Scalar(Scalar::Long), value })
            }
            (operator, ..) if operator.compares() => {
                let pointer = |typed: &Typed| self.is_pointer(&typed.ty) || self.is_zero(typed);
                if !pointer(&a) || !pointer(&b) {
                    let message = "a pointer is compared with a number";
                    return self.error(span, message, "compare it with nullptr");
                }
                let value = |typed: &Typed, lowerer: &mut Self| {
                    if lowerer.is_pointer(&typed.ty) {
                        typed.value
                    } else {
                        lowerer.builder.integer(Ty::I64, 0)
                    }
                };
                let (p, q) = (value(&a, self), value(&b, self));
                let value = self.comparison(operator, Scalar::UnsignedLong, p, q);
                Ok(Typed { ty: Type::Scalar(Scalar::Bool), value })
            }
            _ => self.unsuitable(operator, &a, &b, span, ""),
        }
    }

    /// Reports an operator that isn't defined for these types.
    fn unsuitable<T>(
        &mut self,
        operator: Binary,
        a: &Typed,
        b: &Typed,
        span: Span,
        help: &str,
    ) -> Lowered<T> {
        let (operator, a, b) = (operator.text(), a.ty.name(), b.ty.name());
        self.error(span, format!("`{operator}` isn't for `{a}` and `{b}`"), help)
    }

    /// `&&`, `||`: the right operand is only evaluated if it matters.
    fn logical(&mut self, operator: Binary, left: &Expr, right: &Expr) -> Lowered<Typed> {
        let a = self.condition(left)?;
        let (more, join) = (self.builder.new_block(), self.builder.new_block());
        let result = self.builder.function.block_param(join, Ty::Pred);
        let is_and = operator == Binary::LogicalAnd;
        let known = self.builder.bool_constant(!is_and);
        let over = Target { block: join, args: vec![known] };
        let into = Target { block: more, args: Vec::new() };
        let (yes, no) = if is_and { (into, over) } else { (over, into) };
        self.builder.end(Terminator::Branch { condition: a, yes, no });
        self.builder.at = more;
        let b = self.condition(right)?;
        self.builder.end(Terminator::Jump(Target { block: join, args: vec![b] }));
        self.builder.at = join;
        // If both operands are constant, the result has to be constant too, for constant
        // expressions.
        let function = &self.builder.function;
        let value = match (function.constant_of(a), function.constant_of(b)) {
            (Some(a), Some(b)) if is_and => self.builder.bool_constant(a == 1 && b == 1),
            (Some(a), Some(b)) => self.builder.bool_constant(a == 1 || b == 1),
            _ => result,
        };
        Ok(Typed { ty: Type::Scalar(Scalar::Bool), value })
    }
}
