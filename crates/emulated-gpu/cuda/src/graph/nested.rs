//! Graphs inside graphs. A node of a copy has the same graph inside as that of the original, until somebody
//! asks for one of the two: a few calls that put a graph into itself make a great many nodes, and few graphs.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::abi::Handle;
use crate::abi::error::{Code, Error, Result};
use crate::graph::conditional::{Conditional, check_in_body};
use crate::graph::kept::Kept;
use crate::graph::operation::Operation;
use crate::graph::step::Step;
use crate::graph::{Content, Graph, Node};

/// As many nodes may a graph have, with those of the graphs inside it.
pub(super) const MOST_NODES: usize = 1 << 18;
/// So deep may graphs be inside each other.
pub(super) const DEEPEST: u32 = 256;

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
    /// `OUT_OF_MEMORY` where it would have too many nodes, or be too deep; `INVALID_VALUE` where there is a
    /// conditional node in it.
    pub(crate) fn copy_of(graph: &Graph, outer: &Graph) -> Result<Self> {
        let extent = graph.extent(&mut HashMap::new());
        let deep = outer.depth().saturating_add(extent.height);
        if extent.nodes >= MOST_NODES || deep >= DEEPEST {
            return Err(too_large());
        }
        Ok(Self { graph: Arc::new(graph.copy()?), is_known: false })
    }

    /// The same for a copy of its node.
    ///
    /// # Errors
    /// `INVALID_VALUE` where there is a conditional node in it.
    pub(super) fn for_copy(&self) -> Result<Self> {
        let graph = match self.is_known {
            true => Arc::new(self.graph.copy()?),
            // Nobody has put one there.
            false => Arc::clone(&self.graph),
        };
        Ok(Self { graph, is_known: false })
    }

    /// The graph, for somebody who may change it. `outer` is that of the node.
    ///
    /// # Errors
    /// `INVALID_VALUE` where there is a conditional node in it.
    pub(crate) fn give_out(&mut self, outer: &Arc<Graph>) -> Result<Handle> {
        if !self.is_known {
            if Arc::strong_count(&self.graph) > 1 {
                self.graph = Arc::new(self.graph.copy()?);
            }
            self.graph.depth.store(outer.depth().saturating_add(1), Ordering::Relaxed);
            // It has never been inside another one that somebody knows.
            let _ = self.graph.outer.set(Arc::downgrade(outer));
            self.graph.register();
            self.is_known = true;
        }
        Ok(self.graph.handle)
    }

    /// Takes it out of what the driver knows.
    pub(crate) fn forget(&self) {
        if self.is_known {
            self.graph.forget();
        }
    }
}

impl Graph {
    /// Those that its nodes have inside, and how many nodes have none.
    fn children(&self) -> (Vec<Arc<Self>>, usize) {
        let (mut children, mut others) = (Vec::new(), 0);
        for node in self.nodes().iter() {
            match &node.content {
                Content::Child(child) => children.push(Arc::clone(&child.graph)),
                Content::Conditional(node) => children.extend(node.bodies.iter().cloned()),
                Content::Work(_) => others += 1,
            }
        }
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
    /// `INVALID_VALUE` when dependencies run in a circle, and for what the body of a conditional node may not
    /// hold; `OUT_OF_MEMORY` when it has too many nodes.
    pub(super) fn flat(&self) -> Result<Flat> {
        if self.extent(&mut HashMap::new()).nodes > MOST_NODES {
            return Err(too_large());
        }
        let mut flat = Flat::default();
        flat.add(self, None)?;
        Ok(flat)
    }
}

pub(super) fn too_large() -> Error {
    Code::OUT_OF_MEMORY.because(format!(
        "a graph may have {MOST_NODES} nodes, with those of the graphs inside it, which may be {DEEPEST} \
         deep: launch graphs one after another"
    ))
}

/// A graph with those inside it, one step after the other.
#[derive(Default)]
pub(super) struct Flat {
    pub(super) steps: Vec<Step>,
    pub(super) kept: Kept,
    pub(super) conditionals: Vec<Arc<Conditional>>,
    /// There is a condition by which no node decides.
    pub(super) has_idle_condition: bool,
    /// Where the steps of a graph stand that has come before, in bodies of the same context or in none.
    seen: HashMap<(Handle, Option<Handle>), Range<usize>>,
    /// Where the steps stand of the graph that a node has inside.
    pub(super) children: HashMap<Handle, Range<usize>>,
}

impl Flat {
    /// Fails where there is more in it than what a kernel may launch: kernels, copies and fills (CUDA C++
    /// Programming Guide, "Device Graph Requirements").
    ///
    /// # Errors
    /// `INVALID_VALUE`
    pub(super) fn check_for_device(&self) -> Result {
        let mut types = self.steps.iter().map(|step| step.operation.node_type());
        let other = types.find(|node_type| !node_type.is_by_device());
        let Some(other) = other else { return Ok(()) };
        Err(Code::INVALID_VALUE.because(format!(
            "a graph for launches by kernels has kernels, copies and fills, and no node of type {}",
            other as u32
        )))
    }

    /// `context` is that of the conditional node in whose body it is.
    fn add(&mut self, graph: &Graph, context: Option<Handle>) -> Result {
        if let Some(range) = self.seen.get(&(graph.handle, context)) {
            self.steps.extend_from_within(range.clone());
            return Ok(());
        }
        self.kept.memory.push(Arc::clone(&graph.memory));
        self.kept.users.extend(graph.users.all());
        self.has_idle_condition |= graph.has_idle_condition();
        let start = self.steps.len();
        for Node { handle, content, .. } in graph.ordered()? {
            match content {
                Content::Child(child) => {
                    let start = self.steps.len();
                    self.add(&child.graph, context)?;
                    // A node that stands there more than once has no handle that anybody knows.
                    self.children.insert(handle, start..self.steps.len());
                }
                Content::Conditional(node) => self.add_conditional(handle, node)?,
                Content::Work(operation) => {
                    if let Some(context) = context {
                        check_in_body(&operation, context)?;
                    }
                    self.steps.push(Step::of(handle, operation));
                }
            }
        }
        self.seen.insert((graph.handle, context), start..self.steps.len());
        Ok(())
    }

    /// The steps of the bodies stand behind that of their node.
    fn add_conditional(&mut self, handle: Handle, node: Arc<Conditional>) -> Result {
        let at = self.steps.len();
        self.steps.push(Step::of(handle, Operation::Decide(node.decision())));
        for body in &node.bodies {
            let start = self.steps.len();
            self.add(body, Some(node.condition.context))?;
            let steps = self.steps.len() - start;
            if let Some(step) = self.steps.get_mut(at) {
                step.bodies.push(steps);
            }
        }
        self.conditionals.push(node);
        Ok(())
    }
}
