//! Graphs: work with its order, to be launched again and again.

mod conditional;
mod executable;
mod nested;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

pub(crate) use self::conditional::Conditional;
pub(crate) use self::executable::{Difference, Executable, Kept, Step};
pub(crate) use self::nested::Child;

use crate::abi::{Handle, Pointer};
use crate::condition::Condition;
use crate::driver::driver;
use crate::error::{Code, Error, Result};
use crate::operation::Operation;
use crate::registry::fresh;
use crate::user_object::Held;

/// One piece of work of a graph.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) handle: Handle,
    pub(crate) operation: Operation,
    /// The nodes that come before it.
    pub(crate) after: Vec<Handle>,
    /// The pointers that were handed out with its parameters, which stay until the next time.
    pub(crate) pointers: Vec<usize>,
    /// What the program has said of a kernel that changes nothing here.
    pub(crate) hints: HashMap<u32, [u64; 8]>,
}

/// A graph.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) handle: Handle,
    nodes: Mutex<Vec<Node>>,
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

/// Memory that a graph allocated for its nodes.
#[derive(Debug, Default)]
pub(crate) struct Reserved(Mutex<Vec<Pointer>>);

impl Drop for Reserved {
    fn drop(&mut self) {
        let addresses = std::mem::take(self.0.get_mut().unwrap_or_else(PoisonError::into_inner));
        let Ok(driver) = driver() else { return };
        for address in addresses {
            // What is in use stays, and is the program's to free (CUDA Programming Guide, "Graph Memory
            // Nodes").
            let stays = driver.allocations.with(address, |one| {
                one.reserved = !one.live;
                one.live
            });
            // Gone already where its context was destroyed.
            if stays == Some(false) {
                let _ = driver.allocations.free(address, |_| true);
            }
        }
    }
}

/// `CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH`
pub(crate) const DEVICE_LAUNCH: u64 = 4;

/// Why a graph can't be instantiated.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) error: Error,
    /// `CUgraphInstantiateResult`
    pub(crate) result: u32,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        // CUDA_GRAPH_INSTANTIATE_ERROR
        Self { error, result: 1 }
    }
}

impl Graph {
    /// An empty graph.
    pub(crate) fn new() -> Self {
        Self {
            handle: fresh(),
            nodes: Mutex::default(),
            memory: Arc::default(),
            origin: HashMap::new(),
            users: Held::default(),
            depth: AtomicU32::new(0),
            outer: OnceLock::new(),
            is_body: false,
            conditions: Mutex::default(),
        }
    }

    /// An empty graph that is the body of a node of another one, inside so many.
    fn inside(outer: &Arc<Self>, depth: u32) -> Self {
        let outer = OnceLock::from(Arc::downgrade(outer));
        Self { depth: AtomicU32::new(depth), outer, is_body: true, ..Self::new() }
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

    pub(crate) fn nodes(&self) -> MutexGuard<'_, Vec<Node>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The memory of this graph.
    pub(crate) fn reserve(&self, address: Pointer) {
        self.memory.0.lock().unwrap_or_else(PoisonError::into_inner).push(address);
    }

    /// Adds a node behind others.
    ///
    /// # Errors
    /// `INVALID_VALUE` when one of those is not in this graph.
    pub(crate) fn add(self: &Arc<Self>, operation: Operation, after: &[Handle]) -> Result<Handle> {
        let mut nodes = self.nodes();
        let mut unique: Vec<Handle> = Vec::with_capacity(after.len());
        for dependency in after {
            if !nodes.iter().any(|node| node.handle == *dependency) {
                return Err(Code::INVALID_VALUE.because("a dependency is not a node of this graph"));
            }
            if !unique.contains(dependency) {
                unique.push(*dependency);
            }
        }
        let handle = fresh();
        let (pointers, hints) = (Vec::new(), HashMap::new());
        nodes.push(Node { handle, operation, after: unique, pointers, hints });
        drop(nodes);
        driver()?.nodes.insert(handle, Arc::clone(self));
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
        let mut nodes = self.nodes();
        let found = nodes.iter_mut().find(|one| one.handle == node);
        f(found.ok_or_else(|| Code::INVALID_VALUE.because("the node is gone from its graph"))?)
    }

    /// The nodes in an order that keeps every dependency; in the order in which they were added
    /// otherwise.
    ///
    /// # Errors
    /// `INVALID_VALUE` when dependencies run in a circle.
    pub(crate) fn ordered(&self) -> Result<Vec<Node>> {
        let nodes = self.nodes();
        let mut waiting: HashMap<Handle, usize> =
            nodes.iter().map(|node| (node.handle, node.after.len())).collect();
        let mut behind: HashMap<Handle, Vec<&Node>> = HashMap::new();
        for node in nodes.iter() {
            for before in &node.after {
                behind.entry(*before).or_default().push(node);
            }
        }
        let mut ready: VecDeque<&Node> =
            nodes.iter().filter(|node| node.after.is_empty()).collect();
        let mut ordered = Vec::with_capacity(nodes.len());
        while let Some(node) = ready.pop_front() {
            ordered.push(node.clone());
            for other in behind.remove(&node.handle).into_iter().flatten() {
                if let Some(left) = waiting.get_mut(&other.handle) {
                    *left -= 1;
                    if *left == 0 {
                        ready.push_back(other);
                    }
                }
            }
        }
        if ordered.len() < nodes.len() {
            return Err(Code::INVALID_VALUE.because("the dependencies of a graph run in a circle"));
        }
        Ok(ordered)
    }

    /// Every node before one of these, and these.
    pub(crate) fn ancestors(&self, of: &[Handle]) -> HashSet<Handle> {
        let nodes = self.nodes();
        let mut found: HashSet<Handle> = HashSet::new();
        let mut open: Vec<Handle> = of.to_vec();
        while let Some(handle) = open.pop() {
            if found.insert(handle) {
                let node = nodes.iter().find(|node| node.handle == handle);
                open.extend(node.into_iter().flat_map(|node| &node.after));
            }
        }
        found
    }

    /// The same nodes under new handles, which nobody knows yet.
    ///
    /// # Errors
    /// `INVALID_VALUE` where a node decides, which CUDA has no copies of (`CUgraphNodeType`).
    fn copy(&self) -> Result<Self> {
        let nodes = self.nodes();
        let origin: HashMap<Handle, Handle> =
            nodes.iter().map(|node| (node.handle, fresh())).collect();
        let renamed = |handle: &Handle| origin.get(handle).copied().unwrap_or(*handle);
        let copied = |operation: &Operation| match operation {
            Operation::Child(child) => Ok(Operation::Child(child.for_copy()?)),
            Operation::Conditional(_) => Err(Code::INVALID_VALUE
                .because("a graph with conditional nodes can't be cloned, or be in a child node")),
            other => Ok(other.clone()),
        };
        let copy = |node: &Node| {
            Ok(Node {
                handle: renamed(&node.handle),
                operation: copied(&node.operation)?,
                after: node.after.iter().map(renamed).collect(),
                pointers: Vec::new(),
                hints: node.hints.clone(),
            })
        };
        let copies = nodes.iter().map(copy).collect::<Result<_>>()?;
        Ok(Self {
            nodes: Mutex::new(copies),
            memory: Arc::clone(&self.memory),
            users: self.users.duplicate(),
            origin,
            ..Self::new()
        })
    }

    /// A copy, which the driver knows.
    ///
    /// # Errors
    /// `INVALID_VALUE` where there is a conditional node in it.
    pub(crate) fn duplicate(&self) -> Result<Arc<Self>> {
        let graph = Arc::new(self.copy()?);
        graph.register()?;
        Ok(graph)
    }

    /// From now on the driver finds it, and its nodes, by their handles.
    ///
    /// # Errors
    /// Before `cuInit`.
    pub(crate) fn register(self: &Arc<Self>) -> Result {
        let driver = driver()?;
        for node in self.nodes().iter() {
            driver.nodes.insert(node.handle, Arc::clone(self));
        }
        driver.graphs.insert(self.handle, Arc::clone(self));
        Ok(())
    }

    /// Takes it, and its nodes, out of what the driver knows.
    ///
    /// # Errors
    /// Before `cuInit`.
    pub(crate) fn forget(&self) -> Result {
        let driver = driver()?;
        driver.graphs.remove(self.handle);
        for condition in std::mem::take(&mut *self.conditions()) {
            driver.conditions.remove(condition.handle as Handle);
        }
        let nodes = std::mem::take(&mut *self.nodes());
        for node in &nodes {
            driver.nodes.remove(node.handle);
            node.forget_inside()?;
        }
        Ok(())
    }

    /// Makes a graph that can be launched.
    ///
    /// # Errors
    /// `INVALID_VALUE` when dependencies run in a circle, for what the body of a conditional node may not
    /// hold, for a condition by which no node decides, and where a conditional node is in another executable
    /// graph; `OUT_OF_MEMORY` when it has too many nodes.
    pub(crate) fn instantiate(&self, flags: u64) -> std::result::Result<Executable, Refusal> {
        let flat = self.flat()?;
        if flat.has_idle_condition {
            let error = Code::INVALID_VALUE.because(
                "a handle of a condition belongs to no conditional node: add one, or make no such handle",
            );
            // CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED
            return Err(Refusal { error, result: 5 });
        }
        if flags & DEVICE_LAUNCH != 0 {
            flat.check_for_device()?;
        }
        let mark = Arc::default();
        flat.conditionals.iter().try_for_each(|node| node.claim(&mark))?;
        Ok(Executable::new(flags, flat, mark))
    }
}

impl Node {
    /// Takes the graphs inside it out of what the driver knows.
    ///
    /// # Errors
    /// Before `cuInit`.
    pub(crate) fn forget_inside(&self) -> Result {
        match &self.operation {
            Operation::Child(child) => child.forget(),
            Operation::Conditional(node) => node.forget(),
            _ => Ok(()),
        }
    }
}
