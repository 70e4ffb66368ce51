//! The graph of blocks: predecessors, dominators, and loops.

use rustc_hash::FxHashSet as HashSet;

use super::{BlockId, Function};

/// The control flow graph: the predecessors of each block, and an order in which every block comes after its
/// dominators.
#[derive(Debug)]
pub(crate) struct Graph {
    /// The predecessors of all blocks, concatenated. If both targets of a branch are the same block, that block has the
    /// predecessor twice.
    preds: Vec<BlockId>,
    /// The index in `preds` at which the predecessors of each block start, and the length of
    /// `preds`.
    starts: Vec<u32>,
    /// The reachable blocks, in reverse postorder.
    pub(crate) order: Vec<BlockId>,
    /// The reachable blocks in the order of a depth-first search, each with the index (in this list) of the block from
    /// which the search found it.
    dfs: Vec<(BlockId, u32)>,
}

impl Graph {
    pub(crate) fn new(function: &Function) -> Self {
        let count = function.blocks.len();
        // The edges of the graph, each from one block to another.
        let mut edges: Vec<(BlockId, BlockId)> = Vec::with_capacity(2 * count);
        let mut order = Vec::with_capacity(count);
        let mut seen = vec![false; count];
        let mut open = vec![(Function::ENTRY, 0)];
        // A stack of blocks, each with its index in `found` and a count of its successors that have
        // been visited.
        let mut stack = vec![(Function::ENTRY, 0, 0)];
        seen[0] = true;
        while let Some((block, place, next)) = stack.pop() {
            let end = &function.block(block).end;
            // The last successor is visited first, so that the first one follows its block in the
            // order.
            let index = end.targets().count().checked_sub(next + 1);
            match index.and_then(|index| end.targets().nth(index)).map(|target| target.block) {
                Some(successor) => {
                    stack.push((block, place, next + 1));
                    edges.push((block, successor));
                    if !std::mem::replace(&mut seen[successor.0 as usize], true) {
                        stack.push((successor, open.len() as u32, 0));
                        open.push((successor, place));
                    }
                }
                None => order.push(block),
            }
        }
        order.reverse();
        let mut starts = vec![0; count + 1];
        for (_, to) in &edges {
            starts[to.0 as usize + 1] += 1;
        }
        for block in 0..count {
            starts[block + 1] += starts[block];
        }
        let mut preds = vec![Function::ENTRY; edges.len()];
        let mut next = starts.clone();
        for (from, to) in edges {
            let place = &mut next[to.0 as usize];
            preds[*place as usize] = from;
            *place += 1;
        }
        Self { preds, starts, order, dfs: open }
    }

    /// The number of blocks in the function.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn preds(&self, block: BlockId) -> &[BlockId] {
        let block = block.0 as usize;
        &self.preds[self.starts[block] as usize..self.starts[block + 1] as usize]
    }
}

/// The dominator tree. Block `a` dominates `b` if every path from the entry to `b` goes through
/// `a`.
#[derive(Debug)]
pub(crate) struct Dominators {
    /// The immediate dominator of each block; for the entry and unreachable blocks, the block itself.
    pub(crate) idom: Vec<BlockId>,
    /// The position in the reverse postorder; `usize::MAX` for unreachable blocks.
    pub(crate) number: Vec<usize>,
    /// The reachable blocks in preorder: each block follows its immediate dominator, and is followed by all blocks that
    /// it dominates.
    pub(crate) preorder: Vec<BlockId>,
    /// The range of `preorder` that each block dominates: from its own position to the position after the last block
    /// that it dominates.
    dominated_range: Vec<(u32, u32)>,
}

impl Dominators {
    pub(crate) fn new(graph: &Graph) -> Self {
        let count = graph.len();
        let mut number = vec![usize::MAX; count];
        for (index, block) in graph.order.iter().enumerate() {
            number[block.0 as usize] = index;
        }
        let idom = immediate_dominators(graph);
        let mut children = LinkedLists::new(count);
        for &block in graph.order.iter().skip(1) {
            children.push(idom[block.0 as usize].0, block.0);
        }
        let mut within = vec![(0, 0); count];
        let mut preorder = Vec::with_capacity(graph.order.len());
        // Each block is on the stack twice: to enter it, and to leave it after the blocks that it
        // dominates.
        let mut stack = vec![(Function::ENTRY, false)];
        while let Some((block, left)) = stack.pop() {
            let place = preorder.len() as u32;
            if left {
                within[block.0 as usize].1 = place;
                continue;
            }
            within[block.0 as usize].0 = place;
            preorder.push(block);
            stack.push((block, true));
            stack.extend(children.take_list(block.0).map(|child| (BlockId(child), false)));
        }
        Self { idom, number, preorder, dominated_range: within }
    }

    pub(crate) fn immediate_dominator(&self, block: BlockId) -> BlockId {
        self.idom[block.0 as usize]
    }

    /// The position of a block in `preorder`.
    pub(crate) fn place(&self, block: BlockId) -> u32 {
        self.dominated_range[block.0 as usize].0
    }

    /// Whether `a` dominates `b`. Both must be reachable.
    pub(crate) fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let (start, end) = self.dominated_range[a.0 as usize];
        a == b || (start..end).contains(&self.place(b))
    }
}

/// The immediate dominator of each block, by Lengauer and Tarjan's algorithm with path compression
/// ("A fast algorithm for finding dominators in a flowgraph", 1979). It takes almost linear time,
/// also for a long chain of conditions.
fn immediate_dominators(graph: &Graph) -> Vec<BlockId> {
    const NONE: u32 = u32::MAX;
    let vertices = &graph.dfs;
    let mut numbers = vec![NONE; graph.len()];
    for (number, (block, _)) in vertices.iter().enumerate() {
        numbers[block.0 as usize] = number as u32;
    }
    let count = vertices.len();
    let mut semi: Vec<u32> = (0..count as u32).collect();
    let mut label = semi.clone();
    let mut ancestor = vec![NONE; count];
    let mut buckets = LinkedLists::new(count);
    let mut idom = vec![0u32; count];
    let mut path = Vec::new();
    // The vertex with the least semidominator on the way up from `v` through the trees linked so far.
    let mut best = |v: u32, ancestor: &mut [u32], label: &mut [u32], semi: &[u32]| {
        if ancestor[v as usize] == NONE {
            return v;
        }
        let mut at = v;
        while ancestor[ancestor[at as usize] as usize] != NONE {
            path.push(at);
            at = ancestor[at as usize];
        }
        while let Some(below) = path.pop() {
            let above = ancestor[below as usize];
            if semi[label[above as usize] as usize] < semi[label[below as usize] as usize] {
                label[below as usize] = label[above as usize];
            }
            ancestor[below as usize] = ancestor[above as usize];
        }
        label[v as usize]
    };
    for w in (1..count as u32).rev() {
        let (block, parent) = vertices[w as usize];
        for pred in graph.preds(block) {
            let from = best(numbers[pred.0 as usize], &mut ancestor, &mut label, &semi);
            semi[w as usize] = semi[w as usize].min(semi[from as usize]);
        }
        buckets.push(semi[w as usize], w);
        ancestor[w as usize] = parent;
        for v in buckets.take_list(parent) {
            let least = best(v, &mut ancestor, &mut label, &semi);
            idom[v as usize] = if semi[least as usize] < semi[v as usize] { least } else { parent };
        }
    }
    for w in 1..count {
        if idom[w] != semi[w] {
            idom[w] = idom[idom[w] as usize];
        }
    }
    let mut found: Vec<BlockId> = (0..graph.len() as u32).map(BlockId).collect();
    for (number, (block, _)) in vertices.iter().enumerate().skip(1) {
        found[block.0 as usize] = vertices[idom[number] as usize].0;
    }
    found
}

/// Linked lists of numbers, each of which is in at most one list. `last` has the last number of
/// each list, and `before` the number before each.
struct LinkedLists {
    last: Vec<u32>,
    before: Vec<u32>,
}

impl LinkedLists {
    fn new(count: usize) -> Self {
        Self { last: vec![u32::MAX; count], before: vec![u32::MAX; count] }
    }

    fn push(&mut self, list: u32, number: u32) {
        let last = std::mem::replace(&mut self.last[list as usize], number);
        self.before[number as usize] = last;
    }

    /// Empties a list and returns its numbers, starting with the last.
    fn take_list(&mut self, list: u32) -> impl Iterator<Item = u32> {
        let mut next = std::mem::replace(&mut self.last[list as usize], u32::MAX);
        std::iter::from_fn(move || {
            let number = next;
            next = *self.before.get(number as usize)?;
            Some(number)
        })
    }
}

/// A natural loop: all blocks from which its header can be reached without leaving the loop.
#[derive(Clone, Debug)]
pub(crate) struct NaturalLoop {
    pub(crate) header: BlockId,
    /// The blocks that jump back to the header.
    pub(crate) latches: Vec<BlockId>,
    pub(crate) blocks: HashSet<BlockId>,
}

/// The maximum number of blocks of all loops together, where a block in nested loops counts for each: gotos
/// can nest thousands of loops. Loops beyond the limit aren't optimised.
const MAX_LOOP_BLOCKS: usize = 200_000;

/// Finds the loops of a function; inner loops come before the loops around them.
pub(crate) fn natural_loops(graph: &Graph, dominators: &Dominators) -> Vec<NaturalLoop> {
    let mut loops: Vec<NaturalLoop> = Vec::new();
    let mut budget = MAX_LOOP_BLOCKS;
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
        budget = budget.saturating_sub(blocks.len());
        if budget == 0 {
            break;
        }
        loops.push(NaturalLoop { header, latches, blocks });
    }
    loops.sort_by_key(|own| (own.blocks.len(), dominators.number[own.header.0 as usize]));
    loops
}
