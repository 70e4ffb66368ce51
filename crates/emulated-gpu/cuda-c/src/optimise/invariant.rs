//! Loop-invariant code motion: moves computations that don't change out of a loop.

use rustc_hash::FxHashSet as HashSet;

use super::Budget;
use super::rewrite::defining_blocks;
use crate::ir::{
    BlockId, Dominators, Effect, Function, Graph, NaturalLoop, Op, Target, Terminator, Value,
    natural_loops,
};

pub(super) fn run(function: &mut Function, budget: &mut Budget) {
    each_loop(function, budget, |function, graph, dominators, own| {
        let before = preheader(function, graph, own);
        hoist(function, graph, dominators, own, before);
    });
}

/// Calls `act` for each loop of a function. Because `act` may change the function, the loops are
/// analysed again after each call.
pub(super) fn each_loop(
    function: &mut Function,
    budget: &mut Budget,
    mut visit: impl FnMut(&mut Function, &Graph, &Dominators, &NaturalLoop),
) {
    let count = {
        let graph = Graph::new(function);
        natural_loops(&graph, &Dominators::new(&graph)).len()
    };
    for index in 0..count {
        let graph = Graph::new(function);
        let dominators = Dominators::new(&graph);
        let loops = natural_loops(&graph, &dominators);
        if !budget.visit(function, &loops) {
            return;
        }
        let Some(own) = loops.get(index) else { return };
        visit(function, &graph, &dominators, own);
    }
}

/// The preheader of a loop: the only block from which the loop is entered, and which has no other
/// successor. It is created if it doesn't exist.
pub(super) fn preheader(function: &mut Function, graph: &Graph, own: &NaturalLoop) -> BlockId {
    let mut outside: Vec<BlockId> =
        graph.preds(own.header).iter().copied().filter(|pred| !own.blocks.contains(pred)).collect();
    outside.sort();
    outside.dedup();
    if let [one] = outside.as_slice()
        && matches!(function.block(*one).end, Terminator::Jump(_))
    {
        return *one;
    }
    let span = function.block(own.header).span;
    let before = function.new_block(span);
    let params = function.block(own.header).params.clone();
    let mut args = Vec::new();
    for param in params {
        let ty = function.inst(param).ty;
        args.push(function.block_param(before, ty));
    }
    function.block_mut(before).end = Terminator::Jump(Target { block: own.header, args });
    for pred in outside {
        for target in function.block_mut(pred).end.targets_mut() {
            if target.block == own.header {
                target.block = before;
            }
        }
    }
    before
}

fn hoist(
    function: &mut Function,
    graph: &Graph,
    dominators: &Dominators,
    own: &NaturalLoop,
    before: BlockId,
) {
    let homes = defining_blocks(function);
    let acts = own.blocks.iter().any(|id| {
        function
            .block(*id)
            .insts
            .iter()
            .any(|value| function.inst(*value).op.effect() == Effect::Acts)
    });
    // The blocks in which the loop may be left: code after them may never run.
    let leaves = |id: &&BlockId| {
        let end = &function.block(**id).end;
        let mut targets = end.targets().peekable();
        targets.peek().is_none() || targets.any(|target| !own.blocks.contains(&target.block))
    };
    let exits: Vec<BlockId> = own.blocks.iter().filter(leaves).copied().collect();
    let mut moved: HashSet<Value> = HashSet::default();
    for &id in graph.order.iter().filter(|id| own.blocks.contains(id)) {
        let always = own.latches.iter().chain(&exits).all(|end| dominators.dominates(id, *end));
        let insts = std::mem::take(&mut function.block_mut(id).insts);
        let mut kept = Vec::with_capacity(insts.len());
        for value in insts {
            let inst = function.inst(value);
            let stays = match inst.op.effect() {
                Effect::None => false,
                // If nothing in the loop writes memory, a load that always runs can be moved before
                // the loop.
                Effect::Reads => acts || !always || !matches!(inst.op, Op::Load(_)),
                _ => true,
            };
            let outside = |arg: &Value| {
                moved.contains(arg)
                    || !own.blocks.contains(&homes[arg.0 as usize])
                    || matches!(function.inst(*arg).op, Op::Const(_))
            };
            if !stays && inst.args.iter().all(outside) {
                moved.insert(value);
                function.block_mut(before).insts.push(value);
            } else {
                kept.push(value);
            }
        }
        function.block_mut(id).insts = kept;
    }
}
