//! Conditional nodes, and the graphs that are their bodies.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::abi::Handle;
use crate::abi::error::{Code, Error, Result};
use crate::graph::Graph;
use crate::graph::condition::Condition;
use crate::graph::nested::{MAX_DEPTH, MAX_NODES, too_large};
use crate::graph::operation::Operation;
use crate::graph::operation::decision::{ConditionalKind, Decision};

/// A conditional node.
#[derive(Debug)]
pub(crate) struct Conditional {
    pub(crate) kind: ConditionalKind,
    pub(crate) condition: Arc<Condition>,
    pub(crate) bodies: Vec<Arc<Graph>>,
    /// The bodies' handles, which the program may read as long as the node exists.
    handles: Box<[Handle]>,
    /// The mark of the executable graph that contains the node. There is at most one such graph.
    instance: Mutex<Weak<()>>,
}

impl Conditional {
    /// A node for a graph, and its empty bodies, which are registered.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the condition belongs to another graph or node; `OUT_OF_MEMORY` if graphs would be nested
    /// too deeply, or there would be too many.
    pub(crate) fn new(
        outer: &Arc<Graph>,
        condition: Arc<Condition>,
        kind: ConditionalKind,
        size: u32,
    ) -> Result<Self> {
        if !outer.is_inside(condition.graph) {
            return Err(Code::INVALID_VALUE.because(
                "the condition was created for a graph that neither is nor contains this one",
            ));
        }
        let depth = outer.depth().saturating_add(1);
        if depth >= MAX_DEPTH || size as usize >= MAX_NODES {
            return Err(too_large());
        }
        if !condition.acquire() {
            return Err(Code::INVALID_VALUE
                .because("another node uses this condition; create one for each node"));
        }
        let body = || Arc::new(Graph::body(outer, depth));
        let bodies: Vec<_> = (0..size).map(|_| body()).collect();
        for body in &bodies {
            body.register();
        }
        let handles = bodies.iter().map(|body| body.handle).collect();
        Ok(Self { kind, condition, bodies, handles, instance: Mutex::default() })
    }

    /// The handles of the node's bodies, which are valid as long as the node exists.
    pub(crate) fn handles(&self) -> &[Handle] {
        &self.handles
    }

    /// The work of the node in a launch.
    pub(super) fn decision(&self) -> Decision {
        let condition = Arc::clone(&self.condition);
        Decision { kind: self.kind, default: condition.default, condition, bodies: Vec::new() }
    }

    /// Assigns the node to an executable graph. The graph owns `mark`, so while `mark` exists, no other executable
    /// graph can have the node.
    ///
    /// # Errors
    /// `INVALID_VALUE` if an executable graph that still exists has the node.
    pub(super) fn claim(&self, mark: &Arc<()>) -> Result {
        let mut instance = self.instance.lock().unwrap_or_else(PoisonError::into_inner);
        if instance.strong_count() > 0 {
            return Err(Code::INVALID_VALUE
                .because("a graph with conditional nodes can have only one executable graph; destroy that first"));
        }
        *instance = Arc::downgrade(mark);
        Ok(())
    }

    /// Unregisters the node's bodies, and releases the condition for another node.
    pub(crate) fn unregister(&self) {
        self.condition.release();
        self.bodies.iter().for_each(|body| body.unregister());
    }
}

impl Graph {
    /// Creates a condition for a node of this graph or of a graph inside it.
    pub(crate) fn create_condition(&self, context: Handle, default: Option<u32>) -> u64 {
        let hardware = Arc::clone(&self.registry.hardware);
        let condition = Arc::new(Condition::new(self.handle, context, default, hardware));
        let handle = condition.handle;
        self.conditions().push(Arc::clone(&condition));
        self.registry.conditions.insert(handle as Handle, condition);
        handle
    }

    /// Whether a condition of this graph is used by no node.
    pub(super) fn has_unused_condition(&self) -> bool {
        self.conditions().iter().any(|condition| !condition.is_in_use())
    }
}

/// Checks that work may be in a body ("Conditional Node Body Graph Requirements" in the CUDA C++ Programming Guide):
/// kernels of the condition's context, empty nodes, child graphs, and copies and fills that need only the device.
///
/// # Errors
/// `INVALID_VALUE` if the work isn't allowed in a body.
pub(super) fn check_in_body(operation: &Operation, context: Handle) -> Result {
    match operation {
        // Work of host libraries is allowed, because the real libraries would launch kernels.
        Operation::NoOp | Operation::Fill(_) | Operation::Library(_) | Operation::Keep(_) => Ok(()),
        // A captured launch of a graph.
        Operation::All(work) => work.iter().try_for_each(|one| check_in_body(one, context)),
        Operation::Launch { function, .. } => {
            // A library's kernel runs in the context that launches it.
            let has_context = function.module_context().is_some();
            if has_context && function.context != context {
                return Err(not_allowed_in_bodies("a kernel of another context"));
            }
            Ok(())
        }
        Operation::Copy(transfer) if transfer.needs_only_device() => Ok(()),
        Operation::Copy(_) => {
            Err(not_allowed_in_bodies("a copy of an array, or of unpinned memory"))
        }
        other => {
            Err(not_allowed_in_bodies(&format!("a node of type {}", other.node_type() as u32)))
        }
    }
}

fn not_allowed_in_bodies(what: &str) -> Error {
    Code::INVALID_VALUE.because(format!("{what} may not be in the body of a conditional node"))
}
