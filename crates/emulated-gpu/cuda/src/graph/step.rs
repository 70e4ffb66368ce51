//! The steps of an executable graph: one for each node.

use std::sync::Arc;

use crate::abi::Handle;
use crate::context::hardware::Hardware;
use crate::graph::operation::Operation;
use crate::graph::operation::decision::Decision;

/// The reason why an executable graph can't be updated to the work of another graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    Topology,
    NodeType,
    Parameters,
}

/// A step of an executable graph, which corresponds to a node.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) node: Handle,
    pub(crate) operation: Operation,
    pub(crate) enabled: bool,
    /// The number of steps of each body of a conditional node. The bodies' steps follow this step, body after body.
    pub(super) bodies: Vec<usize>,
}

impl Step {
    pub(super) fn new(node: Handle, operation: Operation) -> Self {
        Self { node, operation, enabled: true, bodies: Vec::new() }
    }
}

impl Step {
    /// Compares with a new step. Returns the reason why this step can't be updated to the new step's work, or `None` if
    /// it can.
    pub(super) fn difference_from(&self, new: &Self) -> Option<Difference> {
        if self.operation.node_type() != new.operation.node_type() {
            return Some(Difference::NodeType);
        }
        match (&self.operation, &new.operation) {
            (Operation::Decide(old), Operation::Decide(new)) if old.kind != new.kind => {
                Some(Difference::Parameters)
            }
            _ => (self.bodies != new.bodies).then_some(Difference::Topology),
        }
    }
}

/// The operations of steps. The operations of bodies, whose steps follow the step of their node, are put inside the
/// decision.
pub(super) fn work_of(steps: &[Step], begins: bool, hardware: &Hardware) -> Vec<Operation> {
    let (mut work, mut left) = (Vec::with_capacity(steps.len() + 4), steps);
    while let Some((step, rest)) = left.split_first() {
        left = rest;
        let mut take = |count: &usize| {
            let (body, rest) = left.split_at((*count).min(left.len()));
            left = rest;
            Arc::new(work_of(body, begins, hardware))
        };
        let bodies: Vec<_> = step.bodies.iter().map(&mut take).collect();
        match &step.operation {
            Operation::Decide(decision) => {
                work.push(Operation::Decide(Decision { bodies, ..decision.clone() }));
            }
            other if step.enabled => work.push(other.at_launch(begins, hardware)),
            _ => {}
        }
    }
    work
}
