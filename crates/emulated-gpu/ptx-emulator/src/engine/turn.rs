//! The interface of a warp's turn: its limits, and how it ends.

use super::core::Problem;

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// All lanes have exited.
    Exited,
    /// All splits are waiting.
    Waiting,
    /// The turn is used up; other warps are next.
    Yielded,
}

/// A problem, with the step and the lanes that caused it.
pub(super) struct Stopped {
    pub(super) problem: Box<Problem>,
    pub(super) pc: u32,
    pub(super) mask: u32,
}

/// The settings of a launch for all turns.
#[derive(Clone, Copy)]
pub(super) struct TurnRules {
    /// The maximum number of instructions per warp.
    pub(super) instruction_limit: u64,
    /// Whether to report lanes of one warp that wait at different barriers.
    pub(super) check_synchronisation: bool,
}
