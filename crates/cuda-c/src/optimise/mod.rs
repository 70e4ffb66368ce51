//! Passes over the intermediate form. None changes a bit of a result, but for `contract`, which makes
//! `fma` of products that are added, as nvcc does unless it is told not to.

mod clean;
mod contract;
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

use crate::ir::{Function, Module};

/// A kernel isn't unrolled beyond as many instructions.
const LARGEST: usize = 60_000;
/// How many loops are written out at most, copies of inner ones not among them.
const MOST_LOOPS: usize = 40;

/// Runs all passes over all kernels.
pub(crate) fn optimise(module: &mut Module, options: &crate::Options<'_>) {
    for function in &mut module.functions {
        kernel(function, options);
    }
    drop_uncalled(module);
}

/// Functions that only constant expressions called are gone.
fn drop_uncalled(module: &mut Module) {
    let mut called: Vec<std::rc::Rc<str>> = Vec::new();
    let mut seen = 0;
    let mut open: Vec<&Function> = module.functions.iter().filter(|one| one.is_kernel).collect();
    while let Some(function) = open.pop() {
        for value in function.ids().flat_map(|id| &function.block(id).insts) {
            if let crate::ir::Op::Call(callee) = &function.inst(*value).op
                && !called.contains(&callee.name)
            {
                called.push(callee.name.clone());
            }
        }
        for name in &called[seen..] {
            open.extend(module.functions.iter().find(|one| *one.name == **name));
        }
        seen = called.len();
    }
    module.functions.retain(|one| one.is_kernel || called.iter().any(|name| **name == *one.name));
}

fn kernel(function: &mut Function, options: &crate::Options<'_>) {
    clean::run(function);
    promote::run(function);
    tidy(function);
    // An unrolled loop may make the count of the one around it known, and arrays into registers.
    for _ in 0..MOST_LOOPS {
        if function.len() > LARGEST || !unroll::run(function) {
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
    invariant::run(function);
    tidy(function);
    strength::run(function);
    tidy(function);
    if function.len() < LARGEST && unroll_running::run(function) {
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
