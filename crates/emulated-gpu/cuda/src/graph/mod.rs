//! Graphs: nodes of work with dependencies, which can be launched repeatedly.

pub(crate) mod condition;
mod conditional;
pub(crate) mod executable;
mod launch_order;
mod nested;
mod nodes;
pub(crate) mod operation;
mod resources;
pub(crate) mod step;
pub(crate) mod user_object;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

pub(crate) use self::conditional::Conditional;
pub(crate) use self::nested::Child;

use self::resources::GraphAllocations;
use crate::abi::error::{Code, Result};
use crate::abi::registry::{Registry, new_handle};
use crate::abi::{Handle, Pointer};
use crate::context::hardware::Hardware;
use crate::graph::condition::Condition;
use crate::graph::operation::{NodeType, Operation};
use crate::graph::user_object::ObjectReferences;

/// The registries of graphs, nodes and conditions.
#[derive(Debug)]
pub(crate) struct Graphs {
    pub(crate) graphs: Registry<Graph>,
    /// For each node, the graph that contains it.
    pub(crate) graph_of_node: Registry<Graph>,
    pub(crate) conditions: Registry<Condition>,
    pub(crate) hardware: Arc<Hardware>,
}

impl Graphs {
    /// Creates empty registries.
    pub(crate) fn new(hardware: Arc<Hardware>) -> Self {
        let (graphs, graph_of_node) = (Registry::default(), Registry::default());
        Self { graphs, graph_of_node, conditions: Registry::default(), hardware }
    }
}

/// The content of a node.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// A piece of work.
    Work(Operation),
    /// A child graph.
    Child(Child),
    /// A conditional node: its body graphs, and the condition that selects which of them run.
    Conditional(Arc<Conditional>),
}

impl From<Operation> for Content {
    fn from(operation: Operation) -> Self {
        Self::Work(operation)
    }
}

impl Content {
    /// The type of a node with this content.
    pub(crate) fn node_type(&self) -> NodeType {
        match self {
            Self::Work(operation) => operation.node_type(),
            Self::Child(_) => NodeType::Graph,
            Self::Conditional(_) => NodeType::Conditional,
        }
    }
}

/// A node of a graph.
pub(crate) type Node = nodes::Node<Content>;
/// The nodes of a graph.
pub(crate) type Nodes = nodes::Nodes<Content>;

/// A graph.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) handle: Handle,
    /// The registries for handles of this graph and its nodes.
    registry: Arc<Graphs>,
    nodes: Mutex<Nodes>,
    /// Memory that was allocated while the graph was captured, which lives as long as the graph.
    memory: Arc<GraphAllocations>,
    /// If this graph is a clone, maps each node of the original to the node here.
    pub(crate) origin: HashMap<Handle, Handle>,
    /// User objects to which the graph holds references.
    pub(crate) user_objects: ObjectReferences,
    /// The nesting depth, if the program has a handle of this graph.
    depth: AtomicU32,
    /// The enclosing graph, if this is a nested graph with a handle.
    outer: OnceLock<Weak<Graph>>,
    /// Whether this graph is the body of a conditional node, which owns the graph.
    pub(crate) is_body: bool,
    /// Conditions that were created for nodes of this graph.
    conditions: Mutex<Vec<Arc<Condition>>>,
}

impl Graph {
    /// An empty graph.
    pub(crate) fn new(registry: Arc<Graphs>) -> Self {
        Self {
            handle: new_handle(),
            nodes: Mutex::default(),
            memory: Arc::new(GraphAllocations::new(Arc::clone(&registry.hardware))),
            registry,
            origin: HashMap::new(),
            user_objects: ObjectReferences::default(),
            depth: AtomicU32::new(0),
            outer: OnceLock::new(),
            is_body: false,
            conditions: Mutex::default(),
        }
    }

    /// An empty graph that is the body of a conditional node of `parent`, with a nesting depth.
    fn body(parent: &Arc<Self>, depth: u32) -> Self {
        let outer = OnceLock::from(Arc::downgrade(parent));
        let new = Self::new(Arc::clone(&parent.registry));
        Self { depth: AtomicU32::new(depth), outer, is_body: true, ..new }
    }

    /// Nesting depth, if the program has a handle of this graph.
    fn depth(&self) -> u32 {
        self.depth.load(Ordering::Relaxed)
    }

    /// Whether this graph is `graph`, or is nested inside it.
    fn is_inside(&self, graph: Handle) -> bool {
        let outer = || self.outer.get().and_then(Weak::upgrade);
        self.handle == graph || outer().is_some_and(|outer| outer.is_inside(graph))
    }

    fn conditions(&self) -> MutexGuard<'_, Vec<Arc<Condition>>> {
        self.conditions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds memory that the graph owns.
    pub(crate) fn reserve(&self, address: Pointer) {
        self.memory.hold(address);
    }

    /// Adds a node that depends on others.
    ///
    /// # Errors
    /// `INVALID_VALUE` if one of those nodes is not in this graph.
    pub(crate) fn add(
        self: &Arc<Self>,
        content: impl Into<Content>,
        after: &[Handle],
    ) -> Result<Handle> {
        let handle = self.nodes().add(content.into(), after)?;
        self.registry.graph_of_node.insert(handle, Arc::clone(self));
        Ok(handle)
    }

    /// Calls `f` with a node.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the node is not in this graph.
    pub(crate) fn with_node<T>(
        &self,
        node: Handle,
        f: impl FnOnce(&mut Node) -> Result<T>,
    ) -> Result<T> {
        f(self.nodes().get_mut(node)?)
    }

    /// The nodes in an order that respects every dependency.
    ///
    /// # Errors
    /// The errors of [`Nodes::ordered`].
    pub(crate) fn ordered(&self) -> Result<Vec<Node>> {
        self.nodes().ordered()
    }

    /// The nodes `nodes`, and all nodes on which they depend.
    pub(crate) fn ancestors(&self, nodes: &[Handle]) -> HashSet<Handle> {
        self.nodes().ancestors(nodes)
    }

    /// A copy with new, unregistered handles.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there are conditional nodes, which CUDA can't copy (`CUgraphNodeType`).
    fn copy(&self) -> Result<Self> {
        let copied = |content: &Content| match content {
            Content::Child(child) => Ok(Content::Child(child.share()?)),
            Content::Conditional(_) => Err(Code::INVALID_VALUE.because(
                "a graph with conditional nodes can't be cloned or added as a child graph",
            )),
            Content::Work(operation) => Ok(operation.clone().into()),
        };
        let (copies, origin) = self.nodes().copy(copied)?;
        Ok(Self {
            nodes: Mutex::new(copies),
            memory: Arc::clone(&self.memory),
            user_objects: self.user_objects.duplicate(),
            origin,
            ..Self::new(Arc::clone(&self.registry))
        })
    }

    /// Copies the graph, and registers the copy.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the graph has a conditional node.
    pub(crate) fn duplicate(&self) -> Result<Arc<Self>> {
        let graph = Arc::new(self.copy()?);
        graph.register();
        Ok(graph)
    }

    /// Registers the graph and its nodes, so that their handles are valid.
    pub(crate) fn register(self: &Arc<Self>) {
        for node in self.nodes().iter() {
            self.registry.graph_of_node.insert(node.handle, Arc::clone(self));
        }
        self.registry.graphs.insert(self.handle, Arc::clone(self));
    }

    /// Unregisters the graph and its nodes, so that their handles are invalid.
    pub(crate) fn unregister(&self) {
        self.registry.graphs.remove(self.handle);
        for condition in std::mem::take(&mut *self.conditions()) {
            self.registry.conditions.remove(condition.handle as Handle);
        }
        let nodes = std::mem::take(&mut *self.nodes());
        for node in nodes.iter() {
            self.registry.graph_of_node.remove(node.handle);
            node.unregister_inner();
        }
    }
}

impl Node {
    /// The node's work; `None` for a child-graph or conditional node.
    pub(crate) fn operation(&self) -> Option<&Operation> {
        match &self.content {
            Content::Work(operation) => Some(operation),
            Content::Child(_) | Content::Conditional(_) => None,
        }
    }

    /// Unregisters the graphs inside the node.
    pub(crate) fn unregister_inner(&self) {
        match &self.content {
            Content::Work(_) => {}
            Content::Child(child) => child.unregister(),
            Content::Conditional(node) => node.unregister(),
        }
    }
}
