//! Variables outside of functions.

use std::rc::Rc;

use super::convert::memory_of;
use super::{Lowered, Lowerer, Symbol};
use crate::diagnostic::Problem;
use crate::ir::{Function, Global, Space};
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, Variable};
use crate::types::{QualifiedType, Type};

/// The maximum number of values that are kept from constant expressions outside of functions.
const MAX_SCRATCH: usize = 10_000;
/// The maximum size in bytes of a variable with initial values: PTX spells out each byte.
const MAX_INITIAL_BYTES: u64 = 1 << 24;

/// Sets the length of an array such as `int a[] = {1, 2}` to the length of its initial value.
pub(super) fn deduce_length(ty: &mut QualifiedType, init: &Expr) {
    if let Type::Array(element, 0) = &ty.ty {
        let length = match &init.kind {
            ExprKind::List(elements) => elements.len() as u64,
            ExprKind::String(bytes) => bytes.len() as u64 + 1,
            _ => 0,
        };
        ty.ty = Type::Array(element.clone(), length);
    }
}

impl Lowerer<'_> {
    /// Adds a variable to the module, and makes its name unique.
    pub(super) fn add_global(&mut self, mut global: Global) -> u32 {
        global.name = super::mangle::ascii(&global.name);
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
        if let Some(init) = &variable.init {
            deduce_length(&mut ty, init);
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
            let help = "use a `const __restrict__` pointer to global memory";
            return self.error(variable.span, message, help);
        }
        if space != Space::Shared {
            self.check_ptx_name(&variable.name, variable.span)?;
        }
        let init = match &variable.init {
            Some(init) if !attributes.shared => Some(self.initial_bytes(&ty.ty, init)?),
            Some(_) => {
                let message = "shared memory can't be initialised";
                return self.error(variable.span, message, "let a thread write it");
            }
            None => None,
        };
        let align = ty.ty.align().max(if dynamic { 16 } else { 1 });
        let align = self.alignment(align, variable.align.as_ref())?;
        if dynamic {
            self.dynamic_type(&variable.name, &ty, variable.span)?;
        }
        let number = self.add_global(Global {
            name: super::mangle::variable(&variable.name),
            space,
            size: ty.ty.size(),
            align,
            init,
            dynamic,
            // Variables of the library are emitted only if a kernel uses them.
            visible: space != Space::Shared && variable.span.file != self.library,
        });
        if attributes.is_constexpr {
            self.constexpr_globals.insert(number);
        }
        ty.is_const |= space == Space::Constant;
        self.bind(&variable.name, Symbol::Global(number, ty));
        Ok(())
    }

    /// Checks a name by which the host finds a kernel or a variable: it is the same in PTX, which
    /// only has ASCII names.
    pub(super) fn check_ptx_name(&mut self, name: &str, span: Span) -> Lowered<()> {
        if name.is_ascii() {
            return Ok(());
        }
        let message = format!("`{name}` has a letter that PTX doesn't allow in names");
        self.error(span, message, "write the name in ASCII letters, digits and `_`")
    }

    /// A host constant can be used on the device; any other host variable is an error.
    fn host_variable(&mut self, variable: &Variable, ty: QualifiedType) -> Lowered<()> {
        let Some(init) = variable.init.as_ref().filter(|_| ty.is_const) else {
            let message = format!("`{}` is a variable of the host", variable.name);
            let help = "write `__device__` before it, or `__constant__` if kernels only read it";
            return self.error(variable.span, message, help);
        };
        if ty.ty.is_aggregate() {
            let number = self.constant_array(&variable.name, &variable.name, ty, init)?;
            if !variable.attributes.is_constexpr {
                self.constexpr_globals.remove(&number);
            }
            return Ok(());
        }
        let bits = self.constant_bits(&ty.ty, init)?;
        self.bind(&variable.name, Symbol::Constant(ty.ty, bits));
        Ok(())
    }

    /// Adds a `constexpr` array or struct to the module under `full_name`, binds `name` to it, and
    /// returns its number.
    pub(super) fn constant_array(
        &mut self,
        full_name: &str,
        name: &Rc<str>,
        ty: QualifiedType,
        init: &Expr,
    ) -> Lowered<u32> {
        let bytes = self.initial_bytes(&ty.ty, init)?;
        let number = self.add_global(Global {
            name: super::mangle::variable(full_name),
            space: Space::Global,
            size: ty.ty.size(),
            align: ty.ty.align(),
            init: Some(bytes),
            dynamic: false,
            visible: false,
        });
        self.constexpr_globals.insert(number);
        self.bind(name, Symbol::Global(number, ty));
        Ok(number)
    }

    /// Checks that a name of dynamic shared memory always has the same type, as C++ requires of
    /// `extern` variables.
    pub(super) fn dynamic_type(
        &mut self,
        name: &Rc<str>,
        ty: &QualifiedType,
        span: Span,
    ) -> Lowered<()> {
        // In a function, the variable belongs to the enclosing namespace.
        let around = self.frames.last().map(|frame| match self.complete_structs.get(&frame.own) {
            Some(own) => own.name.split('<').next().unwrap_or_default().to_owned(),
            None => frame.name.to_string(),
        });
        let around = around.and_then(|own| own.rfind("::").map(|end| own[..end + 2].to_owned()));
        let full_name: Rc<str> = format!("{}{name}", around.unwrap_or_default()).into();
        let Some((known, place)) = self.dynamic_types.get(&full_name).cloned() else {
            self.dynamic_types.insert(full_name, (ty.ty.clone(), span));
            return Ok(());
        };
        let (Type::Array(before, _), Type::Array(now, _)) = (&known, &ty.ty) else { return Ok(()) };
        if before == now {
            return Ok(());
        }
        let message = format!(
            "`{name}` has elements of type `{}` here, and `{}` where it was declared before",
            now.name(),
            before.name()
        );
        let help = "`extern __shared__` has one type under each name: declare it as `unsigned char`, and cast \
                    its address, or use a different name for each type";
        let problem = Problem::new(self.place_of(span), message).help(help);
        self.fail(if place == span {
            problem.label("this template is instantiated for both types".to_owned())
        } else {
            problem
        })
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
            None => self.not_constant(init.span),
        }
    }

    fn not_constant<T>(&mut self, span: Span) -> Lowered<T> {
        let message = "the initial value of a variable outside of functions has to be a constant";
        self.error(span, message, "use numbers, or copy it from the host")
    }

    /// The bytes of a variable's initial value.
    fn initial_bytes(&mut self, ty: &Type, init: &Expr) -> Lowered<Vec<u8>> {
        if ty.size() > MAX_INITIAL_BYTES {
            let message = format!(
                "a variable of {} bytes has initial values; at most {MAX_INITIAL_BYTES} can have them",
                ty.size()
            );
            return self.error(init.span, message, "let the host or a kernel fill it");
        }
        let mut bytes = vec![0; ty.size() as usize];
        self.bytes_of(ty, init, &mut bytes)?;
        Ok(bytes)
    }

    fn bytes_of(&mut self, ty: &Type, init: &Expr, bytes: &mut [u8]) -> Lowered<()> {
        match (&init.kind, ty) {
            (ExprKind::List(elements), Type::Array(element, count)) => {
                if elements.len() as u64 > *count {
                    let message = format!("{} values for an array of {count}", elements.len());
                    return self.error(init.span, message, "delete the extra values");
                }
                let size = element.ty.size() as usize;
                for ((_, value), place) in elements.iter().zip(bytes.chunks_mut(size.max(1))) {
                    self.bytes_of(&element.ty, value, place)?;
                }
                Ok(())
            }
            (ExprKind::List(elements), Type::Struct(own)) if !Self::has_constructors(ty) => {
                for (index, (name, value)) in elements.iter().enumerate() {
                    let field = match name {
                        Some(name) => own.member(name),
                        None => own.fields.get(index).cloned(),
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
            (ExprKind::List(_) | ExprKind::Construct(..), Type::Struct(_)) => {
                let address = self.temporary(ty);
                let place = super::Lvalue { ty: ty.clone().into(), address };
                let Some(found) = self.constant_bytes(&place, init)? else {
                    return self.not_constant(init.span);
                };
                bytes.copy_from_slice(&found);
                Ok(())
            }
            (_, Type::Array(..) | Type::Struct(_)) => {
                self.error(init.span, "this needs a list of values", "write `= {a, b, …}`")
            }
            _ => {
                let value = self.constant_bits(ty, init)?;
                // Values computed for earlier elements aren't needed any more.
                if self.frames.is_empty() && self.builder.function.values.len() > MAX_SCRATCH {
                    self.builder.function = Function::new(String::new(), init.span);
                    self.builder.at = Function::ENTRY;
                }
                let size = memory_of(ty).bytes() as usize;
                if matches!(ty, Type::Pointer(_)) && value != 0 {
                    let message = "a pointer can't be initialised here";
                    return self.error(init.span, message, "set it in a kernel");
                }
                bytes[..size].copy_from_slice(&value.to_le_bytes()[..size]);
                Ok(())
            }
        }
    }
}
