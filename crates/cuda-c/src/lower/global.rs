//! Variables outside of functions.

use super::convert::memory_of;
use super::{Lowered, Lowerer, Symbol};
use crate::ir::{Global, Space};
use crate::syntax::{Expr, ExprKind, Variable};
use crate::types::{QualifiedType, Type};

impl Lowerer<'_> {
    /// Adds a variable under a name that no other has.
    pub(super) fn add_global(&mut self, mut global: Global) -> u32 {
        let base = global.name.clone();
        let mut count = 1;
        while !self.used_names.insert(global.name.clone()) {
            count += 1;
            global.name = format!("{base}_{count}");
        }
        self.module.globals.push(global);
        (self.module.globals.len() - 1) as u32
    }

    pub(super) fn globals(&mut self, variables: &[Variable]) -> Lowered<()> {
        for variable in variables {
            self.global(variable)?;
        }
        Ok(())
    }

    fn global(&mut self, variable: &Variable) -> Lowered<()> {
        let attributes = variable.attributes;
        let mut ty = self.plain_type(&variable.ty, variable.span)?;
        if let (Type::Array(element, 0), Some(init)) = (&ty.ty, &variable.init) {
            let length = match &init.kind {
                ExprKind::List(elements) => elements.len() as u64,
                ExprKind::String(bytes) => bytes.len() as u64 + 1,
                _ => 0,
            };
            ty.ty = Type::Array(element.clone(), length);
        }
        let space = match () {
            () if attributes.shared => Space::Shared,
            () if attributes.constant => Space::Constant,
            () if attributes.device || attributes.managed => Space::Global,
            () => return self.host_variable(variable, ty),
        };
        let dynamic = attributes.shared && attributes.is_extern;
        if ty.ty.size() == 0 && !dynamic {
            let message = format!("`{}` has no size", variable.name);
            return self.error(variable.span, message, "give the array a length");
        }
        if space == Space::Constant && ty.ty.size() > 65536 {
            let message = format!(
                "`{}` has {} bytes; there are 64 KiB of constant memory",
                variable.name,
                ty.ty.size()
            );
            return self.error(
                variable.span,
                message,
                "use a `const __restrict__` pointer to global memory",
            );
        }
        let init = match &variable.init {
            Some(init) if !attributes.shared => {
                let mut bytes = vec![0; ty.ty.size() as usize];
                self.bytes_of(&ty.ty, init, &mut bytes)?;
                Some(bytes)
            }
            Some(_) => {
                return self.error(
                    variable.span,
                    "shared memory can't be initialised",
                    "let a thread write it",
                );
            }
            None => None,
        };
        let number = self.add_global(Global {
            name: super::mangle::variable(&variable.name),
            space,
            size: ty.ty.size(),
            align: ty.ty.align().max(if dynamic { 16 } else { 1 }),
            init,
            dynamic,
            // What the library needs is there where a kernel uses it.
            visible: space != Space::Shared && variable.span.file != self.library,
        });
        ty.is_const |= space == Space::Constant;
        self.bind(&variable.name, Symbol::Global(number, ty));
        Ok(())
    }

    /// A constant is one on the device too; any other variable of the host isn't there.
    fn host_variable(&mut self, variable: &Variable, ty: QualifiedType) -> Lowered<()> {
        let Some(init) = variable.init.as_ref().filter(|_| ty.is_const) else {
            let message = format!("`{}` is a variable of the host", variable.name);
            let help = "write `__device__` before it, or `__constant__` where kernels only read it";
            return self.error(variable.span, message, help);
        };
        if ty.ty.is_aggregate() {
            let mut bytes = vec![0; ty.ty.size() as usize];
            self.bytes_of(&ty.ty, init, &mut bytes)?;
            let number = self.add_global(Global {
                name: super::mangle::variable(&variable.name),
                space: Space::Global,
                size: ty.ty.size(),
                align: ty.ty.align(),
                init: Some(bytes),
                dynamic: false,
                visible: false,
            });
            self.bind(&variable.name, Symbol::Global(number, ty));
            return Ok(());
        }
        let bits = self.constant_bits(&ty.ty, init)?;
        self.bind(&variable.name, Symbol::Constant(ty.ty, bits));
        Ok(())
    }

    pub(super) fn constant_bits(&mut self, ty: &Type, init: &Expr) -> Lowered<u64> {
        let wanted = |lowerer: &mut Self| {
            let inner = match &init.kind {
                ExprKind::List(elements) if elements.len() == 1 => &elements[0].1,
                _ => init,
            };
            let typed = lowerer.rvalue(inner)?;
            lowerer.convert(typed, ty, init.span)
        };
        let (_, bits) = self.evaluated(wanted, |value| *value)?;
        match bits {
            Some(bits) => Ok(bits),
            None => self.error(
                init.span,
                "what a variable outside of functions begins with has to be known when it is compiled",
                "use numbers, or copy it from the host",
            ),
        }
    }

    fn bytes_of(&mut self, ty: &Type, init: &Expr, bytes: &mut [u8]) -> Lowered<()> {
        match (&init.kind, ty) {
            (ExprKind::List(elements), Type::Array(element, count)) => {
                if elements.len() as u64 > *count {
                    let message = format!("{} values for an array of {count}", elements.len());
                    return self.error(init.span, message, "delete what is too much");
                }
                let size = element.ty.size() as usize;
                for ((_, value), place) in elements.iter().zip(bytes.chunks_mut(size.max(1))) {
                    self.bytes_of(&element.ty, value, place)?;
                }
                Ok(())
            }
            (ExprKind::List(elements), Type::Struct(own)) => {
                for (index, (name, value)) in elements.iter().enumerate() {
                    let field = match name {
                        Some(name) => own.fields.iter().find(|field| field.name == *name),
                        None => own.fields.get(index),
                    };
                    let Some(field) = field else {
                        return self.error(value.span, "the struct has no such member", "");
                    };
                    let (start, size) = (field.offset as usize, field.ty.ty.size() as usize);
                    self.bytes_of(&field.ty.ty, value, &mut bytes[start..start + size])?;
                }
                Ok(())
            }
            (ExprKind::String(text), Type::Array(element, count)) if element.ty.size() == 1 => {
                if text.len() as u64 > *count {
                    return self.error(init.span, "the text is longer than the array", "");
                }
                bytes[..text.len()].copy_from_slice(text);
                Ok(())
            }
            (_, Type::Array(..) | Type::Struct(_)) => {
                self.error(init.span, "this begins with a list of values", "write `= {a, b, …}`")
            }
            _ => {
                let value = self.constant_bits(ty, init)?;
                let size = memory_of(ty).bytes() as usize;
                if matches!(ty, Type::Pointer(_)) && value != 0 {
                    return self.error(
                        init.span,
                        "a pointer can't be initialised here",
                        "set it in a kernel",
                    );
                }
                bytes[..size].copy_from_slice(&value.to_le_bytes()[..size]);
                Ok(())
            }
        }
    }
}
