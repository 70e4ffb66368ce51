//! Instruction selection: combines operations to `mul.wide`, `mad`, and addresses with an offset.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::rc::Rc;

use crate::ir::{BinaryOp, Convert, Effect, Function, Op, Template, Ty, UnaryOp, Value};

pub(super) fn run(function: &mut Function) {
    widen(function);
    expand_selects(function);
    multiply_and_add(function);
    crate::optimise::drop_dead(function);
}

fn template(text: &str, ty: Ty) -> Op {
    Op::Template(Rc::new(Template {
        text: text.to_owned(),
        results: vec![ty],
        effect: Effect::None,
    }))
}

/// A 32-bit number that is widened and multiplied by a constant becomes `mul.wide`.
fn widen(function: &mut Function) {
    for id in function.ids() {
        for value in function.block(id).insts.clone() {
            let inst = function.inst(value).clone();
            if inst.ty != Ty::I64 {
                continue;
            }
            let Op::Binary(op @ (BinaryOp::Shl | BinaryOp::Mul), _) = inst.op else { continue };
            let Some(by) = function.constant_of(inst.args[1]) else { continue };
            let factor = match op {
                BinaryOp::Shl if by < 31 => 1u64 << by,
                BinaryOp::Mul => by,
                _ => continue,
            };
            let wide = function.inst(inst.args[0]).clone();
            let signed = match wide.op {
                Op::Convert(Convert::SignExtend(32))
                    if (factor as i64).unsigned_abs() < 1 << 31 =>
                {
                    true
                }
                Op::Convert(Convert::ZeroExtend(32)) if factor < 1 << 31 => false,
                _ => continue,
            };
            let factor = function.constant(Ty::I32, factor);
            let text =
                if signed { "mul.wide.s32 {0}, {1}, {2};" } else { "mul.wide.u32 {0}, {1}, {2};" };
            let own = function.inst_mut(value);
            (own.op, own.args) = (template(text, Ty::I64), vec![wide.args[0], factor]);
        }
    }
}

/// PTX can't select between predicates, so a selection becomes logical operations.
fn expand_selects(function: &mut Function) {
    for id in function.ids() {
        let insts = std::mem::take(&mut function.block_mut(id).insts);
        let mut kept = Vec::with_capacity(insts.len());
        for value in insts {
            let inst = function.inst(value).clone();
            if inst.op == Op::Select && inst.ty == Ty::Pred {
                let (c, a, b) = (inst.args[0], inst.args[1], inst.args[2]);
                let (and, span) = (Op::binary(BinaryOp::And), inst.span);
                let yes = function.operation(and.clone(), Ty::Pred, vec![c, a], span, &mut kept);
                let not =
                    function.operation(Op::Unary(UnaryOp::Not), Ty::Pred, vec![c], span, &mut kept);
                let no = function.operation(and, Ty::Pred, vec![not, b], span, &mut kept);
                let own = function.inst_mut(value);
                (own.op, own.args) = (Op::binary(BinaryOp::Or), vec![yes, no]);
            }
            kept.push(value);
        }
        function.block_mut(id).insts = kept;
    }
}

/// A product that is only used in one sum becomes `mad`.
fn multiply_and_add(function: &mut Function) {
    let mut uses: HashMap<Value, usize> = HashMap::default();
    for id in function.ids() {
        let block = function.block(id);
        for value in &block.insts {
            for arg in &function.inst(*value).args {
                *uses.entry(*arg).or_default() += 1;
            }
        }
        for value in block.end.values() {
            *uses.entry(value).or_default() += 1;
        }
    }
    for id in function.ids() {
        let insts = function.block(id).insts.clone();
        let here: HashSet<Value> = insts.iter().copied().collect();
        for value in &insts {
            let inst = function.inst(*value).clone();
            if !matches!(inst.op, Op::Binary(BinaryOp::Add, _)) {
                continue;
            }
            for (product, other) in [(inst.args[0], inst.args[1]), (inst.args[1], inst.args[0])] {
                let factors = function.inst(product).clone();
                let once = uses.get(&product) == Some(&1) && here.contains(&product);
                if !once || !matches!(factors.op, Op::Binary(BinaryOp::Mul, _)) {
                    continue;
                }
                let text = if inst.ty == Ty::I64 {
                    "mad.lo.s64 {0}, {1}, {2}, {3};"
                } else {
                    "mad.lo.s32 {0}, {1}, {2}, {3};"
                };
                let own = function.inst_mut(*value);
                (own.op, own.args) =
                    (template(text, inst.ty), vec![factors.args[0], factors.args[1], other]);
                break;
            }
        }
    }
}

/// Folds constant offsets into the addresses of loads and stores. Returns each load's and store's offset.
pub(super) fn offsets(function: &mut Function) -> super::Offsets {
    let mut offsets = HashMap::default();
    for id in function.ids() {
        for value in function.block(id).insts.clone() {
            let inst = function.inst(value);
            let accesses = match &inst.op {
                Op::Load(_) | Op::Store(_) => true,
                Op::Template(template) => template.begins_with_address(),
                _ => false,
            };
            if !accesses {
                continue;
            }
            let address = function.inst(inst.args[0]).clone();
            if address.op != Op::PtrAdd {
                continue;
            }
            let Some(bits) = function.constant_of(address.args[1]) else { continue };
            let Ok(offset) = i32::try_from(bits as i64) else { continue };
            function.inst_mut(value).args[0] = address.args[0];
            offsets.insert(value, i64::from(offset));
        }
    }
    crate::optimise::drop_dead(function);
    offsets
}
