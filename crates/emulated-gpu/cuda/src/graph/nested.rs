//! Nested graphs. A copy of a child-graph node shares its graph with the original until the program requests the handle
//! of one of the two graphs. So a few calls that repeatedly nest a graph in itself make many nodes, but few graphs.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::abi::Handle;
use crate::abi::error::{Code, Error, Result};
use crate::graph::conditional::{Conditional, check_in_body};
use crate::graph::operation::Operation;
use crate::graph::resources::Resources;
use crate::graph::step::Step;
use crate::graph::{Content, Graph, Node};

/// The maximum number of nodes of a graph, including the nodes of nested graphs.
pub(super) const MAX_NODES: usize = 1 << 18;
/// The maximum nesting depth of graphs.
pub(super) const MAX_DEPTH: u32 = 256;

/// The graph of a child-graph node.
#[derive(Clone, Debug)]
pub(crate) struct Child {
    graph: Arc<Graph>,
    /// Whether the program has the handle of the node's graph, and may therefore change the graph.
    is_registered: bool,
}

/// The size of a graph, including nested graphs.
#[derive(Clone, Copy)]
struct Extent {
    nodes: usize,
    height: u32,
}

impl Child {
    /// Makes a copy of a graph, for a node of `outer`.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` if there would be too many nodes, or they would be nested too deeply; `INVALID_VALUE` if the
    /// graph has a conditional node.
    pub(crate) fn copy_of(graph: &Graph, outer: &Graph) -> Result<Self> {
        let extent = graph.extent(&mut HashMap::new());
        let deep = outer.depth().saturating_add(extent.height);
        if extent.nodes >= MAX_NODES || deep >= MAX_DEPTH {
            return Err(too_large());
        }
        Ok(Self { graph: Arc::new(graph.copy()?), is_registered: false })
    }

    /// The graph for a copy of its node: shared if possible, otherwise copied.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the graph has a conditional node.
    pub(super) fn share(&self) -> Result<Self> {
        let graph = match self.is_registered {
            true => Arc::new(self.graph.copy()?),
            // Unregistered graphs can't be changed, so they have no conditional nodes.
            false => Arc::clone(&self.graph),
        };
        Ok(Self { graph, is_registered: false })
    }

    /// Registers the graph, and returns its handle, with which the program may change it. `outer` is the node's
    /// graph.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the graph has a conditional node.
    pub(crate) fn register(&mut self, outer: &Arc<Graph>) -> Result<Handle> {
        if !self.is_registered {
            if Arc::strong_count(&self.graph) > 1 {
                self.graph = Arc::new(self.graph.copy()?);
            }
            self.graph.depth.store(outer.depth().saturating_add(1), Ordering::Relaxed);
            // This can't fail, because the graph was never nested in another registered graph.
            let _ = self.graph.outer.set(Arc::downgrade(outer));
            self.graph.register();
            self.is_registered = true;
        }
        Ok(self.graph.handle)
    }

    /// Unregisters the graph.
    pub(crate) fn unregister(&self) {
        if self.is_registered {
            self.graph.unregister();
        }
    }
}

impl Graph {
    /// The graphs nested in this graph's nodes, and the number of other nodes.
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

    fn extent(&self, expanded: &mut HashMap<Handle, Extent>) -> Extent {
        let (children, nodes) = self.children();
        let mut all = Extent { nodes, height: 1 };
        for child in children {
            let extent = match expanded.get(&child.handle) {
                Some(extent) => *extent,
                None => child.extent(expanded),
            };
            all.nodes = all.nodes.saturating_add(extent.nodes).saturating_add(1);
            all.height = all.height.max(extent.height.saturating_add(1));
        }
        expanded.insert(self.handle, all);
        all
    }

    /// The steps of a launch, and the resources that they need.
    ///
    /// # Errors
    /// `INVALID_VALUE` if dependencies form a cycle, or a body has a node that isn't allowed there; `OUT_OF_MEMORY`
    /// if there are too many nodes.
    pub(super) fn flatten(&self) -> Result<FlatGraph> {
        if self.extent(&mut HashMap::new()).nodes > MAX_NODES {
            return Err(too_large());
        }
        let mut flat = FlatGraph::default();
        flat.add(self, None)?;
        Ok(flat)
    }
}

pub(super) fn too_large() -> Error {
    Code::OUT_OF_MEMORY.because(format!(
        "a graph may have {MAX_NODES} nodes, including those of nested graphs, and a nesting depth of {MAX_DEPTH}; \
         launch several graphs instead"
    ))
}

/// A graph whose nested graphs were expanded into one list of steps.
#[derive(Default)]
pub(super) struct FlatGraph {
    pub(super) steps: Vec<Step>,
    pub(super) resources: Resources,
    pub(super) conditionals: Vec<Arc<Conditional>>,
    /// Whether a condition is used by no node.
    pub(super) has_unused_condition: bool,
    /// The steps of each graph that was already expanded, by the graph and the context of the enclosing body, if any.
    expanded: HashMap<(Handle, Option<Handle>), Range<usize>>,
    /// For each child-graph node, the range of its steps.
    pub(super) children: HashMap<Handle, Range<usize>>,
}

impl FlatGraph {
    /// Checks that kernels may launch the graph: it must only have kernels, copies and fills (CUDA C++ Programming
    /// Guide, "Device Graph Requirements").
    ///
    /// # Errors
    /// `INVALID_VALUE` if the graph has other nodes.
    pub(super) fn check_for_device(&self) -> Result {
        let mut types = self.steps.iter().map(|step| step.operation.node_type());
        let other = types.find(|node_type| !node_type.is_device_work());
        let Some(other) = other else { return Ok(()) };
        Err(Code::INVALID_VALUE.because(format!(
            "a graph that kernels launch may only have kernels, copies and fills, and not a node of type {}",
            other as u32
        )))
    }

    /// Expands a graph. `context` is the context of the conditional node in whose body the graph is.
    fn add(&mut self, graph: &Graph, context: Option<Handle>) -> Result {
        if let Some(range) = self.expanded.get(&(graph.handle, context)) {
            self.steps.extend_from_within(range.clone());
            return Ok(());
        }
        self.resources.memory.push(Arc::clone(&graph.memory));
        self.resources.user_objects.extend(graph.user_objects.all());
        self.has_unused_condition |= graph.has_unused_condition();
        let start = self.steps.len();
        for Node { handle, content, .. } in graph.ordered()? {
            match content {
                Content::Child(child) => {
                    let start = self.steps.len();
                    self.add(&child.graph, context)?;
                    // A node that occurs several times is in a shared graph, and the program doesn't have its handle.
                    self.children.insert(handle, start..self.steps.len());
                }
                Content::Conditional(node) => self.add_conditional(handle, node)?,
                Content::Work(operation) => {
                    if let Some(context) = context {
                        check_in_body(&operation, context)?;
                    }
                    self.steps.push(Step::new(handle, operation));
                }
            }
        }
        self.expanded.insert((graph.handle, context), start..self.steps.len());
        Ok(())
    }

    /// Adds the step of the node, followed by the steps of its bodies.
    fn add_conditional(&mut self, handle: Handle, node: Arc<Conditional>) -> Result {
        let at = self.steps.len();
        self.steps.push(Step::new(handle, Operation::Decide(node.decision())));
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
