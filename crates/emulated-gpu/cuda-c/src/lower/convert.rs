//! Type conversions: of arithmetic types and conditions, implicit conversions, and casts.

use super::{Lowered, Lowerer, Typed};
use crate::diagnostic::Problem;
use crate::ir::{Compare, CompareKind, Convert, Memory, Ty, Value};
use crate::source::Span;
use crate::syntax::Expr;
use crate::types::{Scalar, Type};

/// The register type of a C type.
pub(super) fn ty_of(ty: &Type) -> Ty {
    match ty {
        Type::Scalar(scalar) | Type::Enum(_, scalar) => scalar_ty(*scalar),
        Type::Void => Ty::None,
        _ => Ty::I64,
    }
}

pub(super) fn scalar_ty(scalar: Scalar) -> Ty {
    match scalar {
        Scalar::Bool => Ty::Pred,
        Scalar::Half => Ty::B16,
        Scalar::Float => Ty::F32,
        Scalar::Double => Ty::F64,
        integer if integer.size() == 8 => Ty::I64,
        _ => Ty::I32,
    }
}

/// The memory type of a C type.
pub(super) fn memory_of(ty: &Type) -> Memory {
    match ty.scalar() {
        Some(Scalar::Bool | Scalar::UnsignedChar) => Memory::U8,
        Some(Scalar::Char | Scalar::SignedChar) => Memory::S8,
        Some(Scalar::Short) => Memory::S16,
        Some(Scalar::UnsignedShort) => Memory::U16,
        Some(Scalar::Half) => Memory::B16,
        Some(Scalar::Float) => Memory::F32,
        Some(Scalar::Double) => Memory::F64,
        Some(integer) if integer.size() == 4 => Memory::B32,
        _ => Memory::B64,
    }
}

impl Lowerer<'_> {
    /// Converts between arithmetic types, as C does.
    pub(super) fn scalar_to_scalar(&mut self, value: Value, from: Scalar, to: Scalar) -> Value {
        if from == to {
            return value;
        }
        if to == Scalar::Bool {
            return self.truth_of(value, from);
        }
        let ty = scalar_ty(to);
        let builder = &mut self.builder;
        // Halves are converted through floats, which represent them exactly.
        if from == Scalar::Half {
            let float = self.half_to_float(value);
            return self.scalar_to_scalar(float, Scalar::Float, to);
        }
        if to == Scalar::Half {
            let float = self.scalar_to_scalar(value, from, Scalar::Float);
            return self.float_to_half(float);
        }
        if from == Scalar::Bool {
            let number = builder.convert(Convert::FromBool, Ty::I32, value);
            return self.scalar_to_scalar(number, Scalar::Int, to);
        }
        match (from.is_floating(), to.is_floating()) {
            (true, true) => builder.convert(Convert::Float, ty, value),
            (false, true) => {
                builder.convert(Convert::ToFloat { signed: from.is_signed() }, ty, value)
            }
            (true, false) => {
                let wide = builder.convert(
                    Convert::ToInteger { signed: to.is_signed() || to.size() < 4 },
                    ty,
                    value,
                );
                self.truncate_and_extend(wide, to)
            }
            (false, false) => {
                let value = if from.size() < 8 && to.size() == 8 {
                    let extend = if from.is_signed() {
                        Convert::SignExtend(32)
                    } else {
                        Convert::ZeroExtend(32)
                    };
                    builder.convert(extend, Ty::I64, value)
                } else if from.size() == 8 && to.size() < 8 {
                    builder.convert(Convert::Truncate, Ty::I32, value)
                } else {
                    value
                };
                self.truncate_and_extend(value, to)
            }
        }
    }

    /// Truncates a 32-bit register to an integer of 8 or 16 bits, and extends it again.
    fn truncate_and_extend(&mut self, value: Value, to: Scalar) -> Value {
        let bits = (to.size() * 8) as u8;
        if bits >= 32 {
            return value;
        }
        let extend =
            if to.is_signed() { Convert::SignExtend(bits) } else { Convert::ZeroExtend(bits) };
        self.builder.convert(extend, Ty::I32, value)
    }

    fn truth_of(&mut self, value: Value, from: Scalar) -> Value {
        let value = if from == Scalar::Half { self.half_to_float(value) } else { value };
        let ty = self.builder.ty(value);
        if ty == Ty::Pred {
            return value;
        }
        let zero = self.builder.integer(ty, 0);
        let kind = if ty.is_float() { CompareKind::Unordered } else { CompareKind::Signed };
        self.builder.compare(Compare::Ne, kind, value, zero)
    }

    /// The value of an expression as a condition (a predicate).
    pub(super) fn condition(&mut self, expr: &Expr) -> Lowered<Value> {
        let typed = self.rvalue(expr)?;
        self.condition_value(&typed, expr.span)
    }

    /// Converts a value to a condition (a predicate).
    pub(super) fn condition_value(&mut self, typed: &Typed, span: Span) -> Lowered<Value> {
        match &typed.ty {
            Type::Enum(name, _) if self.scoped_enums.contains(name) => {
                let message = format!("a `{name}` is an `enum class`, which isn't a condition");
                self.error(span, message, "compare it with one of its values")
            }
            Type::Scalar(scalar) | Type::Enum(_, scalar) => Ok(self.truth_of(typed.value, *scalar)),
            Type::Pointer(_) => {
                let zero = self.builder.integer(Ty::I64, 0);
                Ok(self.builder.compare(Compare::Ne, CompareKind::Signed, typed.value, zero))
            }
            Type::Null => Ok(self.builder.bool_constant(false)),
            Type::Struct(_)
                if self.conversion(&typed.ty, &Type::Scalar(Scalar::Bool)).is_some() =>
            {
                self.converted(typed.clone(), &Type::Scalar(Scalar::Bool), span)
            }
            other => {
                let message =
                    format!("a condition is a number or a pointer, and this is `{}`", other.name());
                self.error(span, message, "compare it with something")
            }
        }
    }

    /// The cost of an implicit conversion between two types, for overload resolution: 0 if they are the same, higher
    /// the more the conversion changes, and `None` if there is no such conversion.
    pub(super) fn cost(&self, from: &Type, to: &Type) -> Option<u32> {
        if from == to {
            return Some(0);
        }
        match (from, to) {
            (Type::Scalar(a), Type::Scalar(b)) => {
                let promotes = a.promoted() == *b || *a == Scalar::Float && *b == Scalar::Double;
                let kept = a.is_floating() == b.is_floating();
                Some(if promotes { 1 } else { 3 - u32::from(kept) })
            }
            (Type::Enum(name, _), Type::Scalar(_)) if self.scoped_enums.contains(name) => None,
            (Type::Enum(_, a), Type::Scalar(b)) => Some(if a.promoted() == *b { 1 } else { 2 }),
            (Type::Pointer(_) | Type::Null, Type::Scalar(Scalar::Bool)) => Some(4),
            (Type::Null, Type::Pointer(_)) => Some(1),
            (_, Type::Struct(_)) if self.converts(from, to) => Some(5),
            (Type::Struct(_), _) => {
                self.conversion(from, to).filter(|one| !one.attributes.is_explicit).map(|_| 6)
            }
            (Type::Pointer(a), Type::Pointer(b)) => {
                let keeps = (!a.is_const || b.is_const) && (!a.is_volatile || b.is_volatile);
                let same = a.ty == b.ty;
                (keeps && (same || b.ty == Type::Void)).then_some(if same { 1 } else { 3 })
            }
            _ => None,
        }
    }

    /// Whether a reference to `to` may be bound to a place of type `from`.
    pub(super) fn reference_can_bind(from: &Type, to: &Type) -> bool {
        match (from, to) {
            (Type::Array(a, n), Type::Array(b, m)) => {
                n == m && (!a.is_const || b.is_const) && Self::reference_can_bind(&a.ty, &b.ty)
            }
            _ => from == to,
        }
    }

    /// Converts implicitly, as an assignment does.
    pub(super) fn convert(&mut self, typed: Typed, to: &Type, span: Span) -> Lowered<Value> {
        if matches!(to, Type::Pointer(_)) && self.is_zero(&typed) {
            return Ok(self.builder.integer(Ty::I64, 0));
        }
        if self.cost(&typed.ty, to).is_none() {
            let message = format!("a `{}` doesn't become a `{}`", typed.ty.name(), to.name());
            let label = format!("this is `{}`", typed.ty.name());
            let help = match (&typed.ty, to) {
                (Type::Pointer(a), Type::Pointer(b)) if a.ty == b.ty => {
                    "`const` can't be removed: make the target a pointer to `const`".to_owned()
                }
                (Type::Pointer(_), Type::Pointer(_)) => format!("cast it: `({})…`", to.name()),
                (Type::Pointer(a), _) if *to == a.ty => {
                    "read its target with `*`, or index it".into()
                }
                (_, Type::Pointer(b)) if typed.ty == b.ty => "take its address with `&`".into(),
                (Type::Scalar(_), Type::Enum(..)) | (Type::Enum(..), Type::Scalar(_)) => {
                    format!("cast it: `({})…`", to.name())
                }
                _ => format!("it has to be `{}`", to.name()),
            };
            let problem = Problem::new(self.place_of(span), message).label(label).help(help);
            return self.fail(problem);
        }
        self.cast(typed, to, span)
    }

    /// Converts explicitly, as a cast does.
    pub(super) fn cast(&mut self, typed: Typed, to: &Type, span: Span) -> Lowered<Value> {
        if typed.ty == *to {
            return Ok(typed.value);
        }
        match (&typed.ty, to) {
            (_, Type::Void) => Ok(typed.value),
            (Type::Struct(_), _) if self.conversion(&typed.ty, to).is_some() => {
                self.converted(typed, to, span)
            }
            (
                Type::Scalar(from) | Type::Enum(_, from),
                Type::Scalar(into) | Type::Enum(_, into),
            ) => Ok(self.scalar_to_scalar(typed.value, *from, *into)),
            (Type::Pointer(_) | Type::Null, Type::Scalar(Scalar::Bool)) => {
                self.condition_value(&typed, span)
            }
            (Type::Pointer(_) | Type::Null, Type::Pointer(_)) => Ok(typed.value),
            (Type::Pointer(_) | Type::Null, Type::Scalar(into)) if into.is_integer() => {
                Ok(self.scalar_to_scalar(typed.value, Scalar::UnsignedLong, *into))
            }
            (Type::Scalar(from), Type::Pointer(_)) if from.is_integer() => {
                Ok(self.scalar_to_scalar(typed.value, *from, Scalar::UnsignedLong))
            }
            (from, to) => {
                let message = format!("a `{}` can't be cast to `{}`", from.name(), to.name());
                self.error(span, message, "")
            }
        }
    }
}
