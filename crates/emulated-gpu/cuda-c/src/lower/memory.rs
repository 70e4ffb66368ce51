//! Memory accesses that are written as calls: accesses with a cache hint, and `memcpy` and
//! `memset`.

use super::expression::Operand;
use super::{Lowered, Lowerer, Lvalue, Recognised, Typed};
use crate::ir::{Memory, Value};
use crate::source::Span;
use crate::syntax::Expr;
use crate::types::{QualifiedType, Type};

/// The maximum number of accesses that a call of `memcpy` is expanded to.
const MAX_ACCESSES: u64 = 1024;

impl Lowerer<'_> {
    pub(super) fn memory_call(&mut self, name: &str, arguments: &[Expr], span: Span) -> Recognised {
        match name {
            "__ldg" | "__ldca" | "__ldcg" | "__ldcs" | "__ldlu" | "__ldcv" => {
                self.check_argument_count(name, arguments, 1, span)?;
                let place = self.pointed_to(name, &arguments[0])?;
                if let Type::Struct(_) = place.ty.ty {
                    let address = self.temporary(&place.ty.ty);
                    self.copy(&place.ty, address, place.address);
                    return Ok(Some(Typed { ty: place.ty.ty, value: address }));
                }
                Ok(Some(self.read(Operand::Lvalue(place))))
            }
            "__stwb" | "__stcg" | "__stcs" | "__stwt" => {
                self.check_argument_count(name, arguments, 2, span)?;
                let place = self.pointed_to(name, &arguments[0])?;
                self.check_writable(&place.ty, arguments[0].span)?;
                let typed = self.rvalue(&arguments[1])?;
                self.store_converted(&place, typed, arguments[1].span)?;
                Ok(Some(self.void()))
            }
            "memcpy" | "memmove" | "memset" => self.copy_bytes(name, arguments, span).map(Some),
            _ => Ok(None),
        }
    }

    fn pointed_to(&mut self, name: &str, pointer: &Expr) -> Lowered<Lvalue> {
        let typed = self.rvalue(pointer)?;
        let Type::Pointer(to) = &typed.ty else {
            let does = if name.starts_with("__ld") { "reads" } else { "writes" };
            let message = format!("`{name}` {does} the target of a pointer");
            return self.error(pointer.span, message, "pass an address");
        };
        Ok(Lvalue { ty: self.completed(to), address: typed.value })
    }

    /// Lowers `memcpy(to, from, 16)` and `memset(to, 0, 16)`.
    fn copy_bytes(&mut self, name: &str, arguments: &[Expr], span: Span) -> Lowered<Typed> {
        self.check_argument_count(name, arguments, 3, span)?;
        let sets = name == "memset";
        let to = self.pointed_to(name, &arguments[0])?;
        self.check_writable(&to.ty, arguments[0].span)?;
        let mut unit = unit_of(&to.ty);
        let from: Value = if sets {
            let value = self.number(&arguments[1], crate::types::Scalar::Int)?;
            if self.builder.function.constant_of(value) != Some(0) {
                let help = "write a loop over the elements";
                return self.error(arguments[1].span, "`memset` only supports zeros", help);
            }
            value
        } else {
            let from = self.pointed_to(name, &arguments[1])?;
            unit = unit.min(unit_of(&from.ty));
            from.address
        };
        let (_, count) = self.constant(&arguments[2], "the number of bytes")?;
        while !count.is_multiple_of(unit) {
            unit /= 2;
        }
        if count / unit > MAX_ACCESSES {
            let message = format!("`{name}` of {count} bytes would be {} accesses", count / unit);
            return self.error(span, message, "write a loop over the elements");
        }
        let memory = match unit {
            8 => Memory::B64,
            4 => Memory::B32,
            2 => Memory::U16,
            _ => Memory::U8,
        };
        // All values are loaded before the first is stored, because the ranges may overlap.
        let mut values = Vec::new();
        for at in (0..count).step_by(unit as usize) {
            values.push(if sets {
                self.builder.function.constant(memory.ty(), 0)
            } else {
                let address = self.builder.offset(from, at);
                self.builder.load(memory, false, address)
            });
        }
        for (at, value) in (0..count).step_by(unit as usize).zip(values) {
            let address = self.builder.offset(to.address, at);
            self.builder.store(memory, false, address, value);
        }
        let ty = Type::pointer(Type::Void.into());
        Ok(Typed { ty, value: to.address })
    }
}

/// The number of bytes that can be moved by one access, from the alignment of the type.
fn unit_of(ty: &QualifiedType) -> u64 {
    ty.ty.align().clamp(1, 8)
}
