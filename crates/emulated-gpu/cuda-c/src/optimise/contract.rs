//! Contraction of products and sums to `fma`, which rounds once, as nvcc does without
//! `--fmad=false`.
//!
//! It follows nvcc's rules, so that results agree. A product is contracted only within its block,
//! if all its uses are sums, and if there are at most four. A product that is subtracted is first
//! turned into a sum if a constant factor can be negated; otherwise it isn't contracted, because
//! nvcc leaves it to the assembler. If both operands of a sum are products, the left product
//! becomes part of the `fma`. The left one is the product with the lower rank, or the product
//! without a negative constant.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use crate::ir::{BinaryOp, Effect, Function, Graph, Op, Ty, UnaryOp, Value};

/// The maximum number of sums that a contracted product may be used in.
const MAX_USES: usize = 4;
/// The maximum nesting depth to which products are searched for a constant factor.
const MAX_DEPTH: u32 = 6;

pub(super) fn run(function: &mut Function) {
    add_negatives(function);
    let usable = products_only_added(function);
    let ranks = ranks(function);
    for id in function.ids() {
        let mut products: HashMap<Value, (Value, Value)> = HashMap::default();
        for value in function.block(id).insts.clone() {
            let inst = function.inst(value).clone();
            match inst.op {
                Op::Binary(BinaryOp::FMul, _) if usable.contains(&value) => {
                    products.insert(value, (inst.args[0], inst.args[1]));
                }
                Op::Binary(BinaryOp::FAdd, _) => {
                    let (a, b) = operands_by_rank(function, &ranks, inst.args[0], inst.args[1]);
                    let (product, other) = if products.contains_key(&a) { (a, b) } else { (b, a) };
                    if let Some(&(x, y)) = products.get(&product) {
                        let own = function.inst_mut(value);
                        (own.op, own.args) = (Op::Fma, vec![x, y, other]);
                    }
                }
                _ => {}
            }
        }
    }
}

/// The operands of a sum in nvcc's order.
fn operands_by_rank(function: &Function, ranks: &[u64], a: Value, b: Value) -> (Value, Value) {
    let negative = |value: Value| {
        let inst = function.inst(value);
        matches!(inst.op, Op::Binary(BinaryOp::FMul, _))
            && function.constant_of(inst.args[1]).is_some_and(|bits| bits & sign_bit(inst.ty) != 0)
    };
    let rank = |value: Value| ranks[value.0 as usize];
    match (negative(a), negative(b)) {
        (true, false) => (b, a),
        (false, true) => (a, b),
        _ if rank(b) < rank(a) => (b, a),
        _ => (a, b),
    }
}

fn sign_bit(ty: Ty) -> u64 {
    if ty == Ty::F32 { 1 << 31 } else { 1 << 63 }
}

/// The number of uses of each value.
fn uses(function: &Function) -> HashMap<Value, usize> {
    let mut uses: HashMap<Value, usize> = HashMap::default();
    for id in function.ids() {
        let block = function.block(id);
        let read = block.insts.iter().flat_map(|value| function.inst(*value).args.clone());
        for value in read.chain(block.end.values()) {
            *uses.entry(value).or_default() += 1;
        }
    }
    uses
}

/// Turns the subtraction of a product with a constant factor into the addition of the negated
/// product.
fn add_negatives(function: &mut Function) {
    let uses = uses(function);
    for id in function.ids() {
        let insts = function.block(id).insts.clone();
        let here: HashSet<Value> = insts.iter().copied().collect();
        for value in insts {
            let inst = function.inst(value).clone();
            if !matches!(inst.op, Op::Binary(BinaryOp::FSub, _)) {
                continue;
            }
            let place = with_constant(function, &uses, &here, inst.args[1], 0);
            if let Some((product, bits)) = place {
                let ty = function.inst(product).ty;
                let negative = function.constant(ty, bits ^ sign_bit(ty));
                function.inst_mut(product).args[1] = negative;
                function.inst_mut(value).op = Op::Binary(BinaryOp::FAdd, false);
            }
        }
    }
}

/// Finds a product with a constant factor among nested products, none of which may have other uses.
fn with_constant(
    function: &Function,
    uses: &HashMap<Value, usize>,
    here: &HashSet<Value>,
    value: Value,
    depth: u32,
) -> Option<(Value, u64)> {
    let inst = function.inst(value);
    let single = uses.get(&value) == Some(&1) && here.contains(&value);
    if depth >= MAX_DEPTH || !single || !matches!(inst.op, Op::Binary(BinaryOp::FMul, _)) {
        return None;
    }
    let inner = |arg| with_constant(function, uses, here, arg, depth + 1);
    inner(inst.args[0])
        .or_else(|| function.constant_of(inst.args[1]).map(|bits| (value, bits)))
        .or_else(|| inner(inst.args[1]))
}

/// Products whose uses are all sums in their own block.
fn products_only_added(function: &Function) -> HashSet<Value> {
    let mut uses = uses(function);
    let mut otherwise: HashSet<Value> = HashSet::default();
    for id in function.ids() {
        let block = function.block(id);
        let here: HashSet<&Value> = block.insts.iter().collect();
        for value in &block.insts {
            let inst = function.inst(*value);
            let adds = matches!(inst.op, Op::Binary(BinaryOp::FAdd, _));
            otherwise.extend(inst.args.iter().filter(|arg| !adds || !here.contains(arg)));
        }
        otherwise.extend(block.end.values());
    }
    uses.retain(|value, count| *count <= MAX_USES && !otherwise.contains(value));
    uses.into_keys().collect()
}

/// The ranks by which the operands of a sum are ordered, as in LLVM's Reassociate pass, which nvcc
/// runs: parameters of the kernel come first, then loads and block parameters in program order. An
/// expression ranks one above its highest operand.
fn ranks(function: &Function) -> Vec<u64> {
    let mut ranks = vec![0; function.values.len()];
    let first = 3 + function.params.len() as u64;
    let graph = Graph::new(function);
    for (number, id) in graph.order.iter().enumerate() {
        let mut next = (first + number as u64) << 16;
        let block = function.block(*id);
        for value in &block.params {
            next += 1;
            ranks[value.0 as usize] = next;
        }
        for value in &block.insts {
            let inst = function.inst(*value);
            ranks[value.0 as usize] = match inst.op {
                Op::Const(_) | Op::Slot(_) | Op::Global(_) => 0,
                Op::Param(index) | Op::ParamAddress(index) => 3 + u64::from(index),
                _ if keeps_its_place(&inst.op) => {
                    next += 1;
                    next
                }
                _ => {
                    let highest = inst.args.iter().map(|arg| ranks[arg.0 as usize]).max();
                    let free =
                        matches!(inst.op, Op::Unary(UnaryOp::Neg | UnaryOp::Not | UnaryOp::FNeg));
                    highest.unwrap_or(0) + u64::from(!free)
                }
            };
        }
    }
    ranks
}

/// Whether an instruction can't be moved.
fn keeps_its_place(op: &Op) -> bool {
    use BinaryOp::{DivS, DivU, RemS, RemU};
    op.effect() != Effect::None
        || matches!(op, Op::Special(_) | Op::Binary(DivS | DivU | RemS | RemU, _))
}
