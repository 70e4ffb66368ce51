//! Slots of memory to values: every piece of a variable whose address nothing else gets to know.
//!
//! Parameters are put where the definitions of a piece meet (Cytron and others' dominance
//! frontiers); those that turn out to be needless, `number` and `drop_dead` take away.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use crate::ir::{
    BlockId, Convert, Dominators, Function, Graph, Inst, Memory, Op, Terminator, Ty, Value,
};
use crate::source::Span;

/// A piece of a slot: its number and the offset in it.
type Piece = (u32, u64);

/// The jumps of a function give at most as many values to parameters that are added at once: a `switch` of
/// thousands of cases around thousands of variables would need millions.
const MAX_ARGUMENTS: usize = 2_000_000;

/// Whether there was anything.
pub(super) fn run(function: &mut Function) -> bool {
    let places = places(function);
    let mut pieces = promotable(function, &places);
    if pieces.is_empty() {
        return false;
    }
    let graph = Graph::of(function);
    let dominators = Dominators::of(&graph);
    let params = insert(function, &graph, &dominators, &places, &mut pieces);
    rename(function, &dominators, &places, &pieces, &params);
    !pieces.is_empty()
}

/// The addresses that are known to be in a slot.
fn places(function: &Function) -> HashMap<Value, Piece> {
    let mut places: HashMap<Value, Piece> = HashMap::default();
    let graph = Graph::of(function);
    for &id in &graph.order {
        for &value in &function.block(id).insts {
            let inst = function.inst(value);
            match inst.op {
                Op::Slot(slot) => {
                    places.insert(value, (slot, 0));
                }
                Op::PtrAdd => {
                    let base = places.get(&inst.args[0]).copied();
                    if let (Some((slot, at)), Some(offset)) =
                        (base, function.constant_of(inst.args[1]))
                    {
                        places.insert(value, (slot, at.wrapping_add(offset)));
                    }
                }
                _ => {}
            }
        }
    }
    places
}

/// The pieces of slots that can be values, and what they hold.
fn promotable(function: &Function, places: &HashMap<Value, Piece>) -> BTreeMap<Piece, Memory> {
    let mut escaped: HashSet<u32> = HashSet::default();
    let mut pieces: BTreeMap<Piece, Memory> = BTreeMap::new();
    let escape = |value: Value, escaped: &mut HashSet<u32>| {
        if let Some((slot, _)) = places.get(&value) {
            escaped.insert(*slot);
        }
    };
    for id in function.ids() {
        for &value in &function.block(id).insts {
            let inst = function.inst(value);
            match &inst.op {
                Op::Load(access) | Op::Store(access) => {
                    if let Some(&(slot, at)) = places.get(&inst.args[0]) {
                        let known = *pieces.entry((slot, at)).or_insert(access.memory);
                        let size = function.slots[slot as usize].size;
                        let outside =
                            at.checked_add(access.memory.bytes()).is_none_or(|end| end > size);
                        if access.volatile || !compatible(known, access.memory) || outside {
                            escaped.insert(slot);
                        }
                    }
                    if let Some(&stored) = inst.args.get(1) {
                        escape(stored, &mut escaped);
                    }
                }
                Op::PtrAdd if places.contains_key(&value) => {}
                _ => inst.args.iter().for_each(|arg| escape(*arg, &mut escaped)),
            }
        }
        for value in function.block(id).end.values() {
            escape(value, &mut escaped);
        }
    }
    // Pieces that overlap are read as something else than they were written.
    let mut last: Option<(Piece, u64)> = None;
    for (&(slot, at), memory) in &pieces {
        if let Some(((other, _), end)) = last
            && other == slot
            && at < end
        {
            escaped.insert(slot);
        }
        last = Some(((slot, at), at + memory.bytes()));
    }
    pieces.retain(|(slot, _), _| !escaped.contains(slot));
    pieces
}

fn compatible(a: Memory, b: Memory) -> bool {
    let words = |memory| matches!(memory, Memory::B32 | Memory::F32 | Memory::B64 | Memory::F64);
    a == b || a.bytes() == b.bytes() && words(a) && words(b)
}

/// The blocks where the definitions of two ways meet.
fn frontiers(graph: &Graph, dominators: &Dominators) -> Vec<Vec<BlockId>> {
    let mut frontiers = vec![Vec::new(); graph.len()];
    for &block in &graph.order {
        if graph.preds(block).len() < 2 {
            continue;
        }
        for &pred in graph.preds(block) {
            let mut at = pred;
            // From a block that has been passed on the way from another one, the rest has been, too.
            while at != dominators.idom(block) && frontiers[at.0 as usize].last() != Some(&block) {
                frontiers[at.0 as usize].push(block);
                at = dominators.idom(at);
            }
        }
    }
    frontiers
}

/// Gives each block in which definitions meet a parameter. Pieces for which there would be too many are
/// taken out of `pieces`, and stay in memory.
fn insert(
    function: &mut Function,
    graph: &Graph,
    dominators: &Dominators,
    places: &HashMap<Value, Piece>,
    pieces: &mut BTreeMap<Piece, Memory>,
) -> HashMap<(BlockId, Piece), Value> {
    let frontiers = frontiers(graph, dominators);
    let mut stored: BTreeMap<Piece, Vec<BlockId>> = BTreeMap::new();
    // A piece that isn't read before it is written in any block needs none.
    let mut read_first: HashSet<Piece> = HashSet::default();
    for &id in &graph.order {
        let mut written: HashSet<Piece> = HashSet::default();
        for &value in &function.block(id).insts {
            let inst = function.inst(value);
            let Some(piece) = inst.args.first().and_then(|address| places.get(address)) else {
                continue;
            };
            if !pieces.contains_key(piece) {
                continue;
            }
            match inst.op {
                Op::Store(_) if written.insert(*piece) => {
                    stored.entry(*piece).or_default().push(id);
                }
                Op::Load(_) if !written.contains(piece) => {
                    read_first.insert(*piece);
                }
                _ => {}
            }
        }
    }
    let mut params = HashMap::default();
    let mut room = MAX_ARGUMENTS;
    for (piece, blocks) in stored {
        if !read_first.contains(&piece) {
            continue;
        }
        let mut joins: Vec<BlockId> = Vec::new();
        let mut seen: HashSet<BlockId> = HashSet::default();
        let mut work = blocks;
        let mut arguments = 0;
        while let Some(block) = work.pop() {
            for &join in &frontiers[block.0 as usize] {
                if seen.insert(join) {
                    arguments += graph.preds(join).len();
                    joins.push(join);
                    work.push(join);
                }
            }
        }
        if arguments > room {
            pieces.remove(&piece);
            continue;
        }
        room -= arguments;
        for join in joins {
            params.insert((join, piece), function.block_param(join, pieces[&piece].ty()));
        }
    }
    params
}

/// Replaces loads by what was stored, on a walk down the dominator tree.
fn rename(
    function: &mut Function,
    dominators: &Dominators,
    places: &HashMap<Value, Piece>,
    pieces: &BTreeMap<Piece, Memory>,
    params: &HashMap<(BlockId, Piece), Value>,
) {
    let mut replaced = super::rewrite::Replaced::new(function);
    let mut by_block: HashMap<BlockId, Vec<(Piece, Value)>> = HashMap::default();
    for (&(block, piece), &param) in params {
        by_block.entry(block).or_default().push((piece, param));
    }
    // In the order in which they were added to the block.
    by_block.values_mut().for_each(|added| added.sort_by_key(|(_, param)| *param));
    let mut held = Held::default();
    for &id in &dominators.preorder {
        held.enter(dominators, id);
        for (piece, param) in by_block.get(&id).into_iter().flatten() {
            held.set(*piece, *param);
        }
        let insts = std::mem::take(&mut function.block_mut(id).insts);
        let mut kept = Vec::with_capacity(insts.len());
        for value in insts {
            let inst = function.inst(value);
            let piece = match inst.op {
                Op::Load(_) | Op::Store(_) => {
                    places.get(&inst.args[0]).filter(|piece| pieces.contains_key(piece))
                }
                _ => None,
            };
            let Some(&piece) = piece else {
                kept.push(value);
                continue;
            };
            let inst = inst.clone();
            let ty = pieces[&piece].ty();
            match inst.op {
                Op::Load(access) => {
                    let known = held.get(function, piece, ty);
                    let known = as_type(function, known, access.memory.ty(), inst.span, &mut kept);
                    replaced.set(value, known);
                }
                _ => {
                    let stored = replaced.find(inst.args[1]);
                    held.set(piece, as_type(function, stored, ty, inst.span, &mut kept));
                }
            }
        }
        function.block_mut(id).insts = kept;
        // What the jumps give to the new parameters.
        let mut end = std::mem::replace(&mut function.block_mut(id).end, Terminator::Unreachable);
        for target in end.targets_mut() {
            for (piece, param) in by_block.get(&target.block).into_iter().flatten() {
                let ty = function.inst(*param).ty;
                target.args.push(held.get(function, *piece, ty));
            }
        }
        function.block_mut(id).end = end;
    }
    replaced.apply(function);
}

/// What the pieces hold where the walk is.
#[derive(Default)]
struct Held {
    now: HashMap<Piece, Value>,
    /// What they held before, to be restored when the walk leaves what a block dominates.
    before: Vec<(Piece, Option<Value>)>,
    /// The blocks that the walk is in, and how much of `before` is from outside of each.
    open: Vec<(BlockId, usize)>,
}

impl Held {
    fn enter(&mut self, dominators: &Dominators, id: BlockId) {
        while let Some(&(block, outside)) = self.open.last()
            && !dominators.dominates(block, id)
        {
            for (piece, value) in self.before.drain(outside..).rev() {
                match value {
                    Some(value) => self.now.insert(piece, value),
                    None => self.now.remove(&piece),
                };
            }
            self.open.pop();
        }
        self.open.push((id, self.before.len()));
    }

    fn set(&mut self, piece: Piece, value: Value) {
        let before = self.now.insert(piece, value);
        self.before.push((piece, before));
    }

    /// Zero where nothing has been written.
    fn get(&self, function: &mut Function, piece: Piece, ty: Ty) -> Value {
        self.now.get(&piece).copied().unwrap_or_else(|| function.constant(ty, 0))
    }
}

fn as_type(
    function: &mut Function,
    value: Value,
    ty: Ty,
    span: Span,
    place: &mut Vec<Value>,
) -> Value {
    if function.inst(value).ty == ty {
        return value;
    }
    let op = Op::Convert(Convert::Bits);
    let inst = Inst { op, ty, args: vec![value], span };
    let value = function.value(inst);
    place.push(value);
    value
}
