//! Local variables, and their initialisation.

use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

use super::{Lowered, Lowerer, Lvalue, Symbol};
use crate::ir::{Global, Op, Space};
use crate::syntax::{Expr, ExprKind, TypeExpr, Variable};
use crate::types::{QualifiedType, Type};

impl Lowerer<'_> {
    pub(super) fn local_variables(&mut self, variables: &[Variable]) -> Lowered<()> {
        for variable in variables {
            self.set_place(variable.span);
            self.local_variable(variable)?;
        }
        Ok(())
    }

    fn local_variable(&mut self, variable: &Variable) -> Lowered<()> {
        let attributes = variable.attributes;
        if attributes.shared {
            return self.shared_variable(variable);
        }
        if attributes.constant || attributes.device || attributes.managed {
            let help = "move it out of the function";
            let message = "device variables must be declared outside of functions";
            return self.error(variable.span, message, help);
        }
        if attributes.is_static {
            let help = "use a `__device__` variable outside of the function";
            let message = "static variables in a function aren't supported";
            return self.error(variable.span, message, help);
        }
        if attributes.is_extern {
            let help = "dynamic shared memory is `extern __shared__ float name[];`";
            return self.error(variable.span, "`extern` in a function is for shared memory", help);
        }
        let twice = |scope: &HashMap<Rc<str>, Symbol>| {
            matches!(scope.get(&variable.name), Some(Symbol::Variable(_)))
        };
        if !variable.name.is_empty() && self.scopes.last().is_some_and(twice) {
            let message = format!("there are two variables `{}` here", variable.name);
            let help = "rename one, or omit the type to assign to the first";
            return self.error(variable.span, message, help);
        }
        if let Some((ty, reference)) = auto_of(&variable.ty) {
            return self.auto_variable(variable, ty, reference);
        }
        let (mut ty, reference) = self.resolve(&variable.ty, variable.span)?;
        if reference {
            let Some(init) = &variable.init else {
                let help = "write `= variable` after it";
                return self.error(variable.span, "a reference has to refer to something", help);
            };
            return self.bind_reference(&variable.name, ty, init);
        }
        self.deduce_length(&mut ty, variable)?;
        if ty.ty.size() == 0 {
            let message =
                format!("`{}` has the type `{}`, which has no size", variable.name, ty.ty.name());
            let help = "give it a length, or a type that has values";
            return self.error(variable.span, message, help);
        }
        if ty.ty.size() > super::aggregate::MAX_LOCAL_BYTES {
            let message = format!(
                "`{}` has {} bytes; a thread has 512 KiB of local memory",
                variable.name,
                ty.ty.size()
            );
            let help = "allocate global memory on the host, and pass a pointer";
            return self.error(variable.span, message, help);
        }
        // A constant with a known value is replaced by that value.
        if ty.is_const && ty.ty.is_integer() && !ty.is_volatile {
            if let Some(init) = &variable.init {
                if !matches!(init.kind, ExprKind::List(_) | ExprKind::Construct(..)) {
                    if variable.attributes.is_constexpr {
                        let bits = self.constant_bits(&ty.ty, init)?;
                        self.bind(&variable.name, Symbol::Constant(ty.ty, bits));
                        return Ok(());
                    }
                    let typed = self.rvalue(init)?;
                    self.check_widened(&ty.ty, init, &typed);
                    let value = self.convert(typed, &ty.ty, init.span)?;
                    if let Some(bits) = self.builder.function.constant_of(value) {
                        self.bind(&variable.name, Symbol::Constant(ty.ty, bits));
                        return Ok(());
                    }
                    let address = self.temporary(&ty.ty);
                    self.store(&ty, address, value);
                    self.bind(&variable.name, Symbol::Variable(Lvalue { ty, address }));
                    return Ok(());
                }
            } else {
                let message = format!("the constant `{}` has no value", variable.name);
                return self.error(variable.span, message, "write `= value` after it");
            }
        }
        let align = self.alignment(ty.ty.align(), variable.align.as_ref())?;
        let address = self.builder.slot(ty.ty.size(), align);
        let place = Lvalue { ty, address };
        if let (true, Some(init)) = (attributes.is_constexpr, &variable.init) {
            self.record_constant(&place, init)?;
        }
        match &variable.init {
            Some(init) => self.initialise(&place, init)?,
            None if Self::has_constructors(&place.ty.ty) => {
                self.construct_by(&place, &[], variable.span)?;
            }
            None => self.default_members(&place)?,
        }
        self.bind(&variable.name, Symbol::Variable(place));
        Ok(())
    }

    /// Records the value of a `constexpr` variable for constant expressions.
    fn record_constant(&mut self, place: &Lvalue, init: &Expr) -> Lowered<()> {
        let Op::Slot(slot) = self.builder.function.inst(place.address).op else { return Ok(()) };
        let bytes = self.constant_bytes(place, init)?;
        self.builder.function.slots[slot as usize].constant = bytes;
        Ok(())
    }

    fn auto_variable(
        &mut self,
        variable: &Variable,
        is_const: bool,
        reference: bool,
    ) -> Lowered<()> {
        let Some(init) = &variable.init else {
            let message = "`auto` needs an initial value";
            return self.error(variable.span, message, "write `= value` after it");
        };
        if reference {
            let mut place = self.place(init, "a reference")?;
            place.ty.is_const |= is_const;
            self.bind(&variable.name, Symbol::Variable(place));
            return Ok(());
        }
        let typed = self.rvalue(init)?;
        if typed.ty == Type::Void {
            return self.error(init.span, "nothing is returned here", "");
        }
        let address = self.temporary(&typed.ty);
        let mut place = Lvalue { ty: typed.ty.clone().into(), address };
        self.store_converted(&place, typed, init.span)?;
        place.ty.is_const = is_const;
        self.bind(&variable.name, Symbol::Variable(place));
        Ok(())
    }

    /// Binds a reference to a place. A `const` reference to a value is bound to a temporary.
    pub(super) fn bind_reference(
        &mut self,
        name: &Rc<str>,
        ty: QualifiedType,
        init: &Expr,
    ) -> Lowered<()> {
        match self.operand(init)? {
            super::expression::Operand::Lvalue(place)
                if Self::reference_can_bind(&place.ty.ty, &ty.ty) =>
            {
                if place.ty.is_const && !ty.is_const {
                    let help = "make the reference `const` too";
                    return self.error(init.span, "this is `const`, and the reference isn't", help);
                }
                self.bind(name, Symbol::Variable(Lvalue { ty, address: place.address }));
            }
            other if ty.is_const => {
                let typed = self.read(other);
                let address = self.temporary(&ty.ty);
                let place = Lvalue { ty: ty.ty.clone().into(), address };
                self.store_converted(&place, typed, init.span)?;
                self.bind(name, Symbol::Variable(Lvalue { ty, address }));
            }
            _ => {
                let message =
                    format!("a reference to `{}` needs a variable of that type", ty.ty.name());
                let help = "pass a variable, or make the reference `const`";
                return self.error(init.span, message, help);
            }
        }
        Ok(())
    }

    /// Sets the length of an array such as `int a[] = {1, 2}`; an error if there is no initial
    /// value.
    fn deduce_length(&mut self, ty: &mut QualifiedType, variable: &Variable) -> Lowered<()> {
        if let Some(init) = &variable.init {
            super::global::deduce_length(ty, init);
        }
        if let Type::Array(_, 0) = &ty.ty {
            let message = format!("the array `{}` has no length", variable.name);
            return self.error(variable.span, message, "write it between the brackets");
        }
        Ok(())
    }

    /// Stores an initial value to a place.
    pub(super) fn initialise(&mut self, place: &Lvalue, init: &Expr) -> Lowered<()> {
        let open = place.ty.clone().mutable();
        let place = Lvalue { ty: open, address: place.address };
        match (&init.kind, &place.ty.ty) {
            (ExprKind::List(elements), Type::Array(element, count)) => {
                if elements.len() as u64 > *count {
                    let message = format!("{} values for an array of {count}", elements.len());
                    let help = "delete the extra values, or make it longer";
                    return self.error(init.span, message, help);
                }
                if (elements.len() as u64) < *count {
                    self.clear(&place.ty, place.address);
                }
                let size = element.ty.size();
                for (index, (_, value)) in elements.iter().enumerate() {
                    let address = self.builder.offset(place.address, index as u64 * size);
                    let element = (**element).clone().mutable();
                    self.initialise(&Lvalue { ty: element, address }, value)?;
                }
                Ok(())
            }
            (ExprKind::List(elements), Type::Struct(_)) if Self::has_constructors(&place.ty.ty) => {
                let arguments: Vec<Expr> = elements.iter().map(|(_, one)| one.clone()).collect();
                self.construct_by(&place, &arguments, init.span)
            }
            (ExprKind::List(elements), Type::Struct(own)) => {
                let own = self.complete(own);
                if elements.len() > own.fields.len() {
                    let message =
                        format!("{} values for a struct of {}", elements.len(), own.fields.len());
                    return self.error(init.span, message, "delete the extra values");
                }
                if elements.len() < own.fields.len() {
                    self.clear(&place.ty, place.address);
                    self.default_members(&place)?;
                }
                for (index, (name, value)) in elements.iter().enumerate() {
                    let name = name.clone().unwrap_or_else(|| own.fields[index].name.clone());
                    let field = self.field(&own, &name, &place.ty, place.address, value.span)?;
                    self.initialise(&field, value)?;
                }
                Ok(())
            }
            (ExprKind::List(elements), _) => match elements.as_slice() {
                [] => {
                    self.clear(&place.ty, place.address);
                    Ok(())
                }
                [(None, one)] => self.initialise(&place, one),
                _ => {
                    let message = format!("a `{}` has one initial value", place.ty.ty.name());
                    self.error(init.span, message, "delete the extra values")
                }
            },
            (ExprKind::String(bytes), Type::Array(element, count)) if element.ty.size() == 1 => {
                if bytes.len() as u64 > *count {
                    let message = "the text is longer than the array";
                    return self.error(init.span, message, "make the array longer");
                }
                self.clear(&place.ty, place.address);
                for (index, byte) in bytes.iter().enumerate() {
                    let address = self.builder.offset(place.address, index as u64);
                    let value = self.builder.integer(crate::ir::Ty::I32, i64::from(*byte));
                    self.builder.store(crate::ir::Memory::U8, false, address, value);
                }
                Ok(())
            }
            (ExprKind::Construct(ty, arguments), _) => {
                // The variable is constructed: `T x(a, b)`, or `T x = T(a, b)`.
                let typed = self.construct(ty, arguments, init.span)?;
                self.store_converted(&place, typed, init.span)
            }
            (_, Type::Array(..)) => {
                self.error(init.span, "an array needs a list of values", "write `= {a, b, …}`")
            }
            _ => {
                let typed = self.rvalue(init)?;
                self.check_widened(&place.ty.ty, init, &typed);
                self.store_converted(&place, typed, init.span)
            }
        }
    }

    fn shared_variable(&mut self, variable: &Variable) -> Lowered<()> {
        let (mut ty, reference) = self.resolve(&variable.ty, variable.span)?;
        let dynamic = variable.attributes.is_extern;
        if reference {
            return self.error(variable.span, "shared memory holds no references", "use a pointer");
        }
        if variable.init.is_some() {
            let help = "let one thread write it, then wait with `__syncthreads()`";
            return self.error(variable.span, "shared memory can't be initialised", help);
        }
        let unsized_array = matches!(ty.ty, Type::Array(_, 0));
        if dynamic != unsized_array {
            let help =
                "static: `__shared__ float name[32];`, dynamic: `extern __shared__ float name[];`";
            return self.error(variable.span, "shared memory has a length, or is `extern`", help);
        }
        if ty.ty.size() > 227 * 1024 {
            let message = format!(
                "`{}` has {} bytes; a block has 48 KiB of static shared memory",
                variable.name,
                ty.ty.size()
            );
            return self.error(variable.span, message, "take a smaller tile");
        }
        let align = ty.ty.align().max(if dynamic { 16 } else { 4 });
        let align = self.alignment(align, variable.align.as_ref())?;
        if dynamic {
            self.dynamic_type(&variable.name, &ty, variable.span)?;
        }
        ty.is_const = false;
        let kernel = self.builder.function.name.clone();
        let name =
            if dynamic { variable.name.to_string() } else { format!("{kernel}_{}", variable.name) };
        // All arrays of dynamic shared memory are the same memory.
        let known = self.module.globals.iter().position(|global| global.dynamic && dynamic);
        let number = match known {
            Some(known) => {
                let global = &mut self.module.globals[known];
                global.align = global.align.max(align);
                known as u32
            }
            None => self.add_global(Global {
                name,
                space: Space::Shared,
                size: ty.ty.size(),
                align,
                init: None,
                dynamic,
                visible: false,
            }),
        };
        self.bind(&variable.name, Symbol::Global(number, ty));
        Ok(())
    }
}

/// For a type that is `auto`, returns whether it is constant, and whether it is a reference.
fn auto_of(ty: &TypeExpr) -> Option<(bool, bool)> {
    match ty {
        TypeExpr::Auto => Some((false, false)),
        TypeExpr::Qualified { inner, is_const, .. } => {
            auto_of(inner).map(|(constant, reference)| (constant || *is_const, reference))
        }
        TypeExpr::Reference(inner) => auto_of(inner).map(|(constant, _)| (constant, true)),
        TypeExpr::Pointer(inner) => auto_of(inner).map(|_| (false, false)),
        _ => None,
    }
}
