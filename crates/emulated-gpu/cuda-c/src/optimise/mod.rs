//! Passes over the intermediate form. None changes a bit of a result, but for `contract`, which makes
//! `fma` of products that are added, as nvcc does unless it is told not to.

mod clean;
mod contract;
mod demote;
mod flatten;
mod fold;
mod invariant;
mod number;
mod promote;
mod rewrite;
pub(crate) use fold::fold;
pub(crate) use rewrite::drop_dead;
pub(crate) mod simplify;
mod strength;
mod unroll;
mod unroll_running;

use rustc_hash::FxHashMap as HashMap;

use crate::ir::{Function, Module, NaturalLoop};

/// A kernel isn't unrolled beyond as many instructions.
const LARGEST: usize = 60_000;
/// How many loops are written out at most, copies of inner ones not among them.
const MOST_LOOPS: usize = 40;

/// How much the passes over loops may still do for a module. They look at all of a function for each of its
/// loops, and leave the loops as they are for which there is no room left.
pub(crate) struct Room {
    /// Values and blocks that are looked at.
    looks: usize,
    /// Instructions that are copied.
    copies: usize,
}

impl Room {
    /// Of all functions together, a few seconds' work.
    const MAX_LOOKS: usize = 200_000_000;
    /// Of one function.
    const MAX_LOOKS_OF_ONE: usize = 50_000_000;
    /// As much as a module may have before it is optimised.
    const MAX_COPIES: usize = 1_000_000;

    /// Whether there is room to look at a function with these loops once more.
    fn look(&mut self, function: &Function, loops: &[NaturalLoop]) -> bool {
        // The graph, its dominators and the sets of blocks take longer for a block than for a value.
        let blocks: usize = loops.iter().map(|own| 4 * own.blocks.len()).sum();
        spend(&mut self.looks, function.values.len() + 16 * function.blocks.len() + blocks)
    }

    /// Whether there is room to write a loop out, which looks at all of the function several times.
    fn write_out(&mut self, function: &Function) -> bool {
        spend(&mut self.looks, 8 * (function.values.len() + 16 * function.blocks.len()))
    }

    /// Whether there is room for as many copies of instructions.
    fn copy(&mut self, count: usize) -> bool {
        spend(&mut self.copies, count)
    }
}

fn spend(room: &mut usize, count: usize) -> bool {
    let left = room.checked_sub(count);
    *room = left.unwrap_or(0);
    left.is_some()
}

/// Runs all passes over all kernels.
pub(crate) fn optimise(module: &mut Module, options: &crate::Options<'_>) {
    let mut room = Room { looks: 0, copies: Room::MAX_COPIES };
    let mut looks = Room::MAX_LOOKS;
    for function in &mut module.functions {
        room.looks = looks.min(Room::MAX_LOOKS_OF_ONE);
        looks -= room.looks;
        kernel(function, &mut room, options);
        looks += room.looks;
    }
    drop_uncalled(module);
}

/// Functions that only constant expressions called are gone.
fn drop_uncalled(module: &mut Module) {
    let names: HashMap<&str, usize> =
        module.functions.iter().enumerate().map(|(at, one)| (&*one.name, at)).collect();
    let mut kept: Vec<bool> = module.functions.iter().map(|one| one.is_kernel).collect();
    let mut open: Vec<usize> = (0..kept.len()).filter(|at| kept[*at]).collect();
    while let Some(at) = open.pop() {
        let function = &module.functions[at];
        for value in function.ids().flat_map(|id| &function.block(id).insts) {
            if let crate::ir::Op::Call(callee) = &function.inst(*value).op
                && let Some(&callee) = names.get(&*callee.name)
                && !std::mem::replace(&mut kept[callee], true)
            {
                open.push(callee);
            }
        }
    }
    let mut kept = kept.into_iter();
    module.functions.retain(|_| kept.next().unwrap_or(true));
}

fn kernel(function: &mut Function, room: &mut Room, options: &crate::Options<'_>) {
    clean::run(function);
    promote::run(function);
    tidy(function);
    // An unrolled loop may make the count of the one around it known, and arrays into registers.
    for _ in 0..MOST_LOOPS {
        if function.len() > LARGEST || !unroll::run(function, room) {
            break;
        }
        // The offsets of the copies have to be known before their memory can become values.
        let settled = tidy(function);
        if promote::run(function) || !settled {
            tidy(function);
        }
    }
    flatten::run(function);
    tidy(function);
    invariant::run(function, room);
    tidy(function);
    strength::run(function, room);
    tidy(function);
    if function.len() < LARGEST && unroll_running::run(function, room) {
        promote::run(function);
        tidy(function);
    }
    if options.fmad {
        contract::run(function);
    }
    tidy(function);
}

/// Whether there is nothing left to do.
fn tidy(function: &mut Function) -> bool {
    for _ in 0..3 {
        let numbered = number::run(function);
        let dropped = rewrite::drop_dead(function);
        if !(clean::run(function) | dropped | numbered) {
            return true;
        }
    }
    false
}
