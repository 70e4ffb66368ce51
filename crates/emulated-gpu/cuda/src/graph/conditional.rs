//! Nodes that decide what runs, and the graphs that are their bodies.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::abi::Handle;
use crate::abi::error::{Code, Error, Result};
use crate::graph::Graph;
use crate::graph::condition::Condition;
use crate::graph::nested::{DEEPEST, MOST_NODES, too_large};
use crate::graph::operation::Operation;
use crate::graph::operation::decision::{Decision, Kind};

/// A node that decides.
#[derive(Debug)]
pub(crate) struct Conditional {
    pub(crate) kind: Kind,
    pub(crate) condition: Arc<Condition>,
    pub(crate) bodies: Vec<Arc<Graph>>,
    /// Their handles, for the program to read as long as the node lives.
    handles: Box<[Handle]>,
    /// The one executable graph that it is in.
    instance: Mutex<Weak<()>>,
}

impl Conditional {
    /// A node for a graph, and its bodies, which are empty and which the driver knows.
    ///
    /// # Errors
    /// `INVALID_VALUE` for a condition of another graph, or of another node; `OUT_OF_MEMORY` where graphs
    /// would be too deep inside each other, or too many.
    pub(crate) fn new(
        outer: &Arc<Graph>,
        condition: Arc<Condition>,
        kind: Kind,
        size: u32,
    ) -> Result<Self> {
        if !outer.is_inside(condition.graph) {
            return Err(Code::INVALID_VALUE.because(
                "the condition was made for a graph that neither is this one nor has it inside",
            ));
        }
        let depth = outer.depth().saturating_add(1);
        if depth >= DEEPEST || size as usize >= MOST_NODES {
            return Err(too_large());
        }
        if !condition.take() {
            return Err(Code::INVALID_VALUE
                .because("another node decides by this condition: each has its own"));
        }
        let body = || Arc::new(Graph::inside(outer, depth));
        let bodies: Vec<_> = (0..size).map(|_| body()).collect();
        for body in &bodies {
            body.register();
        }
        let handles = bodies.iter().map(|body| body.handle).collect();
        Ok(Self { kind, condition, bodies, handles, instance: Mutex::default() })
    }

    /// The list of its bodies, which is there as long as the node is.
    pub(crate) fn handles(&self) -> &[Handle] {
        &self.handles
    }

    /// What a launch does at it.
    pub(super) fn decision(&self) -> Decision {
        let condition = Arc::clone(&self.condition);
        Decision { kind: self.kind, default: condition.default, condition, bodies: Vec::new() }
    }

    /// It is in an executable graph from now on, for as long as that has `mark`.
    ///
    /// # Errors
    /// `INVALID_VALUE` where it is in another one.
    pub(super) fn claim(&self, mark: &Arc<()>) -> Result {
        let mut instance = self.instance.lock().unwrap_or_else(PoisonError::into_inner);
        if instance.strong_count() > 0 {
            return Err(Code::INVALID_VALUE.because(
                "a graph with conditional nodes has one executable graph at a time: destroy that first",
            ));
        }
        *instance = Arc::downgrade(mark);
        Ok(())
    }

    /// Takes its bodies out of what the driver knows; another node may have its condition.
    pub(crate) fn forget(&self) {
        self.condition.give_back();
        self.bodies.iter().for_each(|body| body.forget());
    }
}

impl Graph {
    /// A condition for a node of this graph, or of one inside it.
    pub(crate) fn condition(&self, context: Handle, default: Option<u32>) -> u64 {
        let hardware = Arc::clone(&self.known.hardware);
        let condition = Arc::new(Condition::new(self.handle, context, default, hardware));
        let handle = condition.handle;
        self.conditions().push(Arc::clone(&condition));
        self.known.conditions.insert(handle as Handle, condition);
        handle
    }

    /// Whether no node decides by a condition that was made for it.
    pub(super) fn has_idle_condition(&self) -> bool {
        self.conditions().iter().any(|condition| !condition.is_taken())
    }
}

/// What a body may hold ("Conditional Node Body Graph Requirements" in the CUDA C++ Programming Guide):
/// kernels of the condition's context, empty nodes, other graphs, and copies and fills that the device does
/// by itself.
///
/// # Errors
/// `INVALID_VALUE`
pub(super) fn check_in_body(operation: &Operation, context: Handle) -> Result {
    match operation {
        // Work of a library is that of its kernels.
        Operation::Nothing | Operation::Fill(_) | Operation::Library(_) | Operation::Keep(_) => {
            Ok(())
        }
        // A launch that was captured.
        Operation::All(work) => work.iter().try_for_each(|one| check_in_body(one, context)),
        Operation::Launch { function, .. } => {
            // A library's kernel runs in whichever context launches it.
            let known = function.own_context().is_some();
            if known && function.context != context {
                return Err(refused("a kernel of another context"));
            }
            Ok(())
        }
        Operation::Copy(transfer) if transfer.is_by_device_alone() => Ok(()),
        Operation::Copy(_) => Err(refused("a copy of an array, or of memory that isn't pinned")),
        other => Err(refused(&format!("a node of type {}", other.node_type() as u32))),
    }
}

fn refused(what: &str) -> Error {
    Code::INVALID_VALUE.because(format!("{what} may not be in the body of a conditional node"))
}
