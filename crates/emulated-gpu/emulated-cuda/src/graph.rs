//! Graphs: work with its order, to be launched again and again.

mod nested;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use self::nested::Child;

use crate::abi::{Handle, Pointer};
use crate::driver::driver;
use crate::error::{Code, Result};
use crate::operation::Operation;
use crate::registry::fresh;
use crate::user_object::{Held, Resource};

/// One piece of work of a graph.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) handle: Handle,
    pub(crate) operation: Operation,
    /// The nodes that come before it.
    pub(crate) after: Vec<Handle>,
    /// The pointers that were handed out with its parameters, which stay until the next time.
    pub(crate) pointers: Vec<usize>,
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

/// A graph that can be launched: its nodes in an order that keeps every dependency.
#[derive(Debug)]
pub(crate) struct Executable {
    pub(crate) flags: u64,
    steps: Mutex<Vec<Step>>,
    kept: Arc<Kept>,
}

/// What an executable graph needs: it stays until the last launch is done.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    memory: Vec<Arc<Reserved>>,
    users: Vec<Arc<Resource>>,
}

/// One node of an executable graph.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) node: Handle,
    pub(crate) operation: Operation,
    pub(crate) enabled: bool,
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
        }
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
        nodes.push(Node { handle, operation, after: unique, pointers: Vec::new() });
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
    fn copy(&self) -> Self {
        let nodes = self.nodes();
        let origin: HashMap<Handle, Handle> =
            nodes.iter().map(|node| (node.handle, fresh())).collect();
        let renamed = |handle: &Handle| origin.get(handle).copied().unwrap_or(*handle);
        let copied = |operation: &Operation| match operation {
            Operation::Child(child) => Operation::Child(child.for_copy()),
            other => other.clone(),
        };
        let copies = nodes.iter().map(|node| Node {
            handle: renamed(&node.handle),
            operation: copied(&node.operation),
            after: node.after.iter().map(renamed).collect(),
            pointers: Vec::new(),
        });
        Self {
            handle: fresh(),
            nodes: Mutex::new(copies.collect()),
            memory: Arc::clone(&self.memory),
            origin,
            users: self.users.duplicate(),
            depth: AtomicU32::new(0),
        }
    }

    /// A copy, which the driver knows.
    ///
    /// # Errors
    /// Before `cuInit`.
    pub(crate) fn duplicate(&self) -> Result<Arc<Self>> {
        let graph = Arc::new(self.copy());
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
        let nodes = std::mem::take(&mut *self.nodes());
        for node in &nodes {
            driver.nodes.remove(node.handle);
            if let Operation::Child(child) = &node.operation {
                child.forget()?;
            }
        }
        Ok(())
    }

    /// Makes a graph that can be launched.
    ///
    /// # Errors
    /// `INVALID_VALUE` when dependencies run in a circle, `OUT_OF_MEMORY` when it has too many nodes.
    pub(crate) fn instantiate(&self, flags: u64) -> Result<Executable> {
        let (steps, kept) = self.flat()?;
        Ok(Executable { flags, steps: Mutex::new(steps), kept: Arc::new(kept) })
    }
}

impl Executable {
    pub(crate) fn steps(&self) -> MutexGuard<'_, Vec<Step>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What one launch does. An event that it waits for is waited for as it was recorded last before the
    /// launch, by another graph's launch, too: what is recorded afterwards may wait for the launch itself. (Where the
    /// graph records it itself, the order of its nodes is what there is to wait for.) `begins` says that it stands in a
    /// stream and not in a graph that is being captured.
    pub(crate) fn work(&self, begins: bool) -> Vec<Operation> {
        let steps = self.steps();
        let enabled = steps.iter().filter(|step| step.enabled);
        let keep = Operation::Keep(Arc::clone(&self.kept));
        enabled.map(|step| step.operation.at_launch(begins)).chain([keep]).collect()
    }

    /// Takes over the work of another graph of the same shape.
    ///
    /// # Errors
    /// The node that differs, and whether its type does.
    pub(crate) fn update(&self, from: &Self) -> std::result::Result<(), (Handle, bool)> {
        let (mut own, new) = (self.steps(), from.steps());
        if own.len() != new.len() {
            return Err((new.last().map_or(0, |step| step.node), false));
        }
        let type_of = |step: &Step| step.operation.node_type();
        if let Some((_, step)) = own.iter().zip(new.iter()).find(|(a, b)| type_of(a) != type_of(b))
        {
            return Err((step.node, true));
        }
        for (step, new) in own.iter_mut().zip(new.iter()) {
            step.operation = new.operation.clone();
        }
        Ok(())
    }

    /// The step of a node, changed by a function.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is none.
    pub(crate) fn with<T>(
        &self,
        node: Handle,
        f: impl FnOnce(&mut Step) -> Result<T>,
    ) -> Result<T> {
        let mut steps = self.steps();
        let found = steps.iter_mut().find(|step| step.node == node);
        f(found.ok_or_else(|| {
            Code::INVALID_VALUE.because("the node is not in this executable graph")
        })?)
    }
}
