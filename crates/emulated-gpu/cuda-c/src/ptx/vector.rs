//! Vector loads and stores of neighbouring elements.

use super::Offsets;
use super::instruction::{self, Names};
use crate::ir::{Access, Function, Op, Value};

fn access(function: &Function, value: Value) -> Option<(Access, bool)> {
    match function.inst(value).op {
        Op::Load(access) => Some((access, true)),
        Op::Store(access) => Some((access, false)),
        _ => None,
    }
}

/// The number of instructions, from this one on, that form one vector access; `None` if they form
/// none.
pub(super) fn lanes_at(function: &Function, offsets: &Offsets, insts: &[Value]) -> Option<usize> {
    let (first, loads) = access(function, insts[0])?;
    let lanes = usize::from(first.lanes);
    if lanes < 2 || first.lane != 0 || insts.len() < lanes {
        return None;
    }
    let base = function.inst(insts[0]).args[0];
    let start = offsets.get(&insts[0]).copied().unwrap_or(0);
    for (lane, value) in insts[..lanes].iter().enumerate() {
        let (own, same) = access(function, *value)?;
        let offset = offsets.get(value).copied().unwrap_or(0);
        let expected = start + (lane as i64) * first.memory.bytes() as i64;
        let fits = usize::from(own.lane) == lane
            && own.lanes == first.lanes
            && own.memory == first.memory
            && own.volatile == first.volatile
            && same == loads
            && function.inst(*value).args[0] == base
            && offset == expected;
        if !fits {
            return None;
        }
    }
    Some(lanes)
}

pub(super) fn write(function: &Function, names: &mut impl Names, insts: &[Value]) {
    let Some((first, loads)) = access(function, insts[0]) else { return };
    let inst = function.inst(insts[0]).clone();
    let registers: Vec<String> = insts
        .iter()
        .map(|value| {
            let lane = if loads { *value } else { function.inst(*value).args[1] };
            instruction::in_register(function, names, lane)
        })
        .collect();
    let (space, address) = instruction::place(function, names, insts[0], &inst);
    let volatile = instruction::volatile(&first, space);
    let read_only =
        loads && space == ".global" && instruction::is_read_only(function, inst.args[0]);
    let cache = if read_only { ".nc" } else { "" };
    let list = registers.join(", ");
    let (lanes, suffix) = (insts.len(), first.memory.suffix());
    names.line(&if loads {
        format!("ld{volatile}{space}{cache}.v{lanes}.{suffix} \t{{{list}}}, [{address}];")
    } else {
        format!("st{volatile}{space}.v{lanes}.{suffix} \t[{address}], {{{list}}};")
    });
}
