//! Simplification of the control flow graph: decides branches, merges blocks, and removes empty
//! blocks.

use super::rewrite::Replacements;
use crate::ir::{BlockId, Function, Graph, Target, Terminator, UnaryOp};

/// Simplifies the control flow graph, and returns whether anything changed.
pub(super) fn run(function: &mut Function) -> bool {
    let mut any = false;
    for _ in 0..20 {
        any |= fold_branches(function) | clear_unreachable(function);
        let changed = forward(function) | merge(function);
        if !changed {
            return any;
        }
        any = true;
    }
    any | clear_unreachable(function)
}

/// Replaces branches whose condition is known, or whose targets are the same, by jumps.
fn fold_branches(function: &mut Function) -> bool {
    let mut changed = false;
    for id in function.ids() {
        let Terminator::Branch { condition, yes, no } = function.block(id).end.clone() else {
            continue;
        };
        let end = match function.constant_of(condition) {
            Some(0) => Terminator::Jump(no),
            Some(_) => Terminator::Jump(yes),
            None if yes == no => Terminator::Jump(yes),
            None => match &function.inst(condition).op {
                crate::ir::Op::Unary(UnaryOp::Not) => {
                    let condition = function.inst(condition).args[0];
                    Terminator::Branch { condition, yes: no, no: yes }
                }
                _ => continue,
            },
        };
        function.block_mut(id).end = end;
        changed = true;
    }
    changed
}

/// Empties unreachable blocks.
fn clear_unreachable(function: &mut Function) -> bool {
    let graph = Graph::new(function);
    let mut reached = vec![false; function.blocks.len()];
    for block in &graph.order {
        reached[block.0 as usize] = true;
    }
    let mut changed = false;
    for id in function.ids().filter(|id| !reached[id.0 as usize]).collect::<Vec<_>>() {
        let block = function.block_mut(id);
        changed |= !block.insts.is_empty() || !matches!(block.end, Terminator::Unreachable);
        block.insts.clear();
        block.params.clear();
        block.end = Terminator::Unreachable;
    }
    changed
}

/// Redirects jumps to an empty block to the block that it jumps to.
fn forward(function: &mut Function) -> bool {
    let next: Vec<Option<Target>> = function
        .ids()
        .map(|id| {
            let block = function.block(id);
            match &block.end {
                Terminator::Jump(target)
                    if block.insts.is_empty() && block.params.is_empty() && target.block != id =>
                {
                    Some(target.clone())
                }
                _ => None,
            }
        })
        .collect();
    let mut changed = false;
    for id in function.ids() {
        let mut end = function.block(id).end.clone();
        for target in end.targets_mut() {
            let mut steps = 0;
            while let Some(further) = &next[target.block.0 as usize] {
                steps += 1;
                if steps > 32 {
                    break;
                }
                if let Some(hint) = function.unrolling.get(&target.block).copied() {
                    function.unrolling.entry(further.block).or_insert(hint);
                }
                *target = further.clone();
                changed = true;
            }
        }
        function.block_mut(id).end = end;
    }
    changed
}

/// Merges a block with its successor if the block has no other successor, and the successor no
/// other predecessor.
fn merge(function: &mut Function) -> bool {
    let graph = Graph::new(function);
    let mut replaced = Replacements::new(function);
    let mut gone = vec![false; function.blocks.len()];
    let mut changed = false;
    for &id in &graph.order {
        if gone[id.0 as usize] {
            continue;
        }
        while let Terminator::Jump(target) = function.block(id).end.clone() {
            let to: BlockId = target.block;
            if graph.preds(to).len() != 1
                || to == id
                || to == Function::ENTRY
                || gone[to.0 as usize]
            {
                break;
            }
            let next = std::mem::replace(
                function.block_mut(to),
                crate::ir::Block {
                    params: Vec::new(),
                    insts: Vec::new(),
                    end: Terminator::Unreachable,
                    span: crate::source::Span::default(),
                },
            );
            for (param, arg) in next.params.iter().zip(&target.args) {
                replaced.set(*param, *arg);
            }
            if let Some(hint) = function.unrolling.remove(&to) {
                function.unrolling.entry(id).or_insert(hint);
            }
            let block = function.block_mut(id);
            block.insts.extend(next.insts);
            (block.end, block.span) = (next.end, next.span);
            gone[to.0 as usize] = true;
            changed = true;
        }
    }
    if changed {
        replaced.apply(function);
    }
    changed
}
