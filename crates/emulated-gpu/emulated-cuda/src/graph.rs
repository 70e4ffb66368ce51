//! Graphs: work with its order, to be launched again and again.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::{Handle, Pointer};
use crate::driver::driver;
use crate::error::{Code, Result};
use crate::operation::Operation;
use crate::registry::fresh;
use crate::user_object::{Held, Resource};

/// As many nodes may a graph have, with those of the graphs inside it: a few calls that put a graph into a copy
/// of itself double it each time.
const MOST_NODES: u32 = 1 << 18;
/// So deep may graphs be inside each other.
const DEEPEST: u32 = 256;

/// What is left of the nodes that a graph may have.
struct Room(u32);

impl Room {
    /// For one more node, so deep inside of graphs.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`
    fn take(&mut self, depth: u32) -> Result {
        let left = self.0.checked_sub(1).filter(|_| depth < DEEPEST);
        self.0 = left.ok_or_else(|| {
            Code::OUT_OF_MEMORY.because(format!(
                "a graph may have {MOST_NODES} nodes, with those of the graphs inside it, which may be \
                 {DEEPEST} deep: launch graphs one after another"
            ))
        })?;
        Ok(())
    }
}

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
#[derive(Debug)]
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
        let mut ready: VecDeque<&Node> =
            nodes.iter().filter(|node| node.after.is_empty()).collect();
        let mut ordered = Vec::with_capacity(nodes.len());
        while let Some(node) = ready.pop_front() {
            ordered.push(node.clone());
            for other in nodes.iter().filter(|other| other.after.contains(&node.handle)) {
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

    /// The same nodes under new handles.
    ///
    /// # Errors
    /// Before `cuInit`.
    pub(crate) fn duplicate(&self) -> Result<Arc<Self>> {
        let nodes = self.nodes();
        let origin: HashMap<Handle, Handle> =
            nodes.iter().map(|node| (node.handle, fresh())).collect();
        let renamed = |handle: &Handle| origin.get(handle).copied().unwrap_or(*handle);
        let copies: Vec<Node> = nodes
            .iter()
            .map(|node| Node {
                handle: renamed(&node.handle),
                operation: node.operation.clone(),
                after: node.after.iter().map(renamed).collect(),
                pointers: Vec::new(),
            })
            .collect();
        let handles: Vec<Handle> = copies.iter().map(|node| node.handle).collect();
        let graph = Arc::new(Self {
            handle: fresh(),
            nodes: Mutex::new(copies),
            memory: Arc::clone(&self.memory),
            origin,
            users: self.users.duplicate(),
        });
        let driver = driver()?;
        for handle in handles {
            driver.nodes.insert(handle, Arc::clone(&graph));
        }
        Ok(graph)
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

    /// Whether it is small enough to be a part of another one.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`
    pub(crate) fn fits_inside(&self) -> Result {
        fn count(graph: &Graph, room: &mut Room, depth: u32) -> Result {
            // Not while the lock is held: a graph may stand in several places of another one.
            let of = |node: &Node| match &node.operation {
                Operation::Child(child) => Some(Arc::clone(child)),
                _ => None,
            };
            let children: Vec<_> = graph.nodes().iter().map(of).collect();
            for child in children {
                room.take(depth)?;
                child.map_or(Ok(()), |child| count(&child, room, depth + 1))?;
            }
            Ok(())
        }
        count(self, &mut Room(MOST_NODES), 1)
    }

    /// Makes a graph that can be launched.
    ///
    /// # Errors
    /// `INVALID_VALUE` when dependencies run in a circle, `OUT_OF_MEMORY` when it has too many nodes.
    pub(crate) fn instantiate(&self, flags: u64) -> Result<Executable> {
        let mut kept = Kept { memory: vec![Arc::clone(&self.memory)], users: self.users.all() };
        let mut steps = Vec::new();
        self.flatten(&mut steps, &mut kept, &mut Room(MOST_NODES), 0)?;
        Ok(Executable { flags, steps: Mutex::new(steps), kept: Arc::new(kept) })
    }

    fn flatten(
        &self,
        steps: &mut Vec<Step>,
        kept: &mut Kept,
        room: &mut Room,
        depth: u32,
    ) -> Result {
        for Node { handle, operation, .. } in self.ordered()? {
            room.take(depth)?;
            if let Operation::Child(child) = &operation {
                kept.memory.push(Arc::clone(&child.memory));
                kept.users.extend(child.users.all());
                child.flatten(steps, kept, room, depth + 1)?;
            } else {
                steps.push(Step { node: handle, operation, enabled: true });
            }
        }
        Ok(())
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
