//! Register allocation, which ends static single assignment form: determines the values that share
//! a register, and the copies that jumps between blocks need. As in the methods of Sreedhar and
//! Budimlić, a block parameter shares a register with its arguments if they aren't live at the same
//! time.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use crate::ir::{BlockId, Function, Graph, Op, Terminator, Ty, Value};

/// A copy: the target, and the source, which is a register or a constant.
pub(super) type Copy = (Value, Value);

/// The registers of a function, and the copies between them.
#[derive(Debug)]
pub(super) struct Allocation {
    /// For each value, the value whose register it shares.
    pub(super) leader: Vec<Value>,
    /// Copies at the end of blocks that only have one successor, before the jump.
    pub(super) copies_at_end: HashMap<BlockId, Vec<Copy>>,
    /// Copies at the beginning of blocks that only have one predecessor.
    pub(super) copies_at_start: HashMap<BlockId, Vec<Copy>>,
    /// Copies for an edge that needs a separate block. The key is the block with the branch, and
    /// whether the edge leads to `yes`.
    pub(super) edge_copies: HashMap<(BlockId, bool), Vec<Copy>>,
    /// The order of the blocks in the text.
    pub(super) order: Vec<BlockId>,
}

/// The maximum number of live values, summed over all blocks, and the maximum number of pairs of
/// values that are compared. Beyond them, values get separate registers, which only costs copies.
const MAX_LIVE: usize = 8_000_000;
const MAX_COMPARED: usize = 20_000_000;

struct Liveness {
    live_in: Vec<HashSet<Value>>,
    /// The successors of each block.
    successors: Vec<Vec<BlockId>>,
    /// The last use of a value in a block; the arguments of jumps count as used after all
    /// instructions.
    last_use: HashMap<(BlockId, Value), usize>,
    /// The block that defines each value, and the position in it: 0 for parameters, from 1 for
    /// instructions.
    defined: Vec<Option<(BlockId, usize)>>,
    /// Pairs of an `asm` result and an `asm` argument that must not share a register, because the
    /// result is written before all arguments have been read.
    early_conflicts: HashSet<(Value, Value)>,
}

pub(super) fn allocate(function: &Function) -> Allocation {
    let graph = Graph::new(function);
    let liveness = liveness(function, &graph);
    let mut budget = MAX_COMPARED;
    let mut classes = RegisterClasses::new(function.values.len());
    // Back edges are handled first, because they are in the innermost loops.
    let mut number = vec![0; function.blocks.len()];
    for (index, block) in graph.order.iter().enumerate() {
        number[block.0 as usize] = index;
    }
    let mut edges: Vec<(bool, BlockId, Value, Value)> = Vec::new();
    for &id in &graph.order {
        for target in function.block(id).end.targets() {
            let back = number[target.block.0 as usize] <= number[id.0 as usize];
            for (param, arg) in function.block(target.block).params.iter().zip(&target.args) {
                if !matches!(function.inst(*arg).op, Op::Const(_)) {
                    edges.push((!back, id, *param, *arg));
                }
            }
        }
    }
    edges.sort_by_key(|(forward, ..)| *forward);
    for (_, _, param, arg) in edges {
        if let Some(liveness) = &liveness {
            classes.merge(param, arg, liveness, &mut budget);
        }
    }
    let mut allocation = Allocation {
        leader: (0..function.values.len() as u32).map(|value| classes.find(Value(value))).collect(),
        copies_at_end: HashMap::default(),
        copies_at_start: HashMap::default(),
        edge_copies: HashMap::default(),
        order: graph.order.clone(),
    };
    for &id in &graph.order {
        let end = &function.block(id).end;
        let single = matches!(end, Terminator::Jump(_));
        for (index, target) in end.targets().enumerate() {
            let params = &function.block(target.block).params;
            let copies: Vec<Copy> = params
                .iter()
                .zip(&target.args)
                .filter(|(param, arg)| classes.find(**param) != classes.find(**arg))
                .map(|(param, arg)| (*param, *arg))
                .collect();
            if copies.is_empty() {
                continue;
            }
            if single {
                allocation.copies_at_end.insert(id, copies);
            } else if graph.preds(target.block).len() == 1 {
                allocation.copies_at_start.insert(target.block, copies);
            } else {
                allocation.edge_copies.insert((id, index == 0), copies);
            }
        }
    }
    allocation
}

/// The live values of each block: from each block that uses one, back to the block that defines it
/// (Appel and Palsberg, "Modern Compiler Implementation", 19.6). `None` if there are too many.
fn liveness(function: &Function, graph: &Graph) -> Option<Liveness> {
    let count = function.blocks.len();
    let mut last_use = HashMap::default();
    let mut defined = vec![None; function.values.len()];
    let mut successors = vec![Vec::new(); count];
    let constant = |value: Value| matches!(function.inst(value).op, Op::Const(_));
    let mut early = HashSet::default();
    // The values that each block uses and doesn't define.
    let mut reads: Vec<(BlockId, Value)> = Vec::new();
    for &id in &graph.order {
        let block = function.block(id);
        for param in &block.params {
            defined[param.0 as usize] = Some((id, 0));
        }
        for (index, value) in block.insts.iter().enumerate() {
            defined[value.0 as usize] = Some((id, index + 1));
        }
        for (index, value) in block.insts.iter().enumerate() {
            written_early(function, *value, &block.insts[index + 1..], &mut early);
            for arg in function.inst(*value).args.iter().filter(|arg| !constant(**arg)) {
                if last_use.insert((id, *arg), index + 1).is_none() {
                    reads.push((id, *arg));
                }
            }
        }
        for value in block.end.values().filter(|value| !constant(*value)) {
            if last_use.insert((id, value), block.insts.len() + 1).is_none() {
                reads.push((id, value));
            }
        }
        successors[id.0 as usize].extend(block.end.targets().map(|target| target.block));
    }
    let mut live_in: Vec<HashSet<Value>> = vec![HashSet::default(); count];
    let mut budget = MAX_LIVE;
    let mut open = Vec::new();
    for (id, value) in reads {
        open.push(id);
        while let Some(block) = open.pop() {
            let own = defined[value.0 as usize].is_some_and(|(home, _)| home == block);
            if own || !live_in[block.0 as usize].insert(value) {
                continue;
            }
            budget = budget.checked_sub(1)?;
            open.extend(graph.preds(block));
        }
    }
    Some(Liveness { live_in, successors, last_use, defined, early_conflicts: early })
}

/// Adds the results of `asm` that must not share a register with its other operands: results that
/// are copied before the `asm` (`"+r"`), and results that it may write before it has read all
/// operands (`"=&r"`).
fn written_early(
    function: &Function,
    value: Value,
    following: &[Value],
    early: &mut HashSet<(Value, Value)>,
) {
    let inst = function.inst(value);
    let Op::Template(own) = &inst.op else { return };
    let (moves, _) = own.moves();
    for (result, _) in &moves {
        let output = |other: &&Value| {
            let other = function.inst(**other);
            matches!(other.op, Op::Output(number) if number as usize == *result)
                && other.args == [value]
        };
        let written = if *result == 0 { Some(&value) } else { following.iter().find(output) };
        let Some(&written) = written else { continue };
        for (index, arg) in inst.args.iter().enumerate() {
            if !moves.contains(&(*result, Some(own.results.len() + index))) {
                early.insert((written, *arg));
            }
        }
    }
}

impl Liveness {
    /// Whether `b` is live after the definition of `a`.
    fn live_after(&self, b: Value, a: Value) -> bool {
        let Some((block, place)) = self.defined[a.0 as usize] else { return false };
        let known = match self.defined[b.0 as usize] {
            Some((other, at)) if other == block => at <= place,
            _ => self.live_in[block.0 as usize].contains(&b),
        };
        if !known {
            return false;
        }
        // The parameters of a block are defined at the same time.
        if place == 0 && self.defined[b.0 as usize] == Some((block, 0)) {
            return true;
        }
        let goes_on = |next: &BlockId| self.live_in[next.0 as usize].contains(&b);
        self.successors[block.0 as usize].iter().any(goes_on)
            || self.last_use.get(&(block, b)).is_some_and(|last| *last > place)
    }

    fn interfere(&self, a: Value, b: Value) -> bool {
        let early =
            self.early_conflicts.contains(&(a, b)) || self.early_conflicts.contains(&(b, a));
        a != b && (early || self.live_after(b, a) || self.live_after(a, b))
    }
}

/// Classes of values that share a register: the leader of each value's class, and the members of
/// each leader's class.
struct RegisterClasses {
    leader: Vec<Value>,
    members: HashMap<Value, Vec<Value>>,
}

impl RegisterClasses {
    fn new(count: usize) -> Self {
        Self { leader: (0..count as u32).map(Value).collect(), members: HashMap::default() }
    }

    fn find(&self, value: Value) -> Value {
        self.leader[value.0 as usize]
    }

    fn merge(&mut self, a: Value, b: Value, liveness: &Liveness, budget: &mut usize) {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return;
        }
        let (only_a, only_b) = ([a], [b]);
        let first = self.members.get(&a).map_or(&only_a[..], Vec::as_slice);
        let second = self.members.get(&b).map_or(&only_b[..], Vec::as_slice);
        let pairs = first.len() * second.len();
        if pairs > 10_000 || pairs > *budget {
            return;
        }
        *budget -= pairs;
        if first.iter().any(|x| second.iter().any(|y| liveness.interfere(*x, *y))) {
            return;
        }
        let second = self.members.remove(&b).unwrap_or_else(|| vec![b]);
        for value in &second {
            self.leader[value.0 as usize] = a;
        }
        self.members.entry(a).or_insert_with(|| vec![a]).extend(second);
    }
}

/// Sequentialises parallel copies. `same` maps each value to the leader that has its register;
/// `spare` returns a free register.
pub(super) fn order_copies(
    copies: &[Copy],
    same: impl Fn(Value) -> Value,
    mut spare: impl FnMut(Value) -> Value,
) -> Vec<Copy> {
    let mut from: Vec<Value> = copies.iter().map(|(_, from)| *from).collect();
    // For each register, the number of copies that still have to read it, and the copies that write
    // it.
    let mut readers: HashMap<Value, usize> = HashMap::default();
    let mut writers: HashMap<Value, Vec<usize>> = HashMap::default();
    for (index, (to, from)) in copies.iter().enumerate() {
        if same(*to) != same(*from) {
            *readers.entry(same(*from)).or_default() += 1;
        }
        writers.entry(same(*to)).or_default().push(index);
    }
    let unread = |readers: &HashMap<Value, usize>, to: Value| {
        readers.get(&same(to)).is_none_or(|count| *count == 0)
    };
    let mut waiting: BTreeSet<usize> = (0..copies.len()).collect();
    let mut free: BTreeSet<usize> =
        waiting.iter().copied().filter(|index| unread(&readers, copies[*index].0)).collect();
    let mut done = Vec::new();
    while let Some(&first) = waiting.first() {
        // A copy whose target isn't read any more.
        let read = match free.pop_first() {
            Some(index) => {
                waiting.remove(&index);
                let (to, from) = (copies[index].0, from[index]);
                done.push((to, from));
                (same(to) != same(from)).then_some(from)
            }
            None => {
                // All copies wait for each other (a cycle): the target of one is saved in a spare
                // register.
                let (to, _) = copies[first];
                let saved = spare(to);
                done.push((saved, to));
                for &index in &waiting {
                    if same(from[index]) == same(to) {
                        from[index] = saved;
                    }
                }
                readers.remove(&same(to));
                Some(to)
            }
        };
        let Some(read) = read.map(&same) else { continue };
        if let Some(count) = readers.get_mut(&read) {
            *count -= 1;
        }
        if unread(&readers, read) {
            let own = writers.get(&read).into_iter().flatten();
            free.extend(own.filter(|index| waiting.contains(index)));
        }
    }
    done
}

/// The prefix of a register's name.
pub(super) fn prefix(ty: Ty) -> &'static str {
    match ty {
        Ty::Pred => "%p",
        Ty::B16 => "%rs",
        Ty::I32 | Ty::None => "%r",
        Ty::I64 => "%rd",
        Ty::F32 => "%f",
        Ty::F64 => "%fd",
    }
}
