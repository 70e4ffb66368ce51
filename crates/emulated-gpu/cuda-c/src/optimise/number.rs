//! Value numbering: computes equal values once, simplifies, forwards loads, and uses the outcome of
//! branches.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use rustc_hash::{FxHashMap as HashMap, FxHasher};

use super::rewrite::Replacements;
use super::simplify::{commutes, simplify_fully};
use crate::ir::{
    Access, BlockId, Dominators, Effect, Function, Graph, Inst, Op, Terminator, Ty, Value,
};
use crate::source::Span;

/// The known contents of memory: a map from an address and an access to the place and the value.
type KnownMemory = HashMap<(Value, Access), (MemoryPlace, Value)>;

/// The maximum number of known values in memory: each store is compared with all of them.
const MAX_KNOWN: usize = 1000;
/// The maximum number of known values that are passed on to a block's successors, each of which may
/// copy them.
const MAX_PASSED_ON: usize = 250;
/// The maximum number of additions to an address that are followed back to its object.
const MAX_STEPS: usize = 64;

/// Facts that hold in a block and in all blocks that it dominates. They are found by a key and by
/// the block's position in the preorder of the dominator tree. Of two blocks with the same key,
/// neither dominates the other, because a block in which the fact is known doesn't add it again.
struct DominatedFacts<T>(BTreeMap<(u64, u32), (BlockId, T)>);

impl<T> DominatedFacts<T> {
    fn insert(&mut self, key: u64, (dominators, block): (&Dominators, BlockId), fact: T) {
        self.0.insert((key, dominators.place(block)), (block, fact));
    }

    fn get(&self, key: u64, (dominators, block): (&Dominators, BlockId)) -> Option<&T> {
        let (_, (root, fact)) =
            self.0.range((key, 0)..=(key, dominators.place(block))).next_back()?;
        dominators.dominates(*root, block).then_some(fact)
    }
}

/// Returns whether anything changed.
pub(super) fn run(function: &mut Function) -> bool {
    let graph = Graph::new(function);
    let dominators = Dominators::new(&graph);
    let mut replaced = Replacements::new(function);
    let mut changed = remove_redundant_params(function, &graph, &mut replaced);
    // The values computed so far, by the hash of their operation.
    let mut table: DominatedFacts<Value> = DominatedFacts(BTreeMap::new());
    let mut facts: BranchFacts = DominatedFacts(BTreeMap::new());
    let mut memory: Vec<Rc<KnownMemory>> = vec![Rc::default(); function.blocks.len()];
    for &id in &graph.order {
        let mut known = Rc::new(KnownMemory::default());
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
            // A placeholder that no rule matches, until the instruction is put back below.
            let ty = function.inst(value).ty;
            let nothing = Inst { op: Op::BlockParam, ty, args: Vec::new(), span: Span::default() };
            let mut inst = std::mem::replace(function.inst_mut(value), nothing);
            for arg in &mut inst.args {
                let new = replaced.find(*arg);
                changed |= new != std::mem::replace(arg, new);
            }
            changed |= apply_facts(function, &mut inst, &facts, &dominators, id);
            let (same, reduced) = simplify_fully(function, &mut inst.op, inst.ty, &mut inst.args);
            changed |= reduced;
            if let Some(same) = same {
                *function.inst_mut(value) = inst;
                replaced.set(value, same);
                continue;
            }
            if inst.op.effect() == Effect::None {
                let hash = hash(&inst);
                let equal = table.get(hash, (&dominators, id)).copied();
                if let Some(same) = equal.filter(|same| same_result(&inst, function.inst(*same))) {
                    *function.inst_mut(value) = inst;
                    replaced.set(value, same);
                    changed = true;
                    continue;
                }
                table.insert(hash, (&dominators, id), value);
            }
            let same = forward_memory(function, &inst, value, &mut known);
            *function.inst_mut(value) = inst;
            if let Some(same) = same {
                replaced.set(value, same);
                changed = true;
                continue;
            }
            kept.push(value);
        }
        function.block_mut(id).insts = kept;
        if known.len() <= MAX_PASSED_ON {
            memory[id.0 as usize] = known;
        }
        let mut end = std::mem::replace(&mut function.block_mut(id).end, Terminator::Unreachable);
        for value in end.values_mut() {
            *value = replaced.find(*value);
        }
        if let Terminator::Branch { condition, .. } = &mut end
            && let Some(is) = known_condition(&facts, &dominators, *condition, id)
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

/// The operands of a commutative operation in a canonical order; `None` for other operations.
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

/// The conditions that branches have decided.
type BranchFacts = DominatedFacts<bool>;

/// The value of a condition in a block, if a branch on the way to the block has decided it.
fn known_condition(
    facts: &BranchFacts,
    dominators: &Dominators,
    condition: Value,
    block: BlockId,
) -> Option<bool> {
    facts.get(u64::from(condition.0), (dominators, block)).copied()
}

fn apply_facts(
    function: &mut Function,
    inst: &mut Inst,
    facts: &BranchFacts,
    dominators: &Dominators,
    block: BlockId,
) -> bool {
    let mut changed = false;
    if matches!(inst.op, Op::Template(_) | Op::Call(_)) {
        return false;
    }
    for index in 0..inst.args.len() {
        if function.inst(inst.args[index]).ty == Ty::Pred
            && let Some(is) = known_condition(facts, dominators, inst.args[index], block)
        {
            inst.args[index] = function.constant(Ty::Pred, u64::from(is));
            changed = true;
        }
    }
    changed
}

/// The target of an address.
#[derive(Clone, Copy, Debug)]
struct MemoryPlace {
    /// The address without constant offsets, and their sum.
    root: Value,
    offset: i64,
    /// The address without any offsets: a variable or a parameter if it can be traced back that
    /// far.
    object: Value,
}

impl MemoryPlace {
    fn new(function: &Function, address: Value) -> Self {
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

/// Whether two accesses can't overlap.
fn disjoint(
    function: &Function,
    (a, of_a): (MemoryPlace, Access),
    (b, of_b): (MemoryPlace, Access),
) -> bool {
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

/// Updates the known contents of memory for a load or a store. Returns the value of a load if it is
/// known.
fn forward_memory(
    function: &Function,
    inst: &Inst,
    value: Value,
    known: &mut Rc<KnownMemory>,
) -> Option<Value> {
    let add = |known: &mut KnownMemory, key, what| {
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
            add(Rc::make_mut(known), own, (MemoryPlace::new(function, inst.args[0]), value));
        }
        Op::Store(access) if !access.volatile => {
            let own = (inst.args[0], Access::plain(access.memory));
            let place = MemoryPlace::new(function, inst.args[0]);
            let known = Rc::make_mut(known);
            known.retain(|(_, access), (other, _)| {
                disjoint(function, (*other, *access), (place, own.1))
            });
            // A narrow store only keeps the low bits.
            if access.memory.bytes() >= 4 && function.inst(inst.args[1]).ty == access.memory.ty() {
                add(known, own, (place, inst.args[1]));
            }
        }
        op if op.effect() == Effect::Acts => *known = Rc::default(),
        _ => {}
    }
    None
}

/// Keeps only the values whose flag in `keep` is set.
fn retain_marked(values: &mut Vec<Value>, keep: &[bool]) {
    let mut keep = keep.iter();
    values.retain(|_| keep.next() == Some(&true));
}

/// Removes block parameters for which all jumps pass the same value.
fn remove_redundant_params(
    function: &mut Function,
    graph: &Graph,
    replaced: &mut Replacements,
) -> bool {
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
            retain_marked(&mut function.block_mut(id).params, &keep);
            let mut preds: Vec<BlockId> = graph.preds(id).to_vec();
            preds.sort();
            preds.dedup();
            for pred in preds {
                for target in function.block_mut(pred).end.targets_mut() {
                    if target.block == id {
                        retain_marked(&mut target.args, &keep);
                    }
                }
            }
        }
    }
    any
}
