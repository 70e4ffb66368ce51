//! Partial unrolling of loops whose trip count is only known at run time: several iterations at
//! once, and then the rest one by one.

use rustc_hash::FxHashMap as HashMap;

use super::Budget;
use super::demote::demote;
use super::invariant::preheader;
use super::unroll::copy_of;
use crate::ir::{
    BinaryOp, BlockId, Compare, CompareKind, Dominators, Effect, Function, Graph, Inst,
    NaturalLoop, Op, Target, Terminator, Ty, Unrolling, Value, natural_loops,
};

/// The default number of iterations at once.
const DEFAULT_FACTOR: u64 = 4;
/// The maximum size in instructions of a loop that is unrolled without a pragma.
const MAX_SIZE: usize = 40;

pub(super) fn run(function: &mut Function, budget: &mut Budget) -> bool {
    let mut len = function.len();
    let graph = Graph::new(function);
    let loops = natural_loops(&graph, &Dominators::new(&graph));
    let mut changed = false;
    for own in loops {
        if own.blocks.len() != 1 || own.latches != [own.header] {
            continue;
        }
        let by = match function.unrolling.get(&own.header) {
            Some(Unrolling::By(1)) => continue,
            Some(Unrolling::By(n)) if *n <= 64 => u64::from(*n),
            _ => DEFAULT_FACTOR,
        };
        let size = function.block(own.header).insts.len();
        // Threads of a warp may run different numbers of iterations. Threads with remaining
        // iterations would run these separately from the other threads, so barriers, shuffles and
        // `activemask` would give other results.
        let convergent = function.block(own.header).insts.iter().any(|value| {
            let op = &function.inst(*value).op;
            matches!(op, Op::Call(_) | Op::Template(_)) && op.effect() != Effect::None
        });
        let is_requested = function.unrolling.contains_key(&own.header);
        if convergent || !is_requested && size > MAX_SIZE || size as u64 * by > 4000 {
            continue;
        }
        let more = size * by as usize;
        if len + more > super::MAX_UNROLLED || !budget.unroll(function) || !budget.copy(more) {
            break;
        }
        if unroll(function, &own, by) {
            (len, changed) = (len + more, true);
        }
    }
    changed
}

/// The counter of a loop that counts up by a constant: its index among the header's parameters, the
/// step, the limit, and the comparison.
struct Counter {
    index: usize,
    step: u64,
    limit: Value,
    kind: CompareKind,
    compare: Compare,
}

fn find_counter(function: &Function, own: &NaturalLoop) -> Option<Counter> {
    let block = function.block(own.header);
    let Terminator::Branch { condition, yes, no } = &block.end else { return None };
    if yes.block != own.header || no.block == own.header {
        return None;
    }
    let comparison = function.inst(*condition);
    let Op::Compare(compare, kind) = comparison.op else { return None };
    let index = yes.args.iter().position(|arg| *arg == comparison.args[0])?;
    let next = function.inst(comparison.args[0]);
    if !matches!(next.op, Op::Binary(BinaryOp::Add, _)) || next.args[0] != block.params[index] {
        return None;
    }
    let step = function.constant_of(next.args[1])?;
    let limit = comparison.args[1];
    let inside = block.insts.contains(&limit) || block.params.contains(&limit);
    let plain =
        compare == Compare::Lt && matches!(kind, CompareKind::Signed | CompareKind::Unsigned);
    // With other steps, the counter could wrap around.
    (plain && step == 1 && !inside).then_some(Counter { index, step, limit, kind, compare })
}

fn unroll(function: &mut Function, own: &NaturalLoop, by: u64) -> bool {
    let Some(found) = find_counter(function, own) else { return false };
    debug_assert_eq!(found.step, 1);
    split_exit(function, own.header);
    demote(function, own);
    let graph = Graph::new(function);
    let before = preheader(function, &graph, own);
    let Terminator::Jump(entry) = function.block(before).end.clone() else { return false };
    let span = function.block(own.header).span;
    let params = function.block(own.header).params.clone();
    let start = entry.args[found.index];
    let ty = function.inst(start).ty;
    let one = function.constant(ty, 1);
    // The trip count. It is at least 1, because the condition is tested at the end.
    let count =
        function.push(before, Op::binary(BinaryOp::Sub), ty, vec![found.limit, start], span);
    let op = Op::Compare(found.compare, found.kind);
    let more = function.push(before, op, Ty::Pred, vec![start, found.limit], span);
    let count = function.push(before, Op::Select, ty, vec![more, count, one], span);
    let mask = function.constant(ty, by - 1);
    let (rest, main_count) = if by.is_power_of_two() {
        let rest = function.push(before, Op::binary(BinaryOp::And), ty, vec![count, mask], span);
        let over = function.constant(ty, !(by - 1));
        (rest, function.push(before, Op::binary(BinaryOp::And), ty, vec![count, over], span))
    } else {
        let times = function.constant(ty, by);
        let rest = function.push(before, Op::binary(BinaryOp::RemU), ty, vec![count, times], span);
        (rest, function.push(before, Op::binary(BinaryOp::Sub), ty, vec![count, rest], span))
    };
    let zero = function.constant(ty, 0);
    let Terminator::Branch { yes: again, no: out, .. } = function.block(own.header).end.clone()
    else {
        return false;
    };

    // The unrolled loop. Its parameters are the parameters of the original loop, and the number of
    // iterations left.
    let main = function.new_block(span);
    let mut now = copy_params(function, &params, main);
    let left = function.block_param(main, ty);
    for _ in 0..by {
        let mut values: HashMap<Value, Value> =
            params.iter().copied().zip(now.iter().copied()).collect();
        copy_insts(function, own.header, main, &mut values);
        now = again.args.iter().map(|value| copy_of(&values, *value)).collect();
    }
    let many = function.constant(ty, by.wrapping_neg());
    let left_now = function.push(main, Op::binary(BinaryOp::Add), ty, vec![left, many], span);
    let different = Op::Compare(Compare::Ne, CompareKind::Signed);
    let on = function.push(main, different.clone(), Ty::Pred, vec![left_now, zero], span);

    // The remaining iterations, one by one.
    let (single, between, done) =
        (function.new_block(span), function.new_block(span), function.new_block(span));
    let mut back = now.clone();
    back.push(left_now);
    function.block_mut(main).end = Terminator::Branch {
        condition: on,
        yes: Target { block: main, args: back },
        no: Target { block: between, args: now.clone() },
    };
    let carried = copy_params(function, &params, between);
    let some = function.push(between, different.clone(), Ty::Pred, vec![rest, zero], span);
    let mut begin = carried.clone();
    begin.push(rest);
    function.block_mut(between).end = Terminator::Branch {
        condition: some,
        yes: Target { block: single, args: begin },
        no: Target { block: done, args: Vec::new() },
    };
    let own_now = copy_params(function, &params, single);
    let single_left = function.block_param(single, ty);
    let mut values: HashMap<Value, Value> = params.iter().copied().zip(own_now).collect();
    copy_insts(function, own.header, single, &mut values);
    let minus = function.constant(ty, u64::MAX);
    let single_next =
        function.push(single, Op::binary(BinaryOp::Add), ty, vec![single_left, minus], span);
    let on = function.push(single, different.clone(), Ty::Pred, vec![single_next, zero], span);
    let mut back: Vec<Value> = again.args.iter().map(|value| copy_of(&values, *value)).collect();
    back.push(single_next);
    function.block_mut(single).end = Terminator::Branch {
        condition: on,
        yes: Target { block: single, args: back },
        no: Target { block: done, args: Vec::new() },
    };
    function.unrolling.insert(main, Unrolling::By(1));
    function.unrolling.insert(single, Unrolling::By(1));

    // The entry: the unrolled loop if there are enough iterations.
    let enough = function.push(before, different, Ty::Pred, vec![main_count, zero], span);
    let mut first = entry.args.clone();
    first.push(main_count);
    function.block_mut(before).end = Terminator::Branch {
        condition: enough,
        yes: Target { block: main, args: first },
        no: Target { block: between, args: entry.args },
    };
    function.block_mut(done).end = Terminator::Jump(out);
    true
}

/// Inserts a block between the loop and its successor, so that the values that the loop passes on
/// are used outside of it.
fn split_exit(function: &mut Function, header: BlockId) {
    let span = function.block(header).span;
    let between = function.new_block(span);
    let Terminator::Branch { no, .. } = &mut function.block_mut(header).end else { return };
    let out = std::mem::replace(no, Target { block: between, args: Vec::new() });
    function.block_mut(between).end = Terminator::Jump(out);
}

/// Adds to a block a parameter for each of `params`, with the same type.
fn copy_params(function: &mut Function, params: &[Value], to: BlockId) -> Vec<Value> {
    let types: Vec<Ty> = params.iter().map(|param| function.inst(*param).ty).collect();
    let copies: Vec<Value> = types.into_iter().map(|ty| function.block_param(to, ty)).collect();
    params.iter().zip(&copies).for_each(|(param, copy)| function.copy_name(*param, *copy));
    copies
}

fn copy_insts(
    function: &mut Function,
    from: BlockId,
    to: BlockId,
    values: &mut HashMap<Value, Value>,
) {
    for value in function.block(from).insts.clone() {
        let Inst { op, ty, args, span } = function.inst(value).clone();
        let args = args.iter().map(|arg| copy_of(values, *arg)).collect();
        let same = if op.effect() == Effect::None {
            function.push(to, op, ty, args, span)
        } else {
            let same = function.value(Inst { op, ty, args, span });
            function.block_mut(to).insts.push(same);
            same
        };
        if !matches!(function.inst(same).op, Op::Const(_)) {
            function.copy_name(value, same);
        }
        values.insert(value, same);
    }
}
