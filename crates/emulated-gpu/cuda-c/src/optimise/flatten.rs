//! If-conversion: short branches become selections, for which both sides are computed.

use crate::ir::{BinaryOp, BlockId, Effect, Function, Graph, Op, Target, Terminator, Ty, Value};

/// The maximum number of instructions that are executed speculatively.
const MAX_SPECULATED: usize = 6;

pub(super) fn run(function: &mut Function) {
    for _ in 0..200 {
        if !flatten_branches(function) {
            return;
        }
        super::clean::run(function);
    }
}

fn flatten_branches(function: &mut Function) -> bool {
    let graph = Graph::new(function);
    let mut changed = false;
    let mut touched = vec![false; function.blocks.len()];
    for &id in graph.order.iter().rev() {
        let Terminator::Branch { condition, yes, no } = function.block(id).end.clone() else {
            continue;
        };
        if touched[id.0 as usize] || touched[yes.block.0 as usize] || touched[no.block.0 as usize] {
            continue;
        }
        let only = |block: BlockId| graph.preds(block).len() == 1 && block != id;
        let after = |block: BlockId| match &function.block(block).end {
            Terminator::Jump(target) if only(block) && is_short(function, block) => {
                Some(target.clone())
            }
            _ => None,
        };
        let (first, second) = (after(yes.block), after(no.block));
        let (a, b, sides) = match (first, second) {
            (Some(a), Some(b)) if a.block == b.block => (a, b, vec![yes.block, no.block]),
            (Some(a), _) if a.block == no.block => (a, no.clone(), vec![yes.block]),
            (_, Some(b)) if b.block == yes.block => (yes.clone(), b, vec![no.block]),
            _ if yes.block == no.block => (yes.clone(), no.clone(), Vec::new()),
            _ => continue,
        };
        if a.block == id {
            continue;
        }
        join(function, id, condition, &a, &b, &sides);
        touched[id.0 as usize] = true;
        for side in sides {
            touched[side.0 as usize] = true;
        }
        touched[a.block.0 as usize] = true;
        changed = true;
    }
    changed
}

/// Whether a block is cheap enough to be executed speculatively, and has no side effects.
fn is_short(function: &Function, block: BlockId) -> bool {
    let block = function.block(block);
    let cheap = |value: &Value| {
        let inst = function.inst(*value);
        inst.op.effect() == Effect::None && !expensive(&inst.op, inst.ty)
    };
    block.insts.len() <= MAX_SPECULATED && block.insts.iter().all(cheap)
}

/// Whether an instruction takes much longer than a branch.
fn expensive(op: &Op, ty: Ty) -> bool {
    use BinaryOp::{DivS, DivU, FDiv, RemS, RemU};
    match op {
        Op::Binary(DivS | DivU | RemS | RemU | FDiv, _) => true,
        Op::Unary(crate::ir::UnaryOp::FSqrt) => true,
        Op::Binary(BinaryOp::FAdd | BinaryOp::FMul | BinaryOp::FSub, _) | Op::Fma => ty == Ty::F64,
        // A heuristic, because the text of a template can be any instruction.
        Op::Template(template) => {
            template.text.starts_with("div")
                || template.text.starts_with("sqrt")
                || template.text.contains("@")
        }
        _ => false,
    }
}

fn join(
    function: &mut Function,
    id: BlockId,
    condition: Value,
    a: &Target,
    b: &Target,
    sides: &[BlockId],
) {
    for side in sides {
        // The two sides have no parameters, because `clean` removes the parameters of blocks with a
        // single predecessor.
        let insts = std::mem::take(&mut function.block_mut(*side).insts);
        function.block_mut(id).insts.extend(insts);
    }
    let span = function.block(id).span;
    let mut args = Vec::new();
    for (x, y) in a.args.iter().zip(&b.args) {
        let ty = function.inst(*x).ty;
        args.push(function.push(id, Op::Select, ty, vec![condition, *x, *y], span));
    }
    function.block_mut(id).end = Terminator::Jump(Target { block: a.block, args });
}
