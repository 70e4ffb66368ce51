//! Optimisation passes over the intermediate representation. None of them changes the bits of a
//! result, except `contract`, which contracts products and sums to `fma`, as nvcc does by default.

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
mod unroll_partial;

use rustc_hash::FxHashMap as HashMap;

use crate::ir::{Function, Module, NaturalLoop};

/// The maximum number of instructions to which unrolling may expand a kernel.
const MAX_UNROLLED: usize = 60_000;
/// The maximum number of loops that are fully unrolled, not counting copies of inner ones.
const MAX_LOOPS: usize = 40;

/// The remaining budget of the loop passes for a module. These passes analyse the whole function
/// for each of its loops, and leave the remaining loops unchanged when the budget is used up.
pub(crate) struct Budget {
    /// The number of values and blocks that may still be visited.
    visits: usize,
    /// Instructions that may be copied.
    copies: usize,
}

impl Budget {
    /// The limit of visits for all functions together: a few seconds.
    const MAX_VISITS: usize = 200_000_000;
    /// The limit of visits for one function.
    const MAX_VISITS_OF_ONE: usize = 50_000_000;
    /// The limit of copied instructions: about the size that a module may have before it is
    /// optimised.
    const MAX_COPIES: usize = 1_000_000;

    /// Takes the cost of analysing a function with these loops; false if the budget is used up.
    fn visit(&mut self, function: &Function, loops: &[NaturalLoop]) -> bool {
        // The graph, the dominators and the loops take more time per block than per value.
        let blocks: usize = loops.iter().map(|own| 4 * own.blocks.len()).sum();
        spend_budget(&mut self.visits, function.values.len() + 16 * function.blocks.len() + blocks)
    }

    /// Takes the cost of unrolling a loop, for which the function is analysed several times.
    fn unroll(&mut self, function: &Function) -> bool {
        spend_budget(&mut self.visits, 8 * (function.values.len() + 16 * function.blocks.len()))
    }

    /// Takes the cost of copying `count` instructions.
    fn copy(&mut self, count: usize) -> bool {
        spend_budget(&mut self.copies, count)
    }
}

fn spend_budget(budget: &mut usize, count: usize) -> bool {
    let left = budget.checked_sub(count);
    *budget = left.unwrap_or(0);
    left.is_some()
}

/// Runs all passes over all functions.
pub(crate) fn optimise(module: &mut Module, options: &crate::CompileOptions<'_>) {
    let mut budget = Budget { visits: 0, copies: Budget::MAX_COPIES };
    let mut visits = Budget::MAX_VISITS;
    for function in &mut module.functions {
        budget.visits = visits.min(Budget::MAX_VISITS_OF_ONE);
        visits -= budget.visits;
        optimise_function(function, &mut budget, options);
        visits += budget.visits;
    }
    drop_uncalled(module);
}

/// Removes functions that are only called by constant expressions.
fn drop_uncalled(module: &mut Module) {
    let names: HashMap<&str, usize> =
        module.functions.iter().enumerate().map(|(at, one)| (&*one.name, at)).collect();
    let mut kept: Vec<bool> = module.functions.iter().map(|function| function.is_kernel).collect();
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

fn optimise_function(
    function: &mut Function,
    budget: &mut Budget,
    options: &crate::CompileOptions<'_>,
) {
    clean::run(function);
    promote::run(function);
    clean_up(function);
    // Unroll one loop after the other: unrolling a loop may make the trip count of the enclosing
    // loop known, and let arrays become registers.
    for _ in 0..MAX_LOOPS {
        if function.len() > MAX_UNROLLED || !unroll::run(function, budget) {
            break;
        }
        // The offsets in the copies must be constant before their memory can be promoted.
        let finished = clean_up(function);
        if promote::run(function) || !finished {
            clean_up(function);
        }
    }
    flatten::run(function);
    clean_up(function);
    invariant::run(function, budget);
    clean_up(function);
    strength::run(function, budget);
    clean_up(function);
    if function.len() < MAX_UNROLLED && unroll_partial::run(function, budget) {
        promote::run(function);
        clean_up(function);
    }
    if options.fmad {
        contract::run(function);
    }
    clean_up(function);
}

/// Runs the cheap passes until nothing changes, up to three times. Returns whether nothing is left
/// to do.
fn clean_up(function: &mut Function) -> bool {
    for _ in 0..3 {
        let numbered = number::run(function);
        let dropped = rewrite::drop_dead(function);
        if !(clean::run(function) | dropped | numbered) {
            return true;
        }
    }
    false
}
