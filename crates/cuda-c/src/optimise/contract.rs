//! Products that are added become `fma`, which rounds once: what nvcc does unless it is told
//! `--fmad=false`. As there, it happens within a block, where a product is only added and no more than
//! four times; a product that is subtracted stays one, as nvcc leaves it to the assembler.

use std::collections::{HashMap, HashSet};

use crate::ir::{BinaryOp, Function, Op, Ty, Value};

/// As often is a product added at most.
const MOST: usize = 4;

pub(super) fn run(function: &mut Function) {
    let usable = only_added(function);
    for id in function.ids() {
        let mut products: HashMap<Value, (Value, Value)> = HashMap::new();
        for value in function.block(id).insts.clone() {
            let inst = function.inst(value).clone();
            match inst.op {
                Op::Binary(BinaryOp::FMul, _) if usable.contains(&value) => {
                    products.insert(value, (inst.args[0], inst.args[1]));
                }
                Op::Binary(BinaryOp::FAdd, _) => {
                    let (a, b) = (inst.args[0], inst.args[1]);
                    let (product, other) = if products.contains_key(&a) { (a, b) } else { (b, a) };
                    if let Some(&(x, y)) = products.get(&product) {
                        let own = function.inst_mut(value);
                        (own.op, own.args) = (Op::Fma, vec![x, y, other]);
                    }
                }
                // Less a product with a negative constant is plus one with a positive one.
                Op::Binary(BinaryOp::FSub, _) => {
                    let factors = products.get(&inst.args[1]).copied();
                    if let Some((x, positive)) =
                        factors.and_then(|(x, y)| Some((x, negated(function, y)?)))
                    {
                        let ty = inst.ty;
                        let positive = function.constant(ty, positive);
                        let own = function.inst_mut(value);
                        (own.op, own.args) = (Op::Fma, vec![x, positive, inst.args[0]]);
                    }
                }
                _ => {}
            }
        }
    }
}

/// The bits of a negative constant without its sign.
fn negated(function: &Function, value: Value) -> Option<u64> {
    let sign = if function.inst(value).ty == Ty::F32 { 1 << 31 } else { 1 << 63 };
    function.constant_of(value).filter(|bits| bits & sign != 0).map(|bits| bits ^ sign)
}

/// Products of which every use is a sum in their own block.
fn only_added(function: &Function) -> HashSet<Value> {
    let mut uses: HashMap<Value, usize> = HashMap::new();
    let mut otherwise: HashSet<Value> = HashSet::new();
    for id in function.ids() {
        let block = function.block(id);
        let here: HashSet<&Value> = block.insts.iter().collect();
        for value in &block.insts {
            let inst = function.inst(*value);
            let adds = matches!(inst.op, Op::Binary(BinaryOp::FAdd, _));
            for (index, arg) in inst.args.iter().enumerate() {
                *uses.entry(*arg).or_default() += 1;
                let factor = function.inst(*arg).args.get(1);
                let subtracted = matches!(inst.op, Op::Binary(BinaryOp::FSub, _))
                    && index == 1
                    && factor.is_some_and(|factor| negated(function, *factor).is_some());
                if !(adds || subtracted) || !here.contains(arg) {
                    otherwise.insert(*arg);
                }
            }
        }
        otherwise.extend(block.end.values());
    }
    uses.retain(|value, count| *count <= MOST && !otherwise.contains(value));
    uses.into_keys().collect()
}
