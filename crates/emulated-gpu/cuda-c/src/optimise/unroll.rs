//! Full unrolling of loops with a known trip count.
//!
//! Values that are used after the loop are demoted to memory first, so that the loop can be copied
//! without changing their uses; `promote` makes them values again.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::demote::demote;
use super::fold::fold;
use super::invariant::preheader;
use super::{Budget, clean};
use crate::ir::{
    BlockId, Dominators, Function, Graph, NaturalLoop, Target, Terminator, Unrolling, Value,
    natural_loops,
};

/// The maximum size in instructions of an unrolled loop without a pragma.
const MAX_SIZE: usize = 700;
/// The maximum size with `#pragma unroll`.
const MAX_SIZE_WITH_PRAGMA: usize = 20_000;
const MAX_ITERATIONS: usize = 1024;
/// The maximum number of values that a loop's condition may depend on for its trip count to be
/// computed.
const MAX_NEEDED: usize = 1000;

/// Fully unrolls innermost loops where possible. Returns whether any loop was unrolled.
pub(super) fn run(function: &mut Function, budget: &mut Budget) -> bool {
    let mut open: HashSet<BlockId> =
        innermost(&Graph::new(function)).iter().map(|own| own.header).collect();
    let mut changed = false;
    // The graph changes with each loop. A loop that has become innermost is left for the next call,
    // after its body has been simplified.
    while !open.is_empty() {
        let graph = Graph::new(function);
        let loops = innermost(&graph);
        if !budget.visit(function, &loops) {
            break;
        }
        let mut loops = loops.into_iter();
        let found = loops.find_map(|own| {
            // If a loop can't be unrolled now, unrolling other loops doesn't change that.
            if !open.remove(&own.header) {
                return None;
            }
            copies(function, &graph, &own, budget).map(|count| (own, count))
        });
        let Some((own, count)) = found.filter(|_| budget.unroll(function)) else { break };
        unroll_fully(function, &own, count);
        // Remove the blocks of the original loop, which are now unreachable, but would count as
        // predecessors.
        clean::run(function);
        changed = true;
        if function.len() > super::MAX_UNROLLED {
            break;
        }
    }
    changed
}

fn innermost(graph: &Graph) -> Vec<NaturalLoop> {
    let mut loops = natural_loops(graph, &Dominators::new(graph));
    let headers: HashSet<BlockId> = loops.iter().map(|own| own.header).collect();
    loops.retain(|own| {
        let mut inner = own.blocks.iter().filter(|id| headers.contains(id));
        own.latches.len() == 1 && inner.all(|id| *id == own.header)
    });
    loops
}

/// The number of copies that a loop is unrolled to; `None` if it shouldn't be.
fn copies(
    function: &Function,
    graph: &Graph,
    own: &NaturalLoop,
    budget: &mut Budget,
) -> Option<usize> {
    let hint = function.unrolling.get(&own.header).copied();
    if matches!(hint, Some(Unrolling::By(1))) {
        return None;
    }
    let count = iterations(function, graph, own)?;
    let size: usize = own.blocks.iter().map(|id| function.block(*id).insts.len() + 1).sum();
    let is_requested = matches!(hint, Some(Unrolling::Full))
        || matches!(hint, Some(Unrolling::By(n)) if n as usize >= count);
    let limit = if is_requested { MAX_SIZE_WITH_PRAGMA } else { MAX_SIZE };
    let fits = size * count <= limit && (hint.is_none() || is_requested);
    (fits && budget.copy(size * count)).then_some(count)
}

/// The trip count of a loop whose counter starts with a constant and is tested at its end.
fn iterations(function: &Function, graph: &Graph, own: &NaturalLoop) -> Option<usize> {
    let latch = own.latches[0];
    let Terminator::Branch { condition, yes, no } = &function.block(latch).end else {
        return None;
    };
    let (condition, stays) = (*condition, yes.block == own.header);
    let (again, other) = if stays { (yes, no) } else { (no, yes) };
    if again.block != own.header || own.blocks.contains(&other.block) {
        return None;
    }
    let params = function.block(own.header).params.clone();
    // The initial values of the parameters, where all entries to the loop pass the same constant.
    let mut first: Option<Vec<Option<u64>>> = None;
    for &pred in graph.preds(own.header).iter().filter(|pred| !own.blocks.contains(pred)) {
        for target in function.block(pred).end.targets() {
            if target.block != own.header {
                continue;
            }
            let given = target.args.iter().map(|value| function.constant_of(*value));
            first = Some(match first {
                None => given.collect(),
                Some(known) => {
                    known.into_iter().zip(given).map(|(a, b)| a.filter(|a| Some(*a) == b)).collect()
                }
            });
        }
    }
    let needed = condition_inputs(function, condition, &params, &again.args)?;
    let ways = || params.iter().zip(&again.args).filter(|(param, _)| needed.contains(param));
    let mut now: HashMap<Value, u64> = params
        .iter()
        .zip(first?)
        .filter(|(param, _)| needed.contains(param))
        .filter_map(|(param, bits)| Some((*param, bits?)))
        .collect();
    for count in 1..=MAX_ITERATIONS {
        let mut known = now.clone();
        let holds = evaluate(function, condition, &mut known, 0)? != 0;
        if holds != stays {
            return Some(count);
        }
        now = ways()
            .filter_map(|(param, next)| Some((*param, evaluate(function, *next, &mut known, 0)?)))
            .collect();
    }
    None
}

/// The values that a condition depends on, in this iteration or an earlier one; `None` if there are
/// too many.
fn condition_inputs(
    function: &Function,
    condition: Value,
    params: &[Value],
    again: &[Value],
) -> Option<HashSet<Value>> {
    let next: HashMap<Value, Value> = params.iter().copied().zip(again.iter().copied()).collect();
    let mut seen = HashSet::default();
    let mut open = vec![condition];
    while let Some(value) = open.pop() {
        if seen.len() > MAX_NEEDED {
            return None;
        }
        if seen.insert(value) {
            match next.get(&value) {
                Some(next) => open.push(*next),
                None => open.extend(&function.inst(value).args),
            }
        }
    }
    Some(seen)
}

/// Evaluates a value from constants and known parameters.
fn evaluate(
    function: &Function,
    value: Value,
    known: &mut HashMap<Value, u64>,
    depth: u32,
) -> Option<u64> {
    if let Some(bits) = function.constant_of(value) {
        return Some(bits);
    }
    if let Some(bits) = known.get(&value) {
        return Some(*bits);
    }
    let inst = function.inst(value);
    if depth > 16 || inst.args.is_empty() {
        return None;
    }
    let mut args = Vec::new();
    for arg in &inst.args {
        args.push((function.inst(*arg).ty, evaluate(function, *arg, known, depth + 1)?));
    }
    let width = inst.ty.bits();
    let bits = fold(&inst.op, inst.ty, &args)?;
    let bits = if width == 64 { bits } else { bits & ((1 << width) - 1) };
    known.insert(value, bits);
    Some(bits)
}

/// The copy of a value in the copy of a loop; the value itself if it is computed outside the loop.
pub(super) fn copy_of(values: &HashMap<Value, Value>, value: Value) -> Value {
    values.get(&value).copied().unwrap_or(value)
}

/// Copies the blocks of a loop. `values` maps values of the loop to values of the copy: the caller
/// enters the header's parameters, and this function adds all other values that it copies.
pub(super) fn copy(
    function: &mut Function,
    graph: &Graph,
    own: &NaturalLoop,
    values: &mut HashMap<Value, Value>,
) -> HashMap<BlockId, BlockId> {
    let order: Vec<BlockId> =
        graph.order.iter().copied().filter(|id| own.blocks.contains(id)).collect();
    let mut blocks = HashMap::default();
    for &id in &order {
        let span = function.block(id).span;
        let new = function.new_block(span);
        blocks.insert(id, new);
        if id != own.header {
            for param in function.block(id).params.clone() {
                let ty = function.inst(param).ty;
                let own = function.block_param(new, ty);
                function.copy_name(param, own);
                values.insert(param, own);
            }
        }
    }
    for &id in &order {
        let new = blocks[&id];
        for value in function.block(id).insts.clone() {
            let mut inst = function.inst(value).clone();
            for arg in &mut inst.args {
                *arg = copy_of(values, *arg);
            }
            let same = function.value(inst);
            function.copy_name(value, same);
            function.block_mut(new).insts.push(same);
            values.insert(value, same);
        }
    }
    for &id in &order {
        let new = blocks[&id];
        let mut end = function.block(id).end.clone();
        for value in end.values_mut() {
            *value = copy_of(values, *value);
        }
        for target in end.targets_mut() {
            if target.block != own.header {
                target.block = blocks.get(&target.block).copied().unwrap_or(target.block);
            }
        }
        let span = function.block(id).span;
        let block = function.block_mut(new);
        (block.end, block.span) = (end, span);
    }
    blocks
}

fn unroll_fully(function: &mut Function, own: &NaturalLoop, count: usize) {
    demote(function, own);
    let graph = Graph::new(function);
    let before = preheader(function, &graph, own);
    let graph = Graph::new(function);
    let latch = own.latches[0];
    let params = function.block(own.header).params.clone();
    let mut args = match &function.block(before).end {
        Terminator::Jump(target) => target.args.clone(),
        _ => return,
    };
    let mut from: BlockId = before;
    for index in 0..count {
        let mut values: HashMap<Value, Value> =
            params.iter().copied().zip(args.iter().copied()).collect();
        let blocks = copy(function, &graph, own, &mut values);
        let header = blocks[&own.header];
        // The previous block jumps to this copy.
        function.block_mut(from).end = Terminator::Jump(Target { block: header, args: Vec::new() });
        let end = function.block(blocks[&latch]).end.clone();
        let Terminator::Branch { yes, no, .. } = end else { return };
        let (again, out) = if yes.block == own.header { (yes, no) } else { (no, yes) };
        from = blocks[&latch];
        args = again.args;
        if index + 1 == count {
            function.block_mut(from).end = Terminator::Jump(out);
        }
    }
}
