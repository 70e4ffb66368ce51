//! Formatted values of registers and addresses, in one lane.

use super::origin::slot_of;
use super::values::{decode, shown_type};
use crate::engine::core::Core;
use crate::engine::registers::{Slot, Width};
use crate::program::{Function, FunctionId, Operand, Read, Type};
use crate::trace::Value;

/// The view of one lane of the current warp.
pub(in crate::engine) struct View {
    pub(in crate::engine) lane: usize,
    /// The buffers passed to the launch: base, size, and the parameter's name.
    pub(in crate::engine) buffers: Vec<(u64, u64, String)>,
}

impl View {
    /// A register or special register with its name and value.
    pub(in crate::engine) fn value(
        &self,
        core: &Core<'_>,
        id: FunctionId,
        function: &Function,
        (operand, ty): Read,
        written: bool,
    ) -> Option<Value> {
        match operand {
            Operand::Register(register) | Operand::Not(register) => {
                let info = function.registers.get(register.0 as usize)?;
                // Instructions that take several steps use unnamed registers.
                if info.name.is_empty() {
                    return None;
                }
                let slot = slot_of(core, id, register)?;
                let ty = shown_type(ty, info.ty, written);
                Some(Value::Register(info.name.clone(), self.format_register(core, slot, ty)))
            }
            Operand::Special(special) => {
                let special_slot = core.image.specials.iter().find(|(_, own)| *own == special);
                let &(slot, _) = special_slot?;
                let wide = slot.width == Width::Wide;
                let ty = if wide { Type::U64 } else { Type::U32 };
                Some(Value::Register(special.name(), self.format_register(core, slot, ty)))
            }
            Operand::Immediate(_) | Operand::Address(..) | Operand::Function(_) => None,
        }
    }

    /// Formats a register of this lane; an address as the place that it points to.
    pub(in crate::engine) fn format_register(
        &self,
        core: &Core<'_>,
        slot: Slot,
        ty: Type,
    ) -> String {
        let low = core.registers.get(slot, self.lane);
        if slot.width == Width::Quad {
            let high = core.registers.get(slot.halves().1, self.lane);
            return format!("{:#x}", u128::from(high) << 64 | u128::from(low));
        }
        if matches!(ty, Type::B64 | Type::U64 | Type::S64)
            && let Some(place) = self.describe_address(core, low)
        {
            return format!("&{place}");
        }
        decode(ty, low)
    }
}
