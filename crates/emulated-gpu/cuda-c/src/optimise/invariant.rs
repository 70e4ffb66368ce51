//! What is the same in every iteration is computed before the loop.

use rustc_hash::FxHashSet as HashSet;

use super::Room;
use super::rewrite::homes;
use crate::ir::{
    BlockId, Dominators, Effect, Function, Graph, Loops, NaturalLoop, Op, Target, Terminator, Value,
};

pub(super) fn run(function: &mut Function, room: &mut Room) {
    each_loop(function, room, |function, graph, dominators, own| {
        let before = preheader(function, graph, own);
        hoist(function, graph, dominators, own, before);
    });
}

/// Does something with each loop of a function, which may change it: what is known of it is found again for
/// the next.
pub(super) fn each_loop(
    function: &mut Function,
    room: &mut Room,
    mut act: impl FnMut(&mut Function, &Graph, &Dominators, &NaturalLoop),
) {
    let count = {
        let graph = Graph::of(function);
        Loops::of(&graph, &Dominators::of(&graph)).len()
    };
    for index in 0..count {
        let graph = Graph::of(function);
        let dominators = Dominators::of(&graph);
        let loops = Loops::of(&graph, &dominators);
        if !room.look(function, &loops) {
            return;
        }
        let Some(own) = loops.get(index) else { return };
        act(function, &graph, &dominators, own);
    }
}

/// The block that jumps to a loop's header, and nowhere else; made where there is none.
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
    let homes = homes(function);
    let acts = own.blocks.iter().any(|id| {
        function
            .block(*id)
            .insts
            .iter()
            .any(|value| function.inst(*value).op.effect() == Effect::Acts)
    });
    // Where a loop may be left: what stands behind such a place may never run.
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
                // What nobody writes to in the loop can be read before, where it is read at all.
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
