//! Exchanges between lanes: shuffles, matches and reductions.

use super::{Lowered, Lowerer, Recognised, Typed};
use crate::ir::{BinaryOp, Convert, Effect, Op, Template, Ty, Value};
use crate::source::Span;
use crate::syntax::Expr;
use crate::types::{Scalar, Type};

impl Lowerer<'_> {
    pub(super) fn shuffle(&mut self, name: &str, arguments: &[Expr], span: Span) -> Recognised {
        let mode = match name {
            "__shfl_sync" => "idx",
            "__shfl_up_sync" => "up",
            "__shfl_down_sync" => "down",
            "__shfl_xor_sync" => "bfly",
            "__match_any_sync" | "__match_all_sync" => {
                return self.match_lanes(name, arguments, span).map(Some);
            }
            "__reduce_add_sync" | "__reduce_min_sync" | "__reduce_max_sync" => {
                return self.reduce_lanes(name, arguments, span).map(Some);
            }
            _ => return Ok(None),
        };
        if arguments.len() != 3 && arguments.len() != 4 {
            let message = format!("`{name}` takes a mask, a value and a lane");
            return self.error(span, message, &format!("write `{name}(0xffffffff, value, lane)`"));
        }
        let mask = self.number(&arguments[0], Scalar::UnsignedInt)?;
        let value = self.rvalue(&arguments[1])?;
        let lane = self.number(&arguments[2], Scalar::UnsignedInt)?;
        // The instruction's control operand combines (32 − width) << 8 and the last lane.
        let clamp = if mode == "up" { 0 } else { 31 };
        let control = match arguments.get(3) {
            None => self.builder.integer(Ty::I32, clamp),
            Some(width) => {
                let width = self.number(width, Scalar::Int)?;
                let all = self.builder.integer(Ty::I32, 32);
                let rest = self.builder.binary(BinaryOp::Sub, all, width);
                let eight = self.builder.integer(Ty::I32, 8);
                let high = self.builder.binary(BinaryOp::Shl, rest, eight);
                let clamp = self.builder.integer(Ty::I32, clamp);
                self.builder.binary(BinaryOp::Or, high, clamp)
            }
        };
        let Some(scalar) = value.ty.scalar() else {
            let message = format!("lanes exchange numbers, and this is `{}`", value.ty.name());
            return self.error(arguments[1].span, message, "shuffle its members one by one");
        };
        let scalar = scalar.promoted();
        let from = value.ty.scalar().unwrap_or(scalar);
        let number = self.scalar_to_scalar(value.value, from, scalar);
        let text = format!("shfl.sync.{mode}.b32 {{0}}, {{1}}, {{2}}, {{3}}, {{4}};");
        let shuffled = self.in_words(number, |lowerer, word| {
            lowerer.instruction(&text, Ty::I32, vec![word, lane, control, mask], Effect::Acts)
        });
        Ok(Some(Typed { ty: Type::Scalar(scalar), value: shuffled }))
    }

    pub(super) fn number(&mut self, expr: &Expr, scalar: Scalar) -> Lowered<Value> {
        self.argument(expr, &Type::Scalar(scalar))
    }

    /// The value of an argument, converted to a type.
    pub(super) fn argument(&mut self, expr: &Expr, ty: &Type) -> Lowered<Value> {
        let typed = self.rvalue(expr)?;
        self.convert(typed, ty, expr.span)
    }

    /// Applies a function to each 32-bit word of a value.
    fn in_words(&mut self, value: Value, mut each: impl FnMut(&mut Self, Value) -> Value) -> Value {
        let ty = self.builder.ty(value);
        match ty {
            Ty::F32 => {
                let bits = self.builder.convert(Convert::Bits, Ty::I32, value);
                let word = each(self, bits);
                self.builder.convert(Convert::Bits, Ty::F32, word)
            }
            Ty::B16 => {
                let wide =
                    self.instruction("cvt.u32.u16 {0}, {1};", Ty::I32, vec![value], Effect::None);
                let word = each(self, wide);
                self.instruction("cvt.u16.u32 {0}, {1};", Ty::B16, vec![word], Effect::None)
            }
            Ty::I64 | Ty::F64 => {
                let bits = self.builder.convert(Convert::Bits, Ty::I64, value);
                let low = self.builder.convert(Convert::Truncate, Ty::I32, bits);
                let shift = self.builder.integer(Ty::I32, 32);
                let high = self.builder.binary(BinaryOp::ShrU, bits, shift);
                let high = self.builder.convert(Convert::Truncate, Ty::I32, high);
                let (low, high) = (each(self, low), each(self, high));
                let text = "mov.b64 {0}, {{{1}, {2}}};";
                let both = self.instruction(text, Ty::I64, vec![low, high], Effect::None);
                self.builder.convert(Convert::Bits, ty, both)
            }
            _ => each(self, value),
        }
    }

    fn match_lanes(&mut self, name: &str, arguments: &[Expr], span: Span) -> Lowered<Typed> {
        self.require_arch(format_args!("`{name}`"), 70, span)?;
        let all = name == "__match_all_sync";
        self.check_argument_count(name, arguments, if all { 3 } else { 2 }, span)?;
        let mask = self.number(&arguments[0], Scalar::UnsignedInt)?;
        let value = self.rvalue(&arguments[1])?;
        let wide = value.ty.size() == 8;
        let Some(from) = value.ty.scalar() else {
            return self.error(arguments[1].span, "lanes compare numbers", "");
        };
        let value = if from.is_floating() {
            let ty = if wide { Ty::I64 } else { Ty::I32 };
            self.builder.convert(Convert::Bits, ty, value.value)
        } else {
            let to = if wide { Scalar::UnsignedLong } else { Scalar::UnsignedInt };
            self.scalar_to_scalar(value.value, from, to)
        };
        let bits = if wide { 64 } else { 32 };
        if all {
            let pointer = self.rvalue(&arguments[2])?;
            let to = match &pointer.ty {
                Type::Pointer(to) if to.ty == Type::Scalar(Scalar::Int) && !to.is_const => {
                    (**to).clone()
                }
                other => {
                    let message =
                        format!("`{name}` writes to an `int`, and this is `{}`", other.name());
                    return self.error(arguments[2].span, message, "write `&` before a variable");
                }
            };
            let text = format!("match.all.sync.b{bits} {{0}}|{{1}}, {{2}}, {{3}};");
            let template =
                Template { text, results: vec![Ty::I32, Ty::Pred], effect: Effect::Acts };
            let op = Op::Template(template.into());
            let matching = self.builder.op(op, Ty::I32, vec![value, mask]);
            let same = self.builder.op(Op::Output(1), Ty::Pred, vec![matching]);
            let same = self.builder.convert(Convert::FromBool, Ty::I32, same);
            self.store(&to, pointer.value, same);
            return Ok(Typed { ty: Type::Scalar(Scalar::UnsignedInt), value: matching });
        }
        let text = format!("match.any.sync.b{bits} {{0}}, {{1}}, {{2}};");
        let value = self.instruction(&text, Ty::I32, vec![value, mask], Effect::Acts);
        Ok(Typed { ty: Type::Scalar(Scalar::UnsignedInt), value })
    }

    fn reduce_lanes(&mut self, name: &str, arguments: &[Expr], span: Span) -> Lowered<Typed> {
        self.require_arch(format_args!("`{name}`"), 80, span)?;
        self.check_argument_count(name, arguments, 2, span)?;
        let mask = self.number(&arguments[0], Scalar::UnsignedInt)?;
        let typed = self.rvalue(&arguments[1])?;
        let unsigned = typed.ty.scalar() == Some(Scalar::UnsignedInt);
        let scalar = if unsigned { Scalar::UnsignedInt } else { Scalar::Int };
        let value = self.convert(typed, &Type::Scalar(scalar), arguments[1].span)?;
        let operation = &name["__reduce_".len()..][..3];
        let sign = if unsigned { 'u' } else { 's' };
        let text = format!("redux.sync.{operation}.{sign}32 {{0}}, {{1}}, {{2}};");
        let value = self.instruction(&text, Ty::I32, vec![value, mask], Effect::Acts);
        Ok(Typed { ty: Type::Scalar(scalar), value })
    }
}
