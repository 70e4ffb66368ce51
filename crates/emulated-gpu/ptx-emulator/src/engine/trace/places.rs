//! Descriptions of addresses: a buffer passed in a parameter, or a variable, and an offset.

use std::collections::HashMap;

use super::origin::slot_of;
use super::view::View;
use crate::engine::core::Core;
use crate::engine::image::{Image, VariablePlace};
use crate::engine::state_space::{LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES};
use crate::program::{
    Address, Asynchronous, Function, FunctionId, Matrix, ObjectAction, Op, Operand, Space, Symbol,
};
use crate::trace::Value;

/// The distance from the end of an allocation up to which an address is shown as an offset into it.
const MAX_DISTANCE: u64 = 256;

impl View {
    /// The memory that an instruction reads, and the memory that it writes.
    pub(super) fn memory(
        &self,
        core: &Core<'_>,
        id: FunctionId,
        function: &Function,
        op: &Op,
    ) -> (Option<Value>, Option<Value>) {
        let place = |space: Space, address: &Address| {
            Some(Value::Memory(self.address(core, id, function, space, address)))
        };
        match op {
            Op::Load { space, address, .. } => (place(*space, address), None),
            Op::Store { space, address, .. } => (None, place(*space, address)),
            Op::Atomic { space, address, d: Some(Some(_)), .. } => (place(*space, address), None),
            Op::Atomic { space, address, .. } => (None, place(*space, address)),
            Op::Asynchronous(asynchronous) => match &**asynchronous {
                Asynchronous::Copy { to, from, .. } => {
                    (place(Space::Global, from), place(Space::Shared, to))
                }
                Asynchronous::Bulk { to: (to_space, to), from: (from_space, from), .. } => {
                    (place(*from_space, from), place(*to_space, to))
                }
                Asynchronous::Barrier { action: ObjectAction::Test { .. }, space, address } => {
                    (place(*space, address), None)
                }
                Asynchronous::Barrier { space, address, .. } => (None, place(*space, address)),
                _ => (None, None),
            },
            Op::Matrix(matrix) => match matrix {
                Matrix::Load { space, address, .. }
                | Matrix::LoadFragment { space, address, .. } => (place(*space, address), None),
                Matrix::Store { space, address, .. }
                | Matrix::StoreFragment { space, address, .. } => (None, place(*space, address)),
                Matrix::Multiply(_) | Matrix::Transpose { .. } => (None, None),
            },
            _ => (None, None),
        }
    }

    fn address(
        &self,
        core: &Core<'_>,
        id: FunctionId,
        function: &Function,
        space: Space,
        address: &Address,
    ) -> String {
        let value = match address.base {
            Operand::Address(symbol, offset) => {
                let variable = match symbol {
                    Symbol::Local(local) => function.variables.get(local.0 as usize),
                    Symbol::Module(global) => core.image.module.variables.get(global.0 as usize),
                };
                let name = variable.map_or("?", |variable| &variable.name);
                return with_offset(short_name(name), offset.wrapping_add(address.offset));
            }
            Operand::Register(register) => {
                let slot = slot_of(core, id, register);
                slot.map_or(0, |slot| core.registers.get(slot, self.lane))
            }
            Operand::Immediate(value) => value,
            _ => 0,
        };
        let value = value.wrapping_add_signed(address.offset);
        let own = match space {
            Space::Shared => shared_place(core.image, value),
            Space::Local => Some(self.local_place(core, value)),
            _ => self.describe_address(core, value),
        };
        own.unwrap_or_else(|| format!("{value:#x}"))
    }

    /// The name and offset of a generic address.
    pub(in crate::engine) fn describe_address(
        &self,
        core: &Core<'_>,
        address: u64,
    ) -> Option<String> {
        if address.wrapping_sub(SHARED_WINDOW) < WINDOW_BYTES {
            return shared_place(core.image, address - SHARED_WINDOW);
        }
        if address.wrapping_sub(LOCAL_WINDOW) < WINDOW_BYTES {
            return Some(self.local_place(core, address - LOCAL_WINDOW));
        }
        let inside = |base: u64, size: u64| {
            address.checked_sub(base).filter(|&offset| offset <= size.saturating_add(MAX_DISTANCE))
        };
        let named = self
            .buffers
            .iter()
            .find_map(|(base, size, name)| Some(with_offset(name, inside(*base, *size)? as i64)));
        let variable = || {
            core.memory.allocations().into_iter().find_map(|allocation| {
                let name = allocation.name?;
                let offset = inside(allocation.address, allocation.size)?;
                Some(with_offset(&name, offset as i64))
            })
        };
        // Small numbers are not addresses; skip the search.
        if address < 1 << 20 { None } else { named.or_else(variable) }
    }

    fn local_place(&self, core: &Core<'_>, offset: u64) -> String {
        for (id, plan) in &core.image.layouts {
            let function = core.image.module.functions.get(id.0 as usize);
            let variables = function.map_or(&[][..], |function| &function.variables);
            for (variable, home) in variables.iter().zip(&plan.homes) {
                if let VariablePlace::Local(at) = *home
                    && offset.wrapping_sub(at) < variable.size
                {
                    return with_offset(&variable.name, (offset - at) as i64);
                }
            }
        }
        with_offset("local", offset as i64)
    }

    /// Finds the buffers whose addresses are parameters.
    pub(in crate::engine) fn name_buffers(&mut self, core: &Core<'_>) {
        let image = core.image;
        let function = image.module.functions.get(image.kernel.0 as usize);
        let Some(function) = function else { return };
        let bytes = core.parameters.as_slice();
        let names = function.variables.iter().filter(|variable| variable.space == Space::Param);
        for (layout, variable) in image.parameters.iter().zip(names) {
            let at = layout.offset as usize;
            let word = bytes.get(at..at + 8).filter(|_| layout.size == 8);
            let Some(address) = word.and_then(|word| word.try_into().ok()) else { continue };
            let address = u64::from_le_bytes(address);
            if let Some((base, size)) = core.memory.range_of(address)
                && !self.buffers.iter().any(|(known, ..)| *known == base)
            {
                self.buffers.push((base, size, short_name(&variable.name).to_owned()));
            }
        }
    }
}

/// The shared variable that contains an offset.
fn shared_place(image: &Image, offset: u64) -> Option<String> {
    let homes: HashMap<&str, (VariablePlace, u64)> = image
        .layouts
        .iter()
        .filter_map(|(id, plan)| Some((image.module.functions.get(id.0 as usize)?, plan)))
        .flat_map(|(function, plan)| function.variables.iter().zip(plan.homes.iter().copied()))
        .chain(
            image
                .module_shared
                .iter()
                .filter_map(|(id, &home)| Some((image.module.variables.get(id.0 as usize)?, home))),
        )
        .map(|(variable, home)| (variable.name.as_str(), (home, variable.size)))
        .collect();
    let mut dynamic = None;
    for (name, (home, size)) in homes {
        match home {
            VariablePlace::Shared(at) if offset.wrapping_sub(at) < size => {
                return Some(with_offset(name, (offset - at) as i64));
            }
            VariablePlace::DynamicShared => dynamic = Some(name),
            _ => {}
        }
    }
    let start = image.dynamic_start();
    Some(match dynamic {
        Some(name) if offset >= start => with_offset(name, (offset - start) as i64),
        _ => with_offset("shared", offset as i64),
    })
}

/// Formats a name and an offset: `name+4`.
fn with_offset(name: &str, offset: i64) -> String {
    if offset == 0 { name.to_owned() } else { format!("{name}{offset:+}") }
}

/// Shortens a parameter's name: NVRTC's names are `_Z5saxpy…_param_0` and so on.
fn short_name(name: &str) -> &str {
    name.rfind("_param_").map_or(name, |at| &name[at + 1..])
}
