//! Values that are the same are computed once: simplification, global value numbering, loads of what
//! is known, and what a branch has decided.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use rustc_hash::{FxHashMap as HashMap, FxHasher};

use super::rewrite::Replaced;
use super::simplify::{Simplified, commutes, simplify};
use crate::ir::{
    Access, BlockId, Dominators, Effect, Function, Graph, Inst, Op, Terminator, Ty, Value,
};
use crate::source::Span;

/// What is known to lie in memory: by address and access, where that is and what it is.
type Known = HashMap<(Value, Access), (Place, Value)>;

/// As many values in memory are remembered at most: each store is compared with all of them.
const MAX_KNOWN: usize = 1000;
/// As many are handed on from block to block, each of which may have its own.
const MAX_HANDED_ON: usize = 250;
/// As many sums of an address are followed at most to where it begins.
const MAX_STEPS: usize = 64;

/// What holds in a block and in those that it dominates, by a key and the block's place in the dominators'
/// preorder. Of the blocks of one key none dominates another: there, nothing new is found.
struct Below<T>(BTreeMap<(u64, u32), (BlockId, T)>);

impl<T> Below<T> {
    fn insert(&mut self, key: u64, (dominators, block): (&Dominators, BlockId), what: T) {
        self.0.insert((key, dominators.place(block)), (block, what));
    }

    fn get(&self, key: u64, (dominators, block): (&Dominators, BlockId)) -> Option<&T> {
        let (_, (root, what)) =
            self.0.range((key, 0)..=(key, dominators.place(block))).next_back()?;
        dominators.dominates(*root, block).then_some(what)
    }
}

/// Whether anything changed.
pub(super) fn run(function: &mut Function) -> bool {
    let graph = Graph::of(function);
    let dominators = Dominators::of(&graph);
    let mut replaced = Replaced::new(function);
    let mut changed = needless_params(function, &graph, &mut replaced);
    // By the hash of what is computed.
    let mut table: Below<Value> = Below(BTreeMap::new());
    let mut facts: Facts = Below(BTreeMap::new());
    let mut memory: Vec<Rc<Known>> = vec![Rc::default(); function.blocks.len()];
    for &id in &graph.order {
        let mut known = Rc::new(Known::default());
        if let [pred] = graph.preds(id) {
            known = memory[pred.0 as usize].clone();
            if let Terminator::Branch { condition, yes, no } = &function.block(*pred).end
                && yes.block != no.block
            {
                let condition = replaced.find(*condition);
                facts.insert(u64::from(condition.0), (&dominators, id), yes.block == id);
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
                let hash = hash(&inst);
                let found = table.get(hash, (&dominators, id)).copied();
                if let Some(same) = found.filter(|same| same_result(&inst, function.inst(*same))) {
                    *function.inst_mut(value) = inst;
                    replaced.set(value, same);
                    changed = true;
                    continue;
                }
                table.insert(hash, (&dominators, id), value);
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
        if known.len() <= MAX_HANDED_ON {
            memory[id.0 as usize] = known;
        }
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

/// What branches have decided, by their conditions.
type Facts = Below<bool>;

/// What a branch that leads here has decided about a condition.
fn fact(facts: &Facts, dominators: &Dominators, condition: Value, block: BlockId) -> Option<bool> {
    facts.get(u64::from(condition.0), (dominators, block)).copied()
}

fn decided(
    function: &mut Function,
    inst: &mut Inst,
    facts: &Facts,
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

/// Where an address points.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// What a constant is added to, and the constant.
    root: Value,
    offset: i64,
    /// What anything is added to: a variable or a parameter, if it can be followed that far.
    object: Value,
}

impl Place {
    fn of(function: &Function, address: Value) -> Self {
        let mut place = Self { root: address, offset: 0, object: address };
        let mut constant = true;
        for _ in 0..MAX_STEPS {
            let inst = function.inst(place.object);
            if inst.op != Op::PtrAdd {
                break;
            }
            place.object = inst.args[0];
            match function.constant_of(inst.args[1]).filter(|_| constant) {
                Some(bits) => {
                    place.offset = place.offset.wrapping_add(bits as i64);
                    place.root = place.object;
                }
                None => constant = false,
            }
        }
        place
    }
}

/// Whether two accesses can't touch the same byte.
fn apart(function: &Function, (a, of_a): (Place, Access), (b, of_b): (Place, Access)) -> bool {
    if a.root == b.root {
        let (size_a, size_b) = (of_a.memory.bytes() as i64, of_b.memory.bytes() as i64);
        return a.offset.saturating_add(size_a) <= b.offset
            || b.offset.saturating_add(size_b) <= a.offset;
    }
    let (x, y) = (a.object, b.object);
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
fn remember(
    function: &Function,
    inst: &Inst,
    value: Value,
    known: &mut Rc<Known>,
) -> Option<Value> {
    let add = |known: &mut Known, key, what| {
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(key, what);
    };
    match &inst.op {
        Op::Load(access) if !access.volatile => {
            let own = (inst.args[0], Access::plain(access.memory));
            if let Some((_, same)) = known.get(&own) {
                return Some(*same);
            }
            add(Rc::make_mut(known), own, (Place::of(function, inst.args[0]), value));
        }
        Op::Store(access) if !access.volatile => {
            let own = (inst.args[0], Access::plain(access.memory));
            let place = Place::of(function, inst.args[0]);
            let known = Rc::make_mut(known);
            known.retain(|(_, access), (other, _)| {
                apart(function, (*other, *access), (place, own.1))
            });
            // A narrow store keeps the low bits only.
            if access.memory.bytes() >= 4 && function.inst(inst.args[1]).ty == access.memory.ty() {
                add(known, own, (place, inst.args[1]));
            }
        }
        op if op.effect() == Effect::Acts => *known = Rc::default(),
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
