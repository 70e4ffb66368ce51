//! The execution of conditional nodes (CUDA Driver API, `CUDA_CONDITIONAL_NODE_PARAMS`).

use std::sync::Arc;

use crate::abi::enumeration::enumeration;
use crate::abi::error::{Code, Result};
use crate::context::Context;
use crate::graph::condition::Condition;
use crate::graph::operation::Operation;

enumeration! {
    /// `CUgraphConditionalNodeType`
    ConditionalKind, "there is no conditional node of kind {}" {
        /// Runs the first body if the condition isn't 0, otherwise the second, if there is one.
        If = 0,
        /// The body, repeatedly while the condition isn't 0.
        While = 1,
        /// Runs the body whose index is the condition's value, if there is one.
        Switch = 2,
    }
}

impl ConditionalKind {
    /// Checks the number of bodies of a node.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the number doesn't fit the kind.
    pub(crate) fn check_bodies(self, bodies: u32) -> Result {
        let fits = match self {
            Self::If => matches!(bodies, 1 | 2),
            Self::While => bodies == 1,
            Self::Switch => bodies > 0,
        };
        if fits {
            return Ok(());
        }
        Err(Code::INVALID_VALUE.because(format!(
            "{bodies} bodies; a WHILE node needs one, an IF node one or two, a SWITCH node at least one"
        )))
    }

    /// The name of the kind in DOT graphs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::If => "if",
            Self::While => "while",
            Self::Switch => "switch",
        }
    }
}

/// The work of a conditional node in a launch.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    pub(crate) kind: ConditionalKind,
    pub(crate) condition: Arc<Condition>,
    /// The value to which the condition is set at the beginning of a launch, if it is set at all.
    pub(crate) default: Option<u32>,
    /// The work of each body. Empty in an executable graph, in which the bodies' steps follow the node's step.
    pub(crate) bodies: Vec<Arc<Vec<Operation>>>,
}

impl Decision {
    /// Runs the selected body. Returns the number of instructions, as [`Operation::run`] does.
    ///
    /// # Errors
    /// `LAUNCH_TIMEOUT` if a loop exceeds the instruction limit. The limit of each kernel doesn't stop an endless loop,
    /// because every kernel in the loop ends.
    pub(crate) fn run(&self, context: &Arc<Context>) -> Result<u64> {
        let value = self.condition.value();
        let chosen = match self.kind {
            ConditionalKind::While => return self.repeat(context),
            ConditionalKind::If => usize::from(value == 0),
            ConditionalKind::Switch => value as usize,
        };
        Ok(self.bodies.get(chosen).map_or(0, |body| run_all(body, context)))
    }

    fn repeat(&self, context: &Arc<Context>) -> Result<u64> {
        let limit = context.hardware.settings.instruction_limit.unwrap_or(u64::MAX);
        let (mut rounds, mut executed) = (0u64, 0u64);
        // After a fault, no kernel runs that could set the condition.
        while self.condition.value() != 0 && context.fault().is_none() {
            for body in &self.bodies {
                executed = executed.saturating_add(run_all(body, context));
            }
            // A body may be empty, so each iteration counts as one instruction.
            (rounds, executed) = (rounds.saturating_add(1), executed.saturating_add(1));
            if executed > limit {
                return Err(Code::LAUNCH_TIMEOUT.because(format!(
                    "a WHILE node of a graph exceeded EMULATED_GPU_INSTRUCTION_LIMIT ({limit}) after {rounds} \
                     iterations; no kernel of its body set its condition to 0"
                )));
            }
        }
        Ok(executed)
    }
}

/// Runs operations in order. Returns the number of instructions, as [`Operation::run`] does.
pub(crate) fn run_all(work: &[Operation], context: &Arc<Context>) -> u64 {
    work.iter().fold(0, |sum: u64, operation| sum.saturating_add(operation.run(context)))
}
