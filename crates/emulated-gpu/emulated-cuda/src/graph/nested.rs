//! Graphs inside graphs. A node of a copy has the same graph inside as that of the original, until somebody
//! asks for one of the two: a few calls that put a graph into itself make a great many nodes, and few graphs.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Graph, Kept, Node, Step};
use crate::abi::Handle;
use crate::error::{Code, Error, Result};
use crate::operation::Operation;

/// As many nodes may a graph have, with those of the graphs inside it.
const MOST_NODES: usize = 1 << 18;
/// So deep may graphs be inside each other.
const DEEPEST: u32 = 256;

/// The graph of a node.
#[derive(Clone, Debug)]
pub(crate) struct Child {
    graph: Arc<Graph>,
    /// Its handle has been given out: whoever has it may change it, and only this node's.
    is_known: bool,
}

/// How large a graph is, with those inside it.
#[derive(Clone, Copy)]
struct Extent {
    nodes: usize,
    height: u32,
}

impl Child {
    /// A copy of a graph, for a node of another one.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` where it would have too many nodes, or be too deep.
    pub(crate) fn copy_of(graph: &Graph, outer: &Graph) -> Result<Self> {
        let extent = graph.extent(&mut HashMap::new());
        let deep = outer.depth.load(Ordering::Relaxed).saturating_add(extent.height);
        if extent.nodes >= MOST_NODES || deep >= DEEPEST {
            return Err(too_large());
        }
        Ok(Self { graph: Arc::new(graph.copy()), is_known: false })
    }

    /// The same for a copy of its node.
    pub(super) fn for_copy(&self) -> Self {
        let graph =
            if self.is_known { Arc::new(self.graph.copy()) } else { Arc::clone(&self.graph) };
        Self { graph, is_known: false }
    }

    /// The graph, for somebody who may change it. `outer` is that of the node.
    ///
    /// # Errors
    /// Before `cuInit`.
    pub(crate) fn give_out(&mut self, outer: &Graph) -> Result<Handle> {
        if !self.is_known {
            if Arc::strong_count(&self.graph) > 1 {
                self.graph = Arc::new(self.graph.copy());
            }
            let depth = outer.depth.load(Ordering::Relaxed).saturating_add(1);
            self.graph.depth.store(depth, Ordering::Relaxed);
            self.graph.register()?;
            self.is_known = true;
        }
        Ok(self.graph.handle)
    }

    /// Takes it out of what the driver knows.
    ///
    /// # Errors
    /// Before `cuInit`.
    pub(crate) fn forget(&self) -> Result {
        if self.is_known { self.graph.forget() } else { Ok(()) }
    }
}

impl Graph {
    /// Those that its nodes have inside, and how many nodes have none.
    fn children(&self) -> (Vec<Arc<Self>>, usize) {
        let nodes = self.nodes();
        let child = |node: &Node| match &node.operation {
            Operation::Child(child) => Some(Arc::clone(&child.graph)),
            _ => None,
        };
        let children: Vec<_> = nodes.iter().filter_map(child).collect();
        let others = nodes.len() - children.len();
        (children, others)
    }

    fn extent(&self, seen: &mut HashMap<Handle, Extent>) -> Extent {
        let (children, nodes) = self.children();
        let mut all = Extent { nodes, height: 1 };
        for child in children {
            let extent = match seen.get(&child.handle) {
                Some(extent) => *extent,
                None => child.extent(seen),
            };
            all.nodes = all.nodes.saturating_add(extent.nodes).saturating_add(1);
            all.height = all.height.max(extent.height.saturating_add(1));
        }
        seen.insert(self.handle, all);
        all
    }

    /// What a launch does, node by node, and what it needs.
    ///
    /// # Errors
    /// `INVALID_VALUE` when dependencies run in a circle, `OUT_OF_MEMORY` when it has too many nodes.
    pub(super) fn flat(&self) -> Result<(Vec<Step>, Kept)> {
        if self.extent(&mut HashMap::new()).nodes > MOST_NODES {
            return Err(too_large());
        }
        let mut flat = Flat::default();
        flat.add(self)?;
        Ok((flat.steps, flat.kept))
    }
}

fn too_large() -> Error {
    Code::OUT_OF_MEMORY.because(format!(
        "a graph may have {MOST_NODES} nodes, with those of the graphs inside it, which may be {DEEPEST} \
         deep: launch graphs one after another"
    ))
}

#[derive(Default)]
struct Flat {
    steps: Vec<Step>,
    kept: Kept,
    /// Where the steps of a graph stand that has come before.
    seen: HashMap<Handle, Range<usize>>,
}

impl Flat {
    fn add(&mut self, graph: &Graph) -> Result {
        if let Some(range) = self.seen.get(&graph.handle) {
            self.steps.extend_from_within(range.clone());
            return Ok(());
        }
        self.kept.memory.push(Arc::clone(&graph.memory));
        self.kept.users.extend(graph.users.all());
        let start = self.steps.len();
        for Node { handle, operation, .. } in graph.ordered()? {
            match &operation {
                Operation::Child(child) => self.add(&child.graph)?,
                _ => self.steps.push(Step { node: handle, operation, enabled: true }),
            }
        }
        self.seen.insert(graph.handle, start..self.steps.len());
        Ok(())
    }
}
