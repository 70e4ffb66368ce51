//! The execution of a conditional node (CUDA Driver API, `CUDA_CONDITIONAL_NODE_PARAMS`).

use std::sync::Arc;

use crate::abi::enumeration::enumeration;
use crate::abi::error::{Code, Result};
use crate::context::Context;
use crate::graph::condition::Condition;
use crate::graph::operation::Operation;

enumeration! {
    /// `CUgraphConditionalNodeType`
    Kind, "there is no conditional node of kind {}" {
        /// The first body where the condition isn't 0, and else the second, if there is one.
        If = 0,
        /// The body, again and again while the condition isn't 0.
        While = 1,
        /// The body with the condition's number, if there is one.
        Switch = 2,
    }
}

impl Kind {
    /// Checks the number of bodies of a node.
    ///
    /// # Errors
    /// `INVALID_VALUE`
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
            "{bodies} bodies: a WHILE node has one, an IF node one or two, a SWITCH node at least one"
        )))
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::If => "if",
            Self::While => "while",
            Self::Switch => "switch",
        }
    }
}

/// What a launch does at a conditional node.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    pub(crate) kind: Kind,
    pub(crate) condition: Arc<Condition>,
    /// What the condition is when a launch begins, if that is to be anything.
    pub(crate) default: Option<u32>,
    /// The work of each body: none in an executable graph, whose steps stand behind that of the node.
    pub(crate) bodies: Vec<Arc<Vec<Operation>>>,
}

impl Decision {
    /// Does what the condition says: as many instructions as [`Operation::run`] counts.
    ///
    /// # Errors
    /// `LAUNCH_TIMEOUT` of a loop that has run away: an endless one would otherwise be stopped by no limit,
    /// since each kernel in it comes to its end.
    pub(crate) fn run(&self, context: &Arc<Context>) -> Result<u64> {
        let value = self.condition.value();
        let chosen = match self.kind {
            Kind::While => return self.repeat(context),
            Kind::If => usize::from(value == 0),
            Kind::Switch => value as usize,
        };
        Ok(self.bodies.get(chosen).map_or(0, |body| run_all(body, context)))
    }

    fn repeat(&self, context: &Arc<Context>) -> Result<u64> {
        let limit = context.hardware.settings.instruction_limit.unwrap_or(u64::MAX);
        let (mut rounds, mut executed) = (0u64, 0u64);
        // What fails in it ends the context, and nothing sets the condition any longer.
        while self.condition.value() != 0 && context.fault().is_none() {
            for body in &self.bodies {
                executed = executed.saturating_add(run_all(body, context));
            }
            // A body may be empty.
            (rounds, executed) = (rounds.saturating_add(1), executed.saturating_add(1));
            if executed > limit {
                return Err(Code::LAUNCH_TIMEOUT.because(format!(
                    "a WHILE node of a graph has run away: it went round {rounds} times, and \
                     EMULATED_GPU_INSTRUCTION_LIMIT is {limit}; no kernel of its body set its condition to 0"
                )));
            }
        }
        Ok(executed)
    }
}

/// Does work in its order: as many instructions as [`Operation::run`] counts.
pub(crate) fn run_all(work: &[Operation], context: &Arc<Context>) -> u64 {
    work.iter().fold(0, |sum: u64, operation| sum.saturating_add(operation.run(context)))
}
