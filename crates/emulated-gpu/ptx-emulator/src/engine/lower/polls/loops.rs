//! Control flow of a function: successors of instructions, and loops.

use crate::program::{Instruction, Op};

/// Loops that are nested deeper than this count as part of the surrounding loop: each level costs a
/// walk through the function.
const MAX_NESTING: u32 = 64;

/// The maximum number of consecutive unconditional branches that are followed to find a branch's
/// final target.
const MAX_HOPS: u32 = 64;

/// A loop in a function's body.
pub(super) struct Loop {
    /// The indices of the loop's instructions, including instructions of nested loops, in order.
    pub(super) instructions: Vec<usize>,
    /// The instructions that are not in a nested loop.
    pub(super) own_instructions: Vec<usize>,
}

impl Loop {
    /// The instructions that control flow reaches when it leaves the loop.
    pub(super) fn exits(&self, body: &[Instruction]) -> Vec<usize> {
        let next = self.instructions.iter().flat_map(|&index| successors(body, index));
        next.filter(|to| self.instructions.binary_search(to).is_err())
            .map(|to| branch_target(body, to))
            .collect()
    }
}

/// The possible successors of an instruction; the end of the body is represented by the number of
/// instructions.
pub(super) fn successors(body: &[Instruction], index: usize) -> Vec<usize> {
    let Instruction { guard, op, .. } = &body[index];
    let mut list: Vec<usize> = match op {
        Op::Branch { target, .. } => vec![target.0 as usize],
        Op::BranchIndexed { targets, .. } => targets.iter().map(|to| to.0 as usize).collect(),
        Op::Return | Op::Exit | Op::Trap => Vec::new(),
        _ => vec![index + 1],
    };
    if guard.is_some() {
        list.push(index + 1);
    }
    list
}

/// The loops of a body: the strongly connected components of its control flow and, recursively, the
/// loops of each component without its entry instructions (Steensgaard, "Sequentializing Program
/// Dependence Graphs for Irreducible Programs", 1993).
pub(super) fn loops(body: &[Instruction]) -> Vec<Loop> {
    let inside = |index| {
        let list = successors(body, index).into_iter();
        list.filter(|&to| to < body.len()).collect()
    };
    let after: Vec<Vec<usize>> = (0..body.len()).map(inside).collect();
    let mut before = vec![Vec::new(); body.len()];
    for (index, list) in after.iter().enumerate() {
        list.iter().for_each(|&to| before[to].push(index));
    }
    // The component and the innermost loop of each instruction.
    let mut part = vec![0; body.len()];
    let mut innermost = vec![usize::MAX; body.len()];
    let mut parts = 0;
    let mut loops: Vec<Loop> = Vec::new();
    let mut open = vec![((0..body.len()).collect::<Vec<usize>>(), 0)];
    while let Some((members, depth)) = open.pop() {
        parts += 1;
        let whole = parts;
        members.iter().for_each(|&index| part[index] = whole);
        for root in post_order(&members, &after, &mut part).into_iter().rev() {
            if part[root] != whole {
                continue;
            }
            parts += 1;
            let (mut all, mut at) = (vec![root], 0);
            part[root] = parts;
            while let Some(&index) = all.get(at) {
                at += 1;
                for &from in &before[index] {
                    if part[from] == whole {
                        part[from] = parts;
                        all.push(from);
                    }
                }
            }
            if all.len() == 1 && !after[root].contains(&root) {
                continue;
            }
            all.sort_unstable();
            all.iter().for_each(|&index| innermost[index] = loops.len());
            let entered =
                |index: usize| index == 0 || before[index].iter().any(|&from| part[from] != parts);
            let rest: Vec<usize> = all.iter().copied().filter(|&index| !entered(index)).collect();
            if rest.len() < all.len() && depth < MAX_NESTING {
                open.push((rest, depth + 1));
            }
            loops.push(Loop { instructions: all, own_instructions: Vec::new() });
        }
    }
    for (index, &each) in innermost.iter().enumerate() {
        if let Some(each) = loops.get_mut(each) {
            each.own_instructions.push(index);
        }
    }
    loops
}

/// The instructions of one component in post-order of a depth-first search. `part` is restored.
fn post_order(members: &[usize], after: &[Vec<usize>], part: &mut [usize]) -> Vec<usize> {
    let Some(&first) = members.first() else { return Vec::new() };
    let whole = part[first];
    let mut left = Vec::with_capacity(members.len());
    let mut path = Vec::new();
    for &start in members {
        if part[start] != whole {
            continue;
        }
        part[start] = usize::MAX;
        path.push((start, 0));
        while let Some((index, next)) = path.last_mut() {
            match after[*index].get(*next) {
                None => {
                    left.push(*index);
                    path.pop();
                }
                Some(&to) => {
                    *next += 1;
                    if part[to] == whole {
                        part[to] = usize::MAX;
                        path.push((to, 0));
                    }
                }
            }
        }
    }
    left.iter().for_each(|&index| part[index] = whole);
    left
}

/// The target of an instruction after following unconditional branches.
pub(super) fn branch_target(body: &[Instruction], mut index: usize) -> usize {
    for _ in 0..MAX_HOPS {
        match body.get(index) {
            Some(Instruction { guard: None, op: Op::Branch { target, .. }, .. }) => {
                index = target.0 as usize;
            }
            _ => break,
        }
    }
    index
}
