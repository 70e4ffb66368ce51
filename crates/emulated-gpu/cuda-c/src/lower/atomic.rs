//! Atomic operations.

use super::{Lowerer, Recognised, Typed};
use crate::ir::{Effect, Ty, UnaryOp};
use crate::source::Span;
use crate::syntax::Expr;
use crate::types::{Scalar, Type};

impl Lowerer<'_> {
    pub(super) fn atomic(&mut self, name: &str, arguments: &[Expr], span: Span) -> Recognised {
        let Some(rest) = name.strip_prefix("atomic") else { return Ok(None) };
        let (rest, scope) = match rest {
            _ if rest.ends_with("_block") => (&rest[..rest.len() - 6], ".cta"),
            _ if rest.ends_with("_system") => (&rest[..rest.len() - 7], ".sys"),
            _ => (rest, ""),
        };
        let operation = match rest {
            "Add" | "Sub" => "add",
            "Min" => "min",
            "Max" => "max",
            "And" => "and",
            "Or" => "or",
            "Xor" => "xor",
            "Exch" => "exch",
            "CAS" => "cas",
            "Inc" => "inc",
            "Dec" => "dec",
            _ => return Ok(None),
        };
        if !scope.is_empty() {
            self.require_arch(format_args!("`{name}`"), 60, span)?;
        }
        self.check_argument_count(name, arguments, if rest == "CAS" { 3 } else { 2 }, span)?;
        let pointer = self.rvalue(&arguments[0])?;
        let to = match &pointer.ty {
            Type::Pointer(to) => (**to).clone(),
            other => {
                let message = format!("`{name}` needs an address, and this is `{}`", other.name());
                return self.error(arguments[0].span, message, "write `&` before it");
            }
        };
        self.check_writable(&to, arguments[0].span)?;
        let Some(scalar) = to.ty.scalar() else {
            let message = format!("`{name}` isn't for `{}`", to.ty.name());
            return self.error(arguments[0].span, message, "");
        };
        let scoped = |least: u32| if scope.is_empty() { Some(least) } else { None };
        // 16-bit types only have two operations, and no scopes.
        let of_short = match (rest, scalar) {
            ("Add", Scalar::Half) => scoped(70).map(|least| ("noftz.f16", least)),
            ("CAS", Scalar::UnsignedShort) => scoped(70).map(|least| ("b16", least)),
            _ => None,
        };
        let of_double = (rest == "Add" && scalar == Scalar::Double).then_some(("f64", 60));
        let plain = suffix(operation, scalar).map(|suffix| (suffix, 0));
        let Some((suffix, least)) = of_short.or(of_double).or(plain) else {
            let message = format!("`{name}` isn't for `{}`", to.ty.name());
            let help = if scalar.is_floating() && matches!(operation, "min" | "max") {
                "loop with atomicCAS on __float_as_int, or keep an integer"
            } else {
                "it is for int, unsigned and unsigned long long; atomicAdd also for float, double and __half, \
                 atomicCAS for unsigned short"
            };
            return self.error(arguments[0].span, message, help);
        };
        self.require_arch(format_args!("`{name}` of `{}`", to.ty.name()), least, span)?;
        let mut values = vec![pointer.value];
        for argument in &arguments[1..] {
            let mut value = self.argument(argument, &to.ty)?;
            if rest == "Sub" {
                let negative = if scalar.is_floating() { UnaryOp::FNeg } else { UnaryOp::Neg };
                value = self.builder.unary(negative, value);
            }
            if scalar == Scalar::UnsignedShort {
                value =
                    self.instruction("cvt.u16.u32 {0}, {1};", Ty::B16, vec![value], Effect::None);
            }
            values.push(value);
        }
        let more = if rest == "CAS" { ", {3}" } else { "" };
        let text = format!("atom{{s}}{scope}.{operation}.{suffix} {{0}}, [{{1}}], {{2}}{more};");
        let short = scalar == Scalar::UnsignedShort;
        let ty = if short { Ty::B16 } else { super::convert::scalar_ty(scalar) };
        let mut value = self.instruction(&text, ty, values, Effect::Acts);
        if short {
            value = self.instruction("cvt.u32.u16 {0}, {1};", Ty::I32, vec![value], Effect::None);
        }
        Ok(Some(Typed { ty: to.ty, value }))
    }
}

/// The type suffix of the instruction; `None` if there is no instruction for the type.
fn suffix(operation: &str, scalar: Scalar) -> Option<&'static str> {
    let (wide, signed) = (scalar.size() == 8, scalar.is_signed());
    if scalar.size() < 4 {
        return None;
    }
    match operation {
        "add" => Some(match scalar {
            Scalar::Float => "f32",
            Scalar::Double => "f64",
            _ if wide => "u64",
            _ if signed => "s32",
            _ => "u32",
        }),
        "exch" | "cas" if scalar == Scalar::Double => None,
        "cas" if scalar == Scalar::Float => None,
        "exch" | "cas" => Some(if wide { "b64" } else { "b32" }),
        _ if scalar.is_floating() => None,
        "min" | "max" => Some(match (wide, signed) {
            (true, true) => "s64",
            (true, false) => "u64",
            (false, true) => "s32",
            (false, false) => "u32",
        }),
        "inc" | "dec" => (scalar == Scalar::UnsignedInt).then_some("u32"),
        _ => Some(if wide { "b64" } else { "b32" }),
    }
}
