//! The steps of a graph that can be launched: what is done at each of its nodes.

use std::sync::Arc;

use crate::abi::Handle;
use crate::context::hardware::Hardware;
use crate::graph::operation::Operation;
use crate::graph::operation::decision::Decision;

/// What keeps an executable graph from taking over the work of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    Topology,
    NodeType,
    Parameters,
}

/// One node of an executable graph.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) node: Handle,
    pub(crate) operation: Operation,
    pub(crate) enabled: bool,
    /// Of a node that decides, how many steps each of its bodies has, which stand behind it one after
    /// the other.
    pub(super) bodies: Vec<usize>,
}

impl Step {
    pub(super) fn of(node: Handle, operation: Operation) -> Self {
        Self { node, operation, enabled: true, bodies: Vec::new() }
    }
}

impl Step {
    /// What keeps it from doing the work of another one.
    pub(super) fn difference(&self, new: &Self) -> Option<Difference> {
        if self.operation.node_type() != new.operation.node_type() {
            return Some(Difference::NodeType);
        }
        match (&self.operation, &new.operation) {
            (Operation::Decide(own), Operation::Decide(new)) if own.kind != new.kind => {
                Some(Difference::Parameters)
            }
            _ => (self.bodies != new.bodies).then_some(Difference::Topology),
        }
    }
}

/// The work of steps: that of bodies, which stand behind the step of their node, is inside what decides.
pub(super) fn work_of(steps: &[Step], begins: bool, hardware: &Hardware) -> Vec<Operation> {
    let (mut work, mut left) = (Vec::with_capacity(steps.len() + 4), steps);
    while let Some((step, behind)) = left.split_first() {
        left = behind;
        let mut take = |count: &usize| {
            let (body, behind) = left.split_at((*count).min(left.len()));
            left = behind;
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
