//! Strength reduction: an address that moves by a constant distance in each iteration is computed
//! by an addition.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::Budget;
use super::invariant::{each_loop, preheader};
use super::rewrite::defining_blocks;
use crate::ir::{
    BinaryOp, BlockId, Compare, CompareKind, Convert, Dominators, Function, Graph, NaturalLoop, Op,
    Terminator, Ty, Value,
};
use crate::source::Span;

pub(super) fn run(function: &mut Function, budget: &mut Budget) {
    each_loop(function, budget, |function, graph, dominators, own| {
        if own.latches.len() == 1 {
            reduce(function, graph, dominators, own);
        }
    });
}

/// The analysis of one loop.
struct LoopReduction<'a> {
    function: &'a mut Function,
    homes: Vec<BlockId>,
    own: &'a NaturalLoop,
    /// The loop's counters: the initial value of each, and the step that is added in each
    /// iteration.
    counters: HashMap<Value, (Value, Value)>,
    /// Unsigned 32-bit counters that can't wrap around.
    bounded: Vec<Value>,
    before: BlockId,
    strides: HashMap<Value, Option<Value>>,
    exact: HashMap<Value, bool>,
    span: Span,
}

fn reduce(function: &mut Function, graph: &Graph, dominators: &Dominators, own: &NaturalLoop) {
    let latch = own.latches[0];
    let before = preheader(function, graph, own);
    let homes = defining_blocks(function);
    let span = function.block(own.header).span;
    let mut reduction = LoopReduction {
        function,
        homes,
        own,
        counters: HashMap::default(),
        bounded: Vec::new(),
        before,
        strides: HashMap::default(),
        exact: HashMap::default(),
        span,
    };
    reduction.find_counters(latch);
    if reduction.counters.is_empty() {
        return;
    }
    // The addresses of accesses that happen in every iteration, without constant offsets.
    let mut addresses: Vec<Value> = Vec::new();
    let mut seen: HashSet<Value> = HashSet::default();
    for &id in graph.order.iter().filter(|id| own.blocks.contains(id)) {
        if !dominators.dominates(id, latch) {
            continue;
        }
        for value in reduction.function.block(id).insts.clone() {
            let inst = reduction.function.inst(value);
            let address = match inst.op {
                Op::Load(_) | Op::Store(_) => inst.args[0],
                _ => continue,
            };
            let base = reduction.without_constant(address);
            let is_counter = reduction.counters.contains_key(&base);
            if !is_counter && reduction.is_in_loop(base) && seen.insert(base) {
                addresses.push(base);
            }
        }
    }
    let mut replaced = super::rewrite::Replacements::new(reduction.function);
    let mut any = false;
    for base in addresses {
        let Some(stride) = reduction.stride(base, 0) else { continue };
        if reduction.function.constant_of(stride) == Some(0) {
            continue;
        }
        let Some(start) = reduction.initial_value(base, &mut HashMap::default(), 0) else {
            continue;
        };
        let param = reduction.function.block_param(own.header, Ty::I64);
        reduction.add_argument(before, own.header, start);
        let next = reduction.function.push(latch, Op::PtrAdd, Ty::I64, vec![param, stride], span);
        reduction.add_argument(latch, own.header, next);
        replaced.set(base, param);
        any = true;
    }
    if any {
        replaced.apply(function);
    }
}

impl LoopReduction<'_> {
    fn is_in_loop(&self, value: Value) -> bool {
        !matches!(self.function.inst(value).op, Op::Const(_))
            && self.homes.get(value.0 as usize).is_some_and(|home| self.own.blocks.contains(home))
    }

    fn add_argument(&mut self, from: BlockId, to: BlockId, value: Value) {
        for target in self.function.block_mut(from).end.targets_mut() {
            if target.block == to {
                target.args.push(value);
            }
        }
    }

    /// Finds the counters: parameters of the header to which every iteration adds the same value.
    fn find_counters(&mut self, latch: BlockId) {
        let header = self.own.header;
        let params = self.function.block(header).params.clone();
        let given = |function: &Function, block: BlockId| {
            let targets: Vec<Vec<Value>> = function
                .block(block)
                .end
                .targets()
                .filter(|target| target.block == header)
                .map(|target| target.args.clone())
                .collect();
            targets
        };
        let (first, again) = (given(self.function, self.before), given(self.function, latch));
        let ([first], [again]) = (first.as_slice(), again.as_slice()) else { return };
        for (index, &param) in params.iter().enumerate() {
            let inst = self.function.inst(again[index]).clone();
            let adds = matches!(inst.op, Op::Binary(BinaryOp::Add, _) | Op::PtrAdd);
            if adds && inst.args[0] == param && !self.is_in_loop(inst.args[1]) {
                self.counters.insert(param, (first[index], inst.args[1]));
                if let Terminator::Branch { condition, yes, .. } = &self.function.block(latch).end {
                    // `next < limit` is an unsigned comparison, and the step is 1: the counter
                    // never wraps around.
                    let comparison = self.function.inst(*condition);
                    let below = comparison.op == Op::Compare(Compare::Lt, CompareKind::Unsigned);
                    let one = self.function.constant_of(inst.args[1]) == Some(1);
                    if below && one && comparison.args[0] == again[index] && yes.block == header {
                        self.bounded.push(param);
                    }
                }
            }
        }
    }

    fn without_constant(&self, address: Value) -> Value {
        let inst = self.function.inst(address);
        let constant = inst.op == Op::PtrAdd && self.function.constant_of(inst.args[1]).is_some();
        if constant { inst.args[0] } else { address }
    }

    fn make(&mut self, op: Op, ty: Ty, args: Vec<Value>) -> Value {
        let (before, span) = (self.before, self.span);
        self.function.push(before, op, ty, args, span)
    }

    /// The distance by which a value grows in each iteration, computed before the loop; `None` if
    /// the distance isn't the same in every iteration.
    fn stride(&mut self, value: Value, depth: u32) -> Option<Value> {
        if !self.is_in_loop(value) {
            let ty = self.function.inst(value).ty;
            return Some(self.function.constant(ty, 0));
        }
        if let Some((_, step)) = self.counters.get(&value) {
            return Some(*step);
        }
        if let Some(known) = self.strides.get(&value) {
            return *known;
        }
        if depth > 24 {
            return None;
        }
        let inst = self.function.inst(value).clone();
        let stride = self.stride_of(&inst, depth + 1);
        self.strides.insert(value, stride);
        stride
    }

    fn stride_of(&mut self, inst: &crate::ir::Inst, depth: u32) -> Option<Value> {
        match &inst.op {
            Op::PtrAdd | Op::Binary(BinaryOp::Add | BinaryOp::Sub, _) => {
                let (a, b) = (self.stride(inst.args[0], depth)?, self.stride(inst.args[1], depth)?);
                let subtracts = matches!(inst.op, Op::Binary(BinaryOp::Sub, _));
                let op = if subtracts { BinaryOp::Sub } else { BinaryOp::Add };
                Some(self.make(Op::binary(op), inst.ty, vec![a, b]))
            }
            Op::Binary(BinaryOp::Mul, _) => {
                let (mut a, mut b) = (inst.args[0], inst.args[1]);
                if self.is_in_loop(b) {
                    std::mem::swap(&mut a, &mut b);
                }
                if self.is_in_loop(b) {
                    return None;
                }
                let stride = self.stride(a, depth)?;
                Some(self.make(Op::binary(BinaryOp::Mul), inst.ty, vec![stride, b]))
            }
            Op::Binary(BinaryOp::Shl, _) if self.function.constant_of(inst.args[1]).is_some() => {
                let stride = self.stride(inst.args[0], depth)?;
                Some(self.make(Op::binary(BinaryOp::Shl), inst.ty, vec![stride, inst.args[1]]))
            }
            Op::Convert(Convert::SignExtend(32)) if inst.ty == Ty::I64 => {
                // Only a sum that doesn't overflow grows by the same distance in 64 bits.
                if !self.exact(inst.args[0], depth) {
                    return None;
                }
                let stride = self.stride(inst.args[0], depth)?;
                Some(self.make(Op::Convert(Convert::SignExtend(32)), Ty::I64, vec![stride]))
            }
            Op::Convert(Convert::ZeroExtend(32)) if self.bounded.contains(&inst.args[0]) => {
                let stride = self.stride(inst.args[0], depth)?;
                Some(self.make(Op::Convert(Convert::ZeroExtend(32)), Ty::I64, vec![stride]))
            }
            _ => None,
        }
    }

    /// Whether no operation that leads from the counter to this value can overflow.
    fn exact(&mut self, value: Value, depth: u32) -> bool {
        if !self.is_in_loop(value) {
            return true;
        }
        if depth > 24 {
            return false;
        }
        if self.counters.contains_key(&value) {
            // The counter's step must be a signed addition, for which overflow is undefined.
            return self.signed_counter(value);
        }
        if let Some(known) = self.exact.get(&value) {
            return *known;
        }
        let inst = self.function.inst(value).clone();
        let stride = match inst.op {
            Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl, true) => {
                inst.args.iter().all(|arg| self.exact(*arg, depth + 1))
            }
            _ => false,
        };
        self.exact.insert(value, stride);
        stride
    }

    fn signed_counter(&self, counter: Value) -> bool {
        let latch = self.own.latches[0];
        let index =
            self.function.block(self.own.header).params.iter().position(|param| *param == counter);
        let Some(index) = index else { return false };
        self.function.block(latch).end.targets().any(|target| {
            target.block == self.own.header
                && target.args.get(index).is_some_and(|next| {
                    matches!(self.function.inst(*next).op, Op::Binary(BinaryOp::Add, true))
                })
        })
    }

    /// Computes, before the loop, the value that `value` has in the first iteration.
    fn initial_value(
        &mut self,
        value: Value,
        made: &mut HashMap<Value, Value>,
        depth: u32,
    ) -> Option<Value> {
        if !self.is_in_loop(value) {
            return Some(value);
        }
        if let Some((start, _)) = self.counters.get(&value) {
            return Some(*start);
        }
        if let Some(known) = made.get(&value) {
            return Some(*known);
        }
        if depth > 24 {
            return None;
        }
        let inst = self.function.inst(value).clone();
        let mut args = Vec::new();
        for arg in &inst.args {
            args.push(self.initial_value(*arg, made, depth + 1)?);
        }
        let result = self.make(inst.op, inst.ty, args);
        made.insert(value, result);
        Some(result)
    }
}
