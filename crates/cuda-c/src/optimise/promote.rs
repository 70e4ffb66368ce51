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

/// Whether there was anything.
pub(super) fn run(function: &mut Function) -> bool {
    let places = places(function);
    let pieces = promotable(function, &places);
    if pieces.is_empty() {
        return false;
    }
    let graph = Graph::of(function);
    let dominators = Dominators::of(&graph);
    let params = insert(function, &graph, &dominators, &places, &pieces);
    rename(function, &graph, &dominators, &places, &pieces, &params);
    true
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
    let mut frontiers = vec![Vec::new(); graph.preds.len()];
    for &block in &graph.order {
        if graph.preds(block).len() < 2 {
            continue;
        }
        for &pred in graph.preds(block) {
            let mut at = pred;
            while at != dominators.idom(block) {
                if !frontiers[at.0 as usize].contains(&block) {
                    frontiers[at.0 as usize].push(block);
                }
                at = dominators.idom(at);
            }
        }
    }
    frontiers
}

/// Gives each block in which definitions meet a parameter.
fn insert(
    function: &mut Function,
    graph: &Graph,
    dominators: &Dominators,
    places: &HashMap<Value, Piece>,
    pieces: &BTreeMap<Piece, Memory>,
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
    for (piece, blocks) in stored {
        if !read_first.contains(&piece) {
            continue;
        }
        let mut work = blocks;
        while let Some(block) = work.pop() {
            for &join in &frontiers[block.0 as usize] {
                if let std::collections::hash_map::Entry::Vacant(e) = params.entry((join, piece)) {
                    let param = function.block_param(join, pieces[&piece].ty());
                    e.insert(param);
                    work.push(join);
                }
            }
        }
    }
    params
}

fn rename(
    function: &mut Function,
    graph: &Graph,
    dominators: &Dominators,
    places: &HashMap<Value, Piece>,
    pieces: &BTreeMap<Piece, Memory>,
    params: &HashMap<(BlockId, Piece), Value>,
) {
    let mut replaced = super::rewrite::Replaced::new(function);
    // What each block leaves behind, of what it changes.
    let mut left: Vec<HashMap<Piece, Value>> = vec![HashMap::default(); function.blocks.len()];
    let mut by_block: HashMap<BlockId, Vec<(Piece, Value)>> = HashMap::default();
    for (&(block, piece), &param) in params {
        by_block.entry(block).or_default().push((piece, param));
    }
    for &id in &graph.order {
        for (piece, param) in by_block.get(&id).into_iter().flatten() {
            left[id.0 as usize].insert(*piece, *param);
        }
        let insts = std::mem::take(&mut function.block_mut(id).insts);
        let mut kept = Vec::with_capacity(insts.len());
        for value in insts {
            let inst = function.inst(value).clone();
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
            match inst.op {
                Op::Load(access) => {
                    let known =
                        current(function, dominators, &left, id, piece, pieces[&piece].ty());
                    let known = as_type(function, known, access.memory.ty(), inst.span, &mut kept);
                    replaced.set(value, known);
                }
                _ => {
                    let stored = replaced.find(inst.args[1]);
                    let ty = pieces[&piece].ty();
                    let stored = as_type(function, stored, ty, inst.span, &mut kept);
                    left[id.0 as usize].insert(piece, stored);
                }
            }
        }
        function.block_mut(id).insts = kept;
    }
    // What the jumps give to the new parameters, in the order in which they were added.
    for &id in &graph.order {
        let mut end = std::mem::replace(&mut function.block_mut(id).end, Terminator::Unreachable);
        for target in end.targets_mut() {
            let own = function.block(target.block).params.clone();
            for param in own.iter().skip(target.args.len()) {
                let found =
                    by_block.get(&target.block).into_iter().flatten().find(|(_, own)| own == param);
                if let Some((piece, _)) = found {
                    let ty = function.inst(*param).ty;
                    let value = current(function, dominators, &left, id, *piece, ty);
                    target.args.push(value);
                }
            }
        }
        function.block_mut(id).end = end;
    }
    replaced.apply(function);
}

/// What a piece holds behind a block; zero where nothing has been written.
fn current(
    function: &mut Function,
    dominators: &Dominators,
    left: &[HashMap<Piece, Value>],
    block: BlockId,
    piece: Piece,
    ty: Ty,
) -> Value {
    let mut at = block;
    loop {
        if let Some(value) = left[at.0 as usize].get(&piece) {
            return *value;
        }
        if at == Function::ENTRY {
            return function.constant(ty, 0);
        }
        at = dominators.idom(at);
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
