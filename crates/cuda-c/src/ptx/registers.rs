//! Out of static single assignment: which values share a register, and what is copied on the way from
//! block to block. Sreedhar's and Budimlić's way: a parameter and what it is given share one where
//! they aren't alive at the same time.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use crate::ir::{BlockId, Function, Graph, Op, Terminator, Ty, Value};

/// A copy; from a register or a constant.
pub(super) type Copy = (Value, Value);

/// What became of the values.
#[derive(Debug)]
pub(super) struct Allocation {
    /// The value whose register each has.
    pub(super) leader: Vec<Value>,
    /// Copies at the end of blocks whose only way they are for, before the branch.
    pub(super) at_end: HashMap<BlockId, Vec<Copy>>,
    /// Copies at the beginning of blocks that are reached only from one.
    pub(super) at_start: HashMap<BlockId, Vec<Copy>>,
    /// Copies on a way by itself: from, whether it is the first way of the branch, and to.
    pub(super) between: HashMap<(BlockId, bool), Vec<Copy>>,
    /// The order of the blocks in the text.
    pub(super) order: Vec<BlockId>,
}

struct Liveness {
    live_in: Vec<HashSet<Value>>,
    live_out: Vec<HashSet<Value>>,
    /// Where a value is last read in a block; what jumps give counts as behind all instructions.
    last_use: HashMap<(BlockId, Value), usize>,
    /// The block and the place in it where each value is made; parameters at 0, instructions from 1.
    made: Vec<Option<(BlockId, usize)>>,
    /// Results of `asm` that are written before it has read these arguments.
    early: HashSet<(Value, Value)>,
}

pub(super) fn allocate(function: &Function) -> Allocation {
    let graph = Graph::of(function);
    let liveness = liveness(function, &graph);
    let mut classes = Classes::new(function.values.len());
    // The innermost ways first: those back to where the text has been already.
    let mut number = vec![0; function.blocks.len()];
    for (index, block) in graph.order.iter().enumerate() {
        number[block.0 as usize] = index;
    }
    let mut ways: Vec<(bool, BlockId, Value, Value)> = Vec::new();
    for &id in &graph.order {
        for target in function.block(id).end.targets() {
            let back = number[target.block.0 as usize] <= number[id.0 as usize];
            for (param, arg) in function.block(target.block).params.iter().zip(&target.args) {
                if !matches!(function.inst(*arg).op, Op::Const(_)) {
                    ways.push((!back, id, *param, *arg));
                }
            }
        }
    }
    ways.sort_by_key(|(forward, ..)| *forward);
    for (_, _, param, arg) in ways {
        classes.merge(param, arg, &liveness);
    }
    let mut allocation = Allocation {
        leader: (0..function.values.len() as u32).map(|value| classes.find(Value(value))).collect(),
        at_end: HashMap::default(),
        at_start: HashMap::default(),
        between: HashMap::default(),
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
                allocation.at_end.insert(id, copies);
            } else if graph.preds(target.block).len() == 1 {
                allocation.at_start.insert(target.block, copies);
            } else {
                allocation.between.insert((id, index == 0), copies);
            }
        }
    }
    allocation
}

fn liveness(function: &Function, graph: &Graph) -> Liveness {
    let count = function.blocks.len();
    let mut live_in: Vec<HashSet<Value>> = vec![HashSet::default(); count];
    let mut live_out: Vec<HashSet<Value>> = vec![HashSet::default(); count];
    let mut last_use = HashMap::default();
    let mut made = vec![None; function.values.len()];
    let constant = |value: Value| matches!(function.inst(value).op, Op::Const(_));
    // Read before it is made there, and made there, by block.
    let mut reads: Vec<HashSet<Value>> = vec![HashSet::default(); count];
    let mut early = HashSet::default();
    let mut makes: Vec<HashSet<Value>> = vec![HashSet::default(); count];
    for &id in &graph.order {
        let block = function.block(id);
        let (reads, makes) = (&mut reads[id.0 as usize], &mut makes[id.0 as usize]);
        for param in &block.params {
            made[param.0 as usize] = Some((id, 0));
            makes.insert(*param);
        }
        for (index, value) in block.insts.iter().enumerate() {
            written_early(function, *value, &block.insts[index + 1..], &mut early);
            for arg in function.inst(*value).args.iter().filter(|arg| !constant(**arg)) {
                if !makes.contains(arg) {
                    reads.insert(*arg);
                }
                last_use.insert((id, *arg), index + 1);
            }
            made[value.0 as usize] = Some((id, index + 1));
            makes.insert(*value);
        }
        for value in block.end.values().filter(|value| !constant(*value)) {
            if !makes.contains(&value) {
                reads.insert(value);
            }
            last_use.insert((id, value), block.insts.len() + 1);
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &id in graph.order.iter().rev() {
            let index = id.0 as usize;
            let mut out: HashSet<Value> = HashSet::default();
            for target in function.block(id).end.targets() {
                out.extend(&live_in[target.block.0 as usize]);
            }
            let mut into: HashSet<Value> = reads[index].clone();
            into.extend(out.iter().filter(|value| !makes[index].contains(value)));
            if into.len() != live_in[index].len() || out.len() != live_out[index].len() {
                changed = true;
                live_in[index] = into;
                live_out[index] = out;
            }
        }
    }
    Liveness { live_in, live_out, last_use, made, early }
}

/// Adds the results of `asm` that share a register with none of its other operands: those that are moved
/// to before it (`"+r"`), and those that it writes before it has read all (`"=&r"`).
fn written_early(
    function: &Function,
    value: Value,
    behind: &[Value],
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
        let written = if *result == 0 { Some(&value) } else { behind.iter().find(output) };
        let Some(&written) = written else { continue };
        for (index, arg) in inst.args.iter().enumerate() {
            if !moves.contains(&(*result, Some(own.results.len() + index))) {
                early.insert((written, *arg));
            }
        }
    }
}

impl Liveness {
    /// Whether `b` is still needed behind the place where `a` is made.
    fn alive_at(&self, b: Value, a: Value) -> bool {
        let Some((block, place)) = self.made[a.0 as usize] else { return false };
        let known = match self.made[b.0 as usize] {
            Some((other, at)) if other == block => at <= place,
            _ => self.live_in[block.0 as usize].contains(&b),
        };
        if !known {
            return false;
        }
        // Two parameters of a block are made at once.
        if place == 0 && self.made[b.0 as usize] == Some((block, 0)) {
            return true;
        }
        self.live_out[block.0 as usize].contains(&b)
            || self.last_use.get(&(block, b)).is_some_and(|last| *last > place)
    }

    fn clash(&self, a: Value, b: Value) -> bool {
        let early = self.early.contains(&(a, b)) || self.early.contains(&(b, a));
        a != b && (early || self.alive_at(b, a) || self.alive_at(a, b))
    }
}

struct Classes {
    parent: Vec<Value>,
    members: HashMap<Value, Vec<Value>>,
}

impl Classes {
    fn new(count: usize) -> Self {
        Self { parent: (0..count as u32).map(Value).collect(), members: HashMap::default() }
    }

    fn find(&self, value: Value) -> Value {
        let mut at = value;
        while self.parent[at.0 as usize] != at {
            at = self.parent[at.0 as usize];
        }
        at
    }

    fn members(&self, leader: Value) -> Vec<Value> {
        self.members.get(&leader).cloned().unwrap_or_else(|| vec![leader])
    }

    fn merge(&mut self, a: Value, b: Value, liveness: &Liveness) {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return;
        }
        let (mut first, second) = (self.members(a), self.members(b));
        if first.len() * second.len() > 10_000 {
            return;
        }
        if first.iter().any(|x| second.iter().any(|y| liveness.clash(*x, *y))) {
            return;
        }
        self.parent[b.0 as usize] = a;
        first.extend(second);
        self.members.insert(a, first);
        self.members.remove(&b);
    }
}

/// Copies that happen at once, one after the other. `same` says which values share a register;
/// `spare` gives a register that is free.
pub(super) fn in_order(
    copies: &[Copy],
    same: impl Fn(Value) -> Value,
    mut spare: impl FnMut(Value) -> Value,
) -> Vec<Copy> {
    let mut waiting: Vec<Copy> = copies.to_vec();
    let mut done = Vec::new();
    while !waiting.is_empty() {
        // A copy whose target nobody else still reads.
        let free = waiting.iter().position(|(to, _)| {
            !waiting
                .iter()
                .any(|(other, from)| same(*from) == same(*to) && same(*other) != same(*to))
        });
        match free {
            Some(index) => done.push(waiting.remove(index)),
            None => {
                // All wait for each other: one is put aside.
                let (to, _) = waiting[0];
                let aside = spare(to);
                done.push((aside, to));
                for (_, from) in &mut waiting {
                    if same(*from) == same(to) {
                        *from = aside;
                    }
                }
            }
        }
    }
    done
}

/// The letter of a register's name.
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
