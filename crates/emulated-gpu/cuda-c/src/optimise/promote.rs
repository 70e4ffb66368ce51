//! Promotion of memory to values: every piece of a variable whose address doesn't escape.
//!
//! Block parameters are added where the definitions of a piece meet (on the dominance frontiers of
//! Cytron and others). `number` and `drop_dead` remove those that turn out to be redundant.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use crate::ir::{
    BlockId, Convert, Dominators, Function, Graph, Inst, Memory, Op, Slot, Terminator, Ty, Value,
};
use crate::source::Span;

/// A piece of a slot: its number and the offset in it.
type Piece = (u32, u64);

/// The maximum number of arguments that all jumps together get for the added parameters. A `switch`
/// with thousands of cases in the scope of thousands of variables would need millions.
const MAX_ARGUMENTS: usize = 2_000_000;

/// Returns whether anything was promoted.
pub(super) fn run(function: &mut Function) -> bool {
    let places = slot_addresses(function);
    let mut pieces = promotable(function, &places);
    if pieces.is_empty() {
        return false;
    }
    let graph = Graph::new(function);
    let dominators = Dominators::new(&graph);
    let params = insert_params(function, &graph, &dominators, &places, &mut pieces);
    rename(function, &dominators, &places, &pieces, &params);
    !pieces.is_empty()
}

/// The addresses that are known to be in a slot, and the pieces that they point to.
fn slot_addresses(function: &Function) -> HashMap<Value, Piece> {
    let mut places: HashMap<Value, Piece> = HashMap::default();
    let graph = Graph::new(function);
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

/// The pieces of slots that can be promoted, and their types.
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
    // A slot with overlapping pieces isn't promoted.
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

/// The dominance frontier of each block: the blocks where its definitions meet others.
fn frontiers(graph: &Graph, dominators: &Dominators) -> Vec<Vec<BlockId>> {
    let mut frontiers = vec![Vec::new(); graph.len()];
    for &block in &graph.order {
        if graph.preds(block).len() < 2 {
            continue;
        }
        for &pred in graph.preds(block) {
            let mut at = pred;
            // If a block has been visited on the path from another predecessor, the rest of the path has been visited
            // too.
            while at != dominators.immediate_dominator(block)
                && frontiers[at.0 as usize].last() != Some(&block)
            {
                frontiers[at.0 as usize].push(block);
                at = dominators.immediate_dominator(at);
            }
        }
    }
    frontiers
}

/// Adds a parameter to each block in which definitions of a piece meet. Pieces that would need too
/// many arguments are removed from `pieces`, and stay in memory.
fn insert_params(
    function: &mut Function,
    graph: &Graph,
    dominators: &Dominators,
    places: &HashMap<Value, Piece>,
    pieces: &mut BTreeMap<Piece, Memory>,
) -> HashMap<(BlockId, Piece), Value> {
    let frontiers = frontiers(graph, dominators);
    let mut stored: BTreeMap<Piece, Vec<BlockId>> = BTreeMap::new();
    // A piece needs no parameters if every block stores it before loading it.
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
    let mut budget = MAX_ARGUMENTS;
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
        if arguments > budget {
            pieces.remove(&piece);
            continue;
        }
        budget -= arguments;
        for join in joins {
            let param = function.block_param(join, pieces[&piece].ty());
            name_value(function, param, piece);
            params.insert((join, piece), param);
        }
    }
    params
}

/// Gives a value the name of the variable that it is assigned to, if the value is the whole variable. A name that the
/// value already has is kept.
fn name_value(function: &mut Function, value: Value, (slot, at): Piece) {
    let Slot { size, name, .. } = &function.slots[slot as usize];
    let inst = function.inst(value);
    let whole = at == 0 && *size == u64::from(inst.ty.bits()).div_ceil(8);
    if let Some(name) = name
        && (whole || *size < 4)
        && !matches!(inst.op, Op::Const(_))
    {
        function.variables.entry(value).or_insert(name.clone());
    }
}

/// Replaces loads by the stored values, in a walk down the dominator tree.
fn rename(
    function: &mut Function,
    dominators: &Dominators,
    places: &HashMap<Value, Piece>,
    pieces: &BTreeMap<Piece, Memory>,
    params: &HashMap<(BlockId, Piece), Value>,
) {
    let mut replaced = super::rewrite::Replacements::new(function);
    let mut by_block: HashMap<BlockId, Vec<(Piece, Value)>> = HashMap::default();
    for (&(block, piece), &param) in params {
        by_block.entry(block).or_default().push((piece, param));
    }
    // Sort the parameters in the order in which they were added to the block.
    by_block.values_mut().for_each(|added| added.sort_by_key(|(_, param)| *param));
    let mut current = PieceValues::default();
    for &id in &dominators.preorder {
        current.enter(dominators, id);
        for (piece, param) in by_block.get(&id).into_iter().flatten() {
            current.set(*piece, *param);
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
                    let known = current.get(function, piece, ty);
                    let known = as_type(function, known, access.memory.ty(), inst.span, &mut kept);
                    replaced.set(value, known);
                }
                _ => {
                    let stored = replaced.find(inst.args[1]);
                    let stored = as_type(function, stored, ty, inst.span, &mut kept);
                    name_value(function, stored, piece);
                    current.set(piece, stored);
                }
            }
        }
        function.block_mut(id).insts = kept;
        // Pass the values to the new parameters of the successors.
        let mut end = std::mem::replace(&mut function.block_mut(id).end, Terminator::Unreachable);
        for target in end.targets_mut() {
            for (piece, param) in by_block.get(&target.block).into_iter().flatten() {
                let ty = function.inst(*param).ty;
                target.args.push(current.get(function, *piece, ty));
            }
        }
        function.block_mut(id).end = end;
    }
    replaced.apply(function);
}

/// The current values of the pieces during the walk.
#[derive(Default)]
struct PieceValues {
    now: HashMap<Piece, Value>,
    /// Earlier values, which are restored when the walk leaves the subtree of a block.
    before: Vec<(Piece, Option<Value>)>,
    /// The blocks on the path to the current one, and the length of `before` when the walk entered
    /// each.
    open: Vec<(BlockId, usize)>,
}

impl PieceValues {
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

    /// The value of a piece; zero if nothing has been stored.
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
