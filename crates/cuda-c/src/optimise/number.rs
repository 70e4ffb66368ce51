//! Values that are the same are computed once: simplification, global value numbering, loads of what
//! is known, and what a branch has decided.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap as HashMap, FxHasher};

use super::rewrite::Replaced;
use super::simplify::{Simplified, commutes, simplify};
use crate::ir::{
    Access, BlockId, Dominators, Effect, Function, Graph, Inst, Op, Terminator, Ty, Value,
};
use crate::source::Span;

/// What is known to lie in memory: address and access.
type Known = HashMap<(Value, Access), Value>;

/// Whether anything changed.
pub(super) fn run(function: &mut Function) -> bool {
    let graph = Graph::of(function);
    let dominators = Dominators::of(&graph);
    let mut replaced = Replaced::new(function);
    let mut changed = needless_params(function, &graph, &mut replaced);
    // By the hash of what is computed.
    let mut table: HashMap<u64, Vec<(Value, BlockId)>> = HashMap::default();
    let mut facts: HashMap<Value, Vec<(BlockId, bool)>> = HashMap::default();
    let mut memory: Vec<Known> = vec![HashMap::default(); function.blocks.len()];
    for &id in &graph.order {
        let mut known = Known::default();
        if let [pred] = graph.preds(id) {
            known = memory[pred.0 as usize].clone();
            if let Terminator::Branch { condition, yes, no } = &function.block(*pred).end
                && yes.block != no.block
            {
                let condition = replaced.find(*condition);
                facts.entry(condition).or_default().push((id, yes.block == id));
            }
        }
        let insts = std::mem::take(&mut function.block_mut(id).insts);
        let mut kept = Vec::with_capacity(insts.len());
        for value in insts {
            // It is put back below; nothing is known of it meanwhile.
            let ty = function.inst(value).ty;
            let nothing = Inst { op: Op::BlockParam, ty, args: Vec::new(), span: Span::default() };
            let mut inst = std::mem::replace(function.inst_mut(value), nothing);
            for arg in &mut inst.args {
                let new = replaced.find(*arg);
                changed |= new != std::mem::replace(arg, new);
            }
            changed |= decided(function, &mut inst, &facts, &dominators, id);
            let (same, reduced) = reduce(function, &mut inst);
            changed |= reduced;
            if let Some(same) = same {
                *function.inst_mut(value) = inst;
                replaced.set(value, same);
                continue;
            }
            if inst.op.effect() == Effect::None {
                let entry = table.entry(hash(&inst)).or_default();
                let found = entry.iter().find(|(other, block)| {
                    same_result(&inst, function.inst(*other)) && dominators.dominates(*block, id)
                });
                if let Some((same, _)) = found {
                    *function.inst_mut(value) = inst;
                    replaced.set(value, *same);
                    changed = true;
                    continue;
                }
                entry.push((value, id));
            }
            let same = remember(function, &inst, value, &mut known);
            *function.inst_mut(value) = inst;
            if let Some(same) = same {
                replaced.set(value, same);
                changed = true;
                continue;
            }
            kept.push(value);
        }
        function.block_mut(id).insts = kept;
        memory[id.0 as usize] = known;
        let mut end = std::mem::replace(&mut function.block_mut(id).end, Terminator::Unreachable);
        for value in end.values_mut() {
            *value = replaced.find(*value);
        }
        if let Terminator::Branch { condition, .. } = &mut end
            && let Some(is) = fact(&facts, &dominators, *condition, id)
        {
            *condition = function.constant(Ty::Pred, u64::from(is));
            changed = true;
        }
        function.block_mut(id).end = end;
    }
    if changed {
        replaced.apply(function);
    }
    changed
}

/// The operands in an order of their own, where the order doesn't matter.
fn ordered(inst: &Inst) -> Option<(Value, Value)> {
    match (&inst.op, inst.args.as_slice()) {
        (Op::Binary(op, _), &[a, b]) if commutes(*op) => Some((a.min(b), a.max(b))),
        _ => None,
    }
}

fn hash(inst: &Inst) -> u64 {
    let mut hasher = FxHasher::default();
    (&inst.op, inst.ty).hash(&mut hasher);
    match ordered(inst) {
        Some(pair) => pair.hash(&mut hasher),
        None => inst.args.hash(&mut hasher),
    }
    hasher.finish()
}

fn same_result(a: &Inst, b: &Inst) -> bool {
    let alike = |a: &Inst, b: &Inst| match (ordered(a), ordered(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a.args == b.args,
    };
    a.ty == b.ty && a.op == b.op && alike(a, b)
}

/// What a branch that leads here has decided about a condition.
fn fact(
    facts: &HashMap<Value, Vec<(BlockId, bool)>>,
    dominators: &Dominators,
    condition: Value,
    block: BlockId,
) -> Option<bool> {
    let found =
        facts.get(&condition)?.iter().find(|(root, _)| dominators.dominates(*root, block))?;
    Some(found.1)
}

fn decided(
    function: &mut Function,
    inst: &mut Inst,
    facts: &HashMap<Value, Vec<(BlockId, bool)>>,
    dominators: &Dominators,
    block: BlockId,
) -> bool {
    let mut changed = false;
    if matches!(inst.op, Op::Template(_) | Op::Call(_)) {
        return false;
    }
    for index in 0..inst.args.len() {
        if function.inst(inst.args[index]).ty == Ty::Pred
            && let Some(is) = fact(facts, dominators, inst.args[index], block)
        {
            inst.args[index] = function.constant(Ty::Pred, u64::from(is));
            changed = true;
        }
    }
    changed
}

/// Simplifies in place; the value that it is where there is one already, and whether it is another now.
fn reduce(function: &mut Function, inst: &mut Inst) -> (Option<Value>, bool) {
    let mut changed = false;
    for _ in 0..8 {
        match simplify(function, &inst.op, inst.ty, &inst.args) {
            Simplified::Value(value) => return (Some(value), true),
            Simplified::Op(op, args) => {
                (inst.op, inst.args) = (op, args);
                changed = true;
            }
            Simplified::Same => break,
        }
    }
    (None, changed)
}

/// What an address is in: a variable, or a parameter that is `__restrict__`.
fn root(function: &Function, address: Value) -> (Value, i64) {
    let (mut at, mut offset) = (address, 0i64);
    while function.inst(at).op == Op::PtrAdd {
        let inst = function.inst(at);
        offset = match function.constant_of(inst.args[1]) {
            Some(bits) => offset.wrapping_add(bits as i64),
            None => return (at, offset),
        };
        at = inst.args[0];
    }
    (at, offset)
}

fn object(function: &Function, address: Value) -> Value {
    let mut at = address;
    while function.inst(at).op == Op::PtrAdd {
        at = function.inst(at).args[0];
    }
    at
}

/// Whether two accesses can't touch the same byte.
fn apart(function: &Function, a: (Value, Access), b: (Value, Access)) -> bool {
    let ((root_a, at_a), (root_b, at_b)) = (root(function, a.0), root(function, b.0));
    if root_a == root_b {
        let (size_a, size_b) = (a.1.memory.bytes() as i64, b.1.memory.bytes() as i64);
        return at_a.saturating_add(size_a) <= at_b || at_b.saturating_add(size_b) <= at_a;
    }
    let (x, y) = (object(function, a.0), object(function, b.0));
    if x == y {
        return false;
    }
    let is_variable = |value: Value| matches!(function.inst(value).op, Op::Slot(_) | Op::Global(_));
    let only = |value: Value| match function.inst(value).op {
        Op::Param(index) => function.params[index as usize].restrict,
        _ => false,
    };
    let known =
        |value: Value| is_variable(value) || matches!(function.inst(value).op, Op::Param(_));
    match (&function.inst(x).op, &function.inst(y).op) {
        (Op::Slot(a), Op::Slot(b)) | (Op::Global(a), Op::Global(b)) => a != b,
        (Op::Slot(_), Op::Global(_) | Op::Param(_))
        | (Op::Global(_) | Op::Param(_), Op::Slot(_)) => true,
        _ => known(x) && known(y) && (only(x) || only(y)),
    }
}

/// What is read is remembered, and what is written; the value of a load that is known.
fn remember(function: &Function, inst: &Inst, value: Value, known: &mut Known) -> Option<Value> {
    match &inst.op {
        Op::Load(access) if !access.volatile => {
            let plain = Access::plain(access.memory);
            if let Some(same) = known.get(&(inst.args[0], plain)) {
                return Some(*same);
            }
            known.insert((inst.args[0], plain), value);
        }
        Op::Store(access) if !access.volatile => {
            let own = (inst.args[0], Access::plain(access.memory));
            known.retain(|other, _| apart(function, *other, own));
            // A narrow store keeps the low bits only.
            if access.memory.bytes() >= 4 && function.inst(inst.args[1]).ty == access.memory.ty() {
                known.insert(own, inst.args[1]);
            }
        }
        op if op.effect() == Effect::Acts => known.clear(),
        _ => {}
    }
    None
}

/// Parameters of blocks that every jump gives the same value.
fn needless_params(function: &mut Function, graph: &Graph, replaced: &mut Replaced) -> bool {
    let mut changed = true;
    let mut any = false;
    let mut rounds = 0;
    while changed && rounds < 10 {
        changed = false;
        rounds += 1;
        for &id in &graph.order {
            if id == Function::ENTRY || function.block(id).params.is_empty() {
                continue;
            }
            let mut keep = vec![true; function.block(id).params.len()];
            for (index, keep) in keep.iter_mut().enumerate() {
                let param = function.block(id).params[index];
                let mut same: Option<Value> = None;
                let mut differs = false;
                for &pred in graph.preds(id) {
                    for target in function.block(pred).end.targets() {
                        if target.block != id {
                            continue;
                        }
                        let arg = replaced.find(target.args[index]);
                        if arg == param || Some(arg) == same {
                            continue;
                        }
                        differs |= same.is_some();
                        same = Some(arg);
                    }
                }
                if let (Some(value), false) = (same, differs) {
                    replaced.set(param, value);
                    *keep = false;
                    (changed, any) = (true, true);
                }
            }
            if keep.iter().all(|keep| *keep) {
                continue;
            }
            let mut index = 0;
            function.block_mut(id).params.retain(|_| {
                index += 1;
                keep[index - 1]
            });
            let mut preds: Vec<BlockId> = graph.preds(id).to_vec();
            preds.sort();
            preds.dedup();
            for pred in preds {
                for target in function.block_mut(pred).end.targets_mut() {
                    if target.block == id {
                        let mut index = 0;
                        target.args.retain(|_| {
                            index += 1;
                            keep[index - 1]
                        });
                    }
                }
            }
        }
    }
    any
}
