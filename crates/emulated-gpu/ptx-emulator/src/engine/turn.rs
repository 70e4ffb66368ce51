//! A turn of a warp, as those see it who give one: what is asked of it and how it ends.

use super::core::Problem;

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Every lane has exited.
    Exited,
    /// Every split waits.
    Waiting,
    /// It ran for long; others are to have a turn.
    Yielded,
}

/// A problem, and the step and the lanes that had it.
pub(super) struct Stopped {
    pub(super) problem: Box<Problem>,
    pub(super) pc: u32,
    pub(super) mask: u32,
}

/// What a launch asks of every turn.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// Most instructions of one warp.
    pub(super) instruction_limit: u64,
    /// Report lanes of one warp that wait at different barriers.
    pub(super) check_synchronisation: bool,
}
