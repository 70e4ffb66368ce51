//! The graph of blocks: who precedes whom, who dominates whom, which are loops.

use rustc_hash::FxHashSet as HashSet;

use super::{BlockId, Function};

/// Predecessors and an order in which a block comes behind those that dominate it.
#[derive(Debug)]
pub(crate) struct Graph {
    /// By block; a predecessor comes twice where both ways of a branch go there.
    pub(crate) preds: Vec<Vec<BlockId>>,
    /// Those that can be reached, in reverse postorder.
    pub(crate) order: Vec<BlockId>,
}

impl Graph {
    pub(crate) fn of(function: &Function) -> Self {
        let count = function.blocks.len();
        let mut preds = vec![Vec::new(); count];
        let mut order = Vec::with_capacity(count);
        let mut seen = vec![false; count];
        // A stack of blocks and of how many of their successors have been visited.
        let mut stack = vec![(Function::ENTRY, 0)];
        seen[0] = true;
        while let Some((block, next)) = stack.pop() {
            let end = &function.block(block).end;
            // The last successor first, so that the first comes next in the order.
            let index = end.targets().count().checked_sub(next + 1);
            match index.and_then(|index| end.targets().nth(index)).map(|target| target.block) {
                Some(successor) => {
                    stack.push((block, next + 1));
                    preds[successor.0 as usize].push(block);
                    if !std::mem::replace(&mut seen[successor.0 as usize], true) {
                        stack.push((successor, 0));
                    }
                }
                None => order.push(block),
            }
        }
        order.reverse();
        Self { preds, order }
    }

    pub(crate) fn preds(&self, block: BlockId) -> &[BlockId] {
        &self.preds[block.0 as usize]
    }
}

/// Which block every way to a block leads through: Cooper, Harvey and Kennedy's algorithm.
#[derive(Debug)]
pub(crate) struct Dominators {
    /// The closest one; itself for the entry, and for what can't be reached.
    pub(crate) idom: Vec<BlockId>,
    /// Places in the reverse postorder; `usize::MAX` for what can't be reached.
    pub(crate) number: Vec<usize>,
    /// How far each is from the entry.
    depth: Vec<u32>,
}

impl Dominators {
    pub(crate) fn of(graph: &Graph) -> Self {
        let count = graph.preds.len();
        let mut number = vec![usize::MAX; count];
        for (index, block) in graph.order.iter().enumerate() {
            number[block.0 as usize] = index;
        }
        let mut idom: Vec<Option<BlockId>> = vec![None; count];
        idom[0] = Some(Function::ENTRY);
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &graph.order[1..] {
                let mut found: Option<BlockId> = None;
                for &pred in graph.preds(block) {
                    if idom[pred.0 as usize].is_none() {
                        continue;
                    }
                    found = Some(match found {
                        None => pred,
                        Some(other) => meet(&idom, &number, pred, other),
                    });
                }
                if idom[block.0 as usize] != found {
                    idom[block.0 as usize] = found;
                    changed = true;
                }
            }
        }
        let idom: Vec<BlockId> = idom
            .into_iter()
            .enumerate()
            .map(|(index, found)| found.unwrap_or(BlockId(index as u32)))
            .collect();
        let mut depth = vec![0; count];
        for &block in graph.order.iter().skip(1) {
            depth[block.0 as usize] = depth[idom[block.0 as usize].0 as usize] + 1;
        }
        Self { idom, number, depth }
    }

    pub(crate) fn idom(&self, block: BlockId) -> BlockId {
        self.idom[block.0 as usize]
    }

    /// Whether every way to `b` leads through `a`.
    pub(crate) fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let mut b = b;
        while self.depth[b.0 as usize] > self.depth[a.0 as usize] {
            b = self.idom(b);
        }
        a == b
    }
}

fn meet(idom: &[Option<BlockId>], number: &[usize], a: BlockId, b: BlockId) -> BlockId {
    let (mut a, mut b) = (a, b);
    while a != b {
        let later = if number[a.0 as usize] > number[b.0 as usize] { &mut a } else { &mut b };
        match idom[later.0 as usize] {
            Some(up) => *later = up,
            None => return a,
        }
    }
    a
}

/// A loop: all blocks from which its header is reached again.
#[derive(Clone, Debug)]
pub(crate) struct NaturalLoop {
    pub(crate) header: BlockId,
    /// Those that jump back to the header.
    pub(crate) latches: Vec<BlockId>,
    pub(crate) blocks: HashSet<BlockId>,
}

#[derive(Debug)]
pub(crate) struct Loops;

impl Loops {
    /// All loops, inner ones before those around them.
    pub(crate) fn of(graph: &Graph, dominators: &Dominators) -> Vec<NaturalLoop> {
        let mut loops: Vec<NaturalLoop> = Vec::new();
        for &header in &graph.order {
            let mut latches: Vec<BlockId> = graph
                .preds(header)
                .iter()
                .copied()
                .filter(|pred| dominators.dominates(header, *pred))
                .collect();
            latches.sort();
            latches.dedup();
            if latches.is_empty() {
                continue;
            }
            let mut blocks = HashSet::from_iter([header]);
            let mut stack = latches.clone();
            while let Some(block) = stack.pop() {
                if blocks.insert(block) {
                    stack.extend(graph.preds(block));
                }
            }
            loops.push(NaturalLoop { header, latches, blocks });
        }
        loops.sort_by_key(|own| (own.blocks.len(), dominators.number[own.header.0 as usize]));
        loops
    }
}
