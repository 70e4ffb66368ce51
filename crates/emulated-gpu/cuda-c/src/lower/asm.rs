//! Inline PTX (`asm`).

use std::rc::Rc;

use super::{Lowered, Lowerer};
use crate::ir::{Effect, Op, Template, Ty, Value};
use crate::source::Span;
use crate::syntax::{self, Expr};
use crate::types::{Scalar, Type};

fn scalar_of(constraint: &str) -> Option<Scalar> {
    Some(match constraint {
        "h" => Scalar::UnsignedShort,
        "r" => Scalar::UnsignedInt,
        "l" => Scalar::UnsignedLong,
        "f" => Scalar::Float,
        "d" => Scalar::Double,
        _ => return None,
    })
}

impl Lowerer<'_> {
    pub(super) fn asm(&mut self, asm: &syntax::Asm, span: Span) -> Lowered<()> {
        let text = String::from_utf8_lossy(&asm.text).into_owned();
        let (mut results, mut args) = (Vec::new(), Vec::new());
        let mut places = Vec::new();
        let (mut both, mut early) = (Vec::new(), Vec::new());
        for (constraint, expr) in &asm.outputs {
            let constraint = String::from_utf8_lossy(constraint).into_owned();
            let Some(rest) = constraint.strip_prefix(['=', '+']) else {
                return self.constraint(&constraint, expr, true);
            };
            let letter = rest.strip_prefix('&').unwrap_or(rest);
            let Some(scalar) = scalar_of(letter) else {
                return self.constraint(&constraint, expr, true);
            };
            if letter != rest {
                early.push(places.len());
            }
            let place = self.place(expr, "an output of asm")?;
            results.push(self.register(scalar, &place.ty.ty, expr)?);
            if constraint.starts_with('+') {
                both.push(places.len());
            }
            places.push((place, scalar, expr.span));
        }
        for index in both.iter().copied() {
            let (place, scalar, _) = places[index].clone();
            let typed = self.read(super::expression::Operand::Lvalue(place));
            args.push(self.asm_operand(typed, scalar, span)?);
        }
        let mut operands: Vec<String> =
            (0..results.len()).map(|result| format!("{{{result}}}")).collect();
        for (constraint, expr) in &asm.inputs {
            let constraint = String::from_utf8_lossy(constraint).into_owned();
            if constraint == "n" {
                let (ty, bits) = self.constant(expr, "an operand \"n\" of asm")?;
                let signed = ty.scalar().is_some_and(Scalar::is_signed);
                let number = bits.cast_signed();
                operands.push(if signed { number.to_string() } else { bits.to_string() });
                continue;
            }
            operands.push(format!("{{{}}}", results.len() + args.len()));
            let typed = self.rvalue(expr)?;
            let Some(scalar) = scalar_of(&constraint) else {
                return self.constraint(&constraint, expr, false);
            };
            self.register(scalar, &typed.ty, expr)?;
            args.push(self.asm_operand(typed, scalar, expr.span)?);
        }
        let moved = both.iter().enumerate();
        let mut moves: String = moved
            .map(|(index, result)| format!("@move {{{result}}}, {{{}}};", results.len() + index))
            .collect();
        for result in early {
            moves.push_str(&format!("@move {{{result}}}, {{}};"));
        }
        let text = moves + &self.template(&text, &operands, span)?;
        let effect = if asm.volatile || asm.memory || results.is_empty() {
            Effect::Acts
        } else if span.file == self.library {
            // The library's own instructions have no side effects.
            Effect::None
        } else {
            // The instruction may load, count or shuffle: it may be dropped, but it stays in its
            // branch.
            Effect::Varies
        };
        let ty = results.first().copied().unwrap_or(Ty::None);
        let template = Template { text, results: results.clone(), effect };
        let first = self.builder.op(Op::Template(Rc::new(template)), ty, args);
        let mut values: Vec<Value> = vec![first];
        for (index, result) in results.iter().enumerate().skip(1) {
            values.push(self.builder.op(Op::Output(index as u32), *result, vec![first]));
        }
        for ((place, scalar, span), value) in places.into_iter().zip(values) {
            self.check_writable(&place.ty, span)?;
            let value = if scalar == Scalar::UnsignedShort {
                self.instruction("cvt.u32.u16 {0}, {1};", Ty::I32, vec![value], Effect::None)
            } else {
                value
            };
            let own = if scalar == Scalar::UnsignedInt || scalar == Scalar::UnsignedLong {
                value
            } else {
                let typed = super::Typed { ty: Type::Scalar(scalar), value };
                self.cast(typed, &place.ty.ty, span)?
            };
            self.store(&place.ty, place.address, own);
        }
        Ok(())
    }

    fn constraint(&mut self, constraint: &str, expr: &Expr, output: bool) -> Lowered<()> {
        let message = format!("the constraint \"{constraint}\" is unknown");
        let help = if output {
            "an output is \"=r\" (32 bits), \"=l\" (64), \"=f\" (float), \"=d\" (double) or \"=h\" (16); \"+\" \
             where it is also read"
        } else {
            "an input is \"r\" (32 bits), \"l\" (64), \"f\" (float), \"d\" (double), \"h\" (16), or \"n\" (a \
             constant)"
        };
        self.error(expr.span, message, help)
    }

    /// The type of the register for a constraint. The value must have the same size.
    fn register(&mut self, scalar: Scalar, ty: &Type, expr: &Expr) -> Lowered<Ty> {
        let pointer = matches!(ty, Type::Pointer(_));
        let fits = match ty.scalar() {
            Some(own) if scalar.is_floating() => own == scalar,
            Some(own) => {
                own.is_integer()
                    && (own.size() == scalar.size() || own.size() < 4 && scalar.size() == 4)
            }
            None => pointer && scalar == Scalar::UnsignedLong,
        };
        if !fits {
            let message = format!("this constraint doesn't fit `{}`", ty.name());
            return self.error(expr.span, message, "\"r\" is for int, \"l\" for long long and pointers, \"f\" for float, \"d\" for double");
        }
        Ok(if scalar == Scalar::UnsignedShort {
            Ty::B16
        } else {
            super::convert::scalar_ty(scalar)
        })
    }

    fn asm_operand(&mut self, typed: super::Typed, scalar: Scalar, span: Span) -> Lowered<Value> {
        let value = self.cast(typed, &Type::Scalar(scalar), span)?;
        if scalar == Scalar::UnsignedShort {
            return Ok(self.instruction(
                "cvt.u16.u32 {0}, {1};",
                Ty::B16,
                vec![value],
                Effect::None,
            ));
        }
        Ok(value)
    }

    /// Replaces `%0` by the operand, and `%%` by `%`.
    fn template(&mut self, text: &str, operands: &[String], span: Span) -> Lowered<String> {
        let mut template = String::new();
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '{' => template.push_str("{{"),
                '}' => template.push_str("}}"),
                '%' if characters.peek() == Some(&'%') => {
                    characters.next();
                    template.push('%');
                }
                '%' if characters.peek().is_some_and(char::is_ascii_digit) => {
                    let mut digits = String::new();
                    while let Some(digit) = characters.peek().filter(|c| c.is_ascii_digit()) {
                        digits.push(*digit);
                        characters.next();
                    }
                    let number: usize = digits.parse().unwrap_or(usize::MAX);
                    let Some(operand) = operands.get(number) else {
                        let message = format!("there is no operand %{digits}");
                        let help = "operands are counted from %0, outputs first";
                        return self.error(span, message, help);
                    };
                    template.push_str(operand);
                }
                '\n' | '\t' => template.push(' '),
                other => template.push(other),
            }
        }
        if !template.trim_end().ends_with([';', '}']) && !template.trim().is_empty() {
            template.push(';');
        }
        Ok(template)
    }
}
