//! Graphs: work with its order, to be launched again and again.

pub(crate) mod condition;
mod conditional;
pub(crate) mod executable;
mod kept;
mod launch_order;
mod nested;
mod nodes;
pub(crate) mod operation;
pub(crate) mod step;
pub(crate) mod user_object;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

pub(crate) use self::conditional::Conditional;
pub(crate) use self::nested::Child;

use self::kept::Reserved;
use crate::abi::error::{Code, Result};
use crate::abi::registry::{Registry, fresh};
use crate::abi::{Handle, Pointer};
use crate::context::hardware::Hardware;
use crate::graph::condition::Condition;
use crate::graph::operation::{NodeType, Operation};
use crate::graph::user_object::Held;

/// What is known of graphs by its handle.
#[derive(Debug)]
pub(crate) struct Graphs {
    pub(crate) graphs: Registry<Graph>,
    /// The graph that each node is in.
    pub(crate) of_nodes: Registry<Graph>,
    pub(crate) conditions: Registry<Condition>,
    pub(crate) hardware: Arc<Hardware>,
}

impl Graphs {
    /// None yet.
    pub(crate) fn new(hardware: Arc<Hardware>) -> Self {
        let (graphs, of_nodes) = (Registry::default(), Registry::default());
        Self { graphs, of_nodes, conditions: Registry::default(), hardware }
    }
}

/// What is at a node.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// A piece of work.
    Work(Operation),
    /// A graph.
    Child(Child),
    /// Graphs of which a condition says which run.
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
    /// Where it is known, or will be.
    known: Arc<Graphs>,
    nodes: Mutex<Nodes>,
    /// Memory that was allocated while the graph was captured, which lives as long as the graph.
    memory: Arc<Reserved>,
    /// For each node of the graph that this one is a clone of, the node here.
    pub(crate) origin: HashMap<Handle, Handle>,
    /// What the program wants to live as long.
    pub(crate) users: Held,
    /// Inside how many others it is, where somebody has its handle.
    depth: AtomicU32,
    /// Inside which other it is, where somebody has its handle.
    outer: OnceLock<Weak<Graph>>,
    /// It is the body of a conditional node, whose it is.
    pub(crate) is_body: bool,
    /// What was made for its nodes to decide by.
    conditions: Mutex<Vec<Arc<Condition>>>,
}

impl Graph {
    /// An empty graph.
    pub(crate) fn new(known: Arc<Graphs>) -> Self {
        Self {
            handle: fresh(),
            nodes: Mutex::default(),
            memory: Arc::new(Reserved::new(Arc::clone(&known.hardware))),
            known,
            origin: HashMap::new(),
            users: Held::default(),
            depth: AtomicU32::new(0),
            outer: OnceLock::new(),
            is_body: false,
            conditions: Mutex::default(),
        }
    }

    /// An empty graph that is the body of a node of another one, inside this many.
    fn inside(parent: &Arc<Self>, depth: u32) -> Self {
        let outer = OnceLock::from(Arc::downgrade(parent));
        let new = Self::new(Arc::clone(&parent.known));
        Self { depth: AtomicU32::new(depth), outer, is_body: true, ..new }
    }

    /// Inside how many others it is, where somebody has its handle.
    fn depth(&self) -> u32 {
        self.depth.load(Ordering::Relaxed)
    }

    /// Whether it is the graph of that handle, or inside it.
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

    /// The memory of this graph.
    pub(crate) fn reserve(&self, address: Pointer) {
        self.memory.push(address);
    }

    /// Adds a node after others.
    ///
    /// # Errors
    /// `INVALID_VALUE` when one of those is not in this graph.
    pub(crate) fn add(
        self: &Arc<Self>,
        content: impl Into<Content>,
        after: &[Handle],
    ) -> Result<Handle> {
        let handle = self.nodes().add(content.into(), after)?;
        self.known.of_nodes.insert(handle, Arc::clone(self));
        Ok(handle)
    }

    /// The node of a handle, changed by a function.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is none.
    pub(crate) fn with<T>(
        &self,
        node: Handle,
        f: impl FnOnce(&mut Node) -> Result<T>,
    ) -> Result<T> {
        f(self.nodes().get_mut(node)?)
    }

    /// The nodes in an order that keeps every dependency.
    ///
    /// # Errors
    /// As of [`Nodes::ordered`].
    pub(crate) fn ordered(&self) -> Result<Vec<Node>> {
        self.nodes().ordered()
    }

    /// Every node before one of these, and these.
    pub(crate) fn ancestors(&self, of: &[Handle]) -> HashSet<Handle> {
        self.nodes().ancestors(of)
    }

    /// The same nodes under new handles, which nobody knows yet.
    ///
    /// # Errors
    /// `INVALID_VALUE` where a node decides, which CUDA has no copies of (`CUgraphNodeType`).
    fn copy(&self) -> Result<Self> {
        let copied = |content: &Content| match content {
            Content::Child(child) => Ok(Content::Child(child.for_copy()?)),
            Content::Conditional(_) => Err(Code::INVALID_VALUE
                .because("a graph with conditional nodes can't be cloned, or be in a child node")),
            Content::Work(operation) => Ok(operation.clone().into()),
        };
        let (copies, origin) = self.nodes().copy(copied)?;
        Ok(Self {
            nodes: Mutex::new(copies),
            memory: Arc::clone(&self.memory),
            users: self.users.duplicate(),
            origin,
            ..Self::new(Arc::clone(&self.known))
        })
    }

    /// A copy, which the driver knows.
    ///
    /// # Errors
    /// `INVALID_VALUE` where there is a conditional node in it.
    pub(crate) fn duplicate(&self) -> Result<Arc<Self>> {
        let graph = Arc::new(self.copy()?);
        graph.register();
        Ok(graph)
    }

    /// From now on the driver finds it, and its nodes, by their handles.
    pub(crate) fn register(self: &Arc<Self>) {
        for node in self.nodes().iter() {
            self.known.of_nodes.insert(node.handle, Arc::clone(self));
        }
        self.known.graphs.insert(self.handle, Arc::clone(self));
    }

    /// Takes it, and its nodes, out of what the driver knows.
    pub(crate) fn forget(&self) {
        self.known.graphs.remove(self.handle);
        for condition in std::mem::take(&mut *self.conditions()) {
            self.known.conditions.remove(condition.handle as Handle);
        }
        let nodes = std::mem::take(&mut *self.nodes());
        for node in nodes.iter() {
            self.known.of_nodes.remove(node.handle);
            node.forget_inside();
        }
    }
}

impl Node {
    /// Its work, where it is no graph inside another one.
    pub(crate) fn operation(&self) -> Option<&Operation> {
        match &self.content {
            Content::Work(operation) => Some(operation),
            Content::Child(_) | Content::Conditional(_) => None,
        }
    }

    /// Takes the graphs inside it out of what the driver knows.
    pub(crate) fn forget_inside(&self) {
        match &self.content {
            Content::Work(_) => {}
            Content::Child(child) => child.forget(),
            Content::Conditional(node) => node.forget(),
        }
    }
}
