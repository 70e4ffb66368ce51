//! `printf` and `assert`, which call the driver.

use super::{Lowered, Lowerer, Typed};
use crate::diagnostic::Problem;
use crate::ir::{Callee, Op, Passed, Ty, Value};
use crate::source::Span;
use crate::syntax::{Expr, ExprKind};
use crate::types::{Scalar, Type};

impl Lowerer<'_> {
    pub(super) fn printf(&mut self, arguments: &[Expr], span: Span) -> Lowered<Typed> {
        let Some((format, rest)) = arguments.split_first() else {
            return self.error(span, "`printf` needs a text", "write `printf(\"…\\n\")`");
        };
        let ExprKind::String(text) = &format.kind else {
            let help = "write `printf(\"%s\", …)`";
            let message = "the format of `printf` has to be a text in quotes";
            return self.error(format.span, message, help);
        };
        let wanted = conversions(text);
        if wanted.len() != rest.len() {
            let message = format!(
                "the text has {} placeholders, and {} values are given",
                wanted.len(),
                rest.len()
            );
            self.warn(
                Problem::warning(span, message)
                    .help("each `%` takes one value; `%%` is a percent sign"),
            );
        }
        let mut values = Vec::new();
        for (index, argument) in rest.iter().enumerate() {
            let typed = self.rvalue(argument)?;
            self.check_conversion(wanted.get(index), &typed, argument.span);
            let ty = match &typed.ty {
                Type::Scalar(Scalar::Float | Scalar::Half) => Type::Scalar(Scalar::Double),
                Type::Scalar(scalar) | Type::Enum(_, scalar) => Type::Scalar(scalar.promoted()),
                Type::Pointer(_) | Type::Null => typed.ty.clone(),
                other => {
                    let message = format!(
                        "`printf` takes numbers and pointers, and this is `{}`",
                        other.name()
                    );
                    return self.error(argument.span, message, "print its members one by one");
                }
            };
            let value = self.cast(typed, &ty, argument.span)?;
            values.push((ty, value));
        }
        let mut size = 0;
        let offsets: Vec<u64> = values
            .iter()
            .map(|(ty, _)| {
                let at = u64::next_multiple_of(size, ty.size());
                size = at + ty.size();
                at
            })
            .collect();
        let buffer = if values.is_empty() {
            self.builder.integer(Ty::I64, 0)
        } else {
            let buffer = self.builder.slot(size.next_multiple_of(8), 8);
            for ((ty, value), offset) in values.iter().zip(offsets) {
                let place = self.builder.offset(buffer, offset);
                self.store(&ty.clone().into(), place, *value);
            }
            buffer
        };
        let place = self.string(text);
        let value = self.call_driver("vprintf", Ty::I32, vec![place.address, buffer]);
        Ok(Typed { ty: Type::Scalar(Scalar::Int), value })
    }

    fn check_conversion(&mut self, wanted: Option<&(char, bool)>, typed: &Typed, span: Span) {
        let Some((conversion, long)) = wanted else { return };
        let (scalar, name) = (typed.ty.scalar(), typed.ty.name());
        let shows = |what| format!("`%{conversion}` shows {what}, and this is `{name}`");
        let (message, help) = match conversion {
            'f' | 'e' | 'g' | 'a' | 'F' | 'E' | 'G' if !scalar.is_some_and(Scalar::is_floating) => {
                (shows("a floating-point number"), "use %d, %u or %lld, or cast it to float".into())
            }
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'c' if typed.ty.is_integer() => {
                let wide = typed.ty.size() == 8;
                if wide == *long {
                    return;
                }
                let prefix = |long| if long { "ll" } else { "" };
                let message = format!("`%{}{conversion}` doesn't fit `{name}`", prefix(*long));
                (message, format!("write `%{}{conversion}`", prefix(wide)))
            }
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'c' => {
                (shows("an integer"), "use %f for floats, %p for pointers".into())
            }
            's' | 'p' if !matches!(typed.ty, Type::Pointer(_) | Type::Null) => {
                (shows("the target of a pointer"), "use %d or %f".into())
            }
            _ => return,
        };
        self.warn(Problem::warning(span, message).help(help));
    }

    /// Lowers the call that `assert` makes if its condition is false.
    pub(super) fn assert_fail(&mut self, arguments: &[Expr], span: Span) -> Lowered<Typed> {
        self.check_argument_count("__assert_fail", arguments, 3, span)?;
        let mut values = Vec::new();
        for argument in arguments {
            let typed = self.rvalue(argument)?;
            values.push(typed.value);
        }
        let name: std::rc::Rc<[u8]> =
            self.frames.last().map_or_else(Vec::new, |frame| frame.name.as_bytes().to_vec()).into();
        let function = self.string(&name).address;
        let one = self.builder.integer(Ty::I64, 1);
        values.extend([function, one]);
        self.call_driver("__assertfail", Ty::None, values);
        Ok(self.void())
    }

    fn call_driver(&mut self, name: &str, result: Ty, values: Vec<Value>) -> Value {
        let takes = values.iter().map(|value| Passed::Value(self.builder.ty(*value))).collect();
        let gives = (result != Ty::None).then_some(Passed::Value(result));
        let callee = Callee { name: name.into(), parameters: takes, result: gives };
        self.builder.op(Op::Call(callee.into()), result, values)
    }
}

/// The conversions in a format string: the letter of each, and whether it has an `l`.
fn conversions(text: &[u8]) -> Vec<(char, bool)> {
    let mut values = Vec::new();
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            continue;
        }
        let mut long = false;
        for next in bytes.by_ref() {
            match next {
                b'%' => break,
                b'l' | b'z' | b'j' => long = true,
                b'*' => values.push(('d', false)),
                letter if letter.is_ascii_alphabetic() && letter != b'h' => {
                    values.push((letter as char, long));
                    break;
                }
                _ => {}
            }
        }
    }
    values
}
