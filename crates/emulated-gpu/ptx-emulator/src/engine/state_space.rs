//! State spaces (PTX ISA, "State Spaces") of accesses, and the windows of shared and local memory
//! in the generic address space.

/// The start of shared memory in the generic address space. No host address is that high.
pub(super) const SHARED_WINDOW: u64 = 1 << 48;
/// The start of local memory in the generic address space.
pub(super) const LOCAL_WINDOW: u64 = 2 << 48;
/// The start of function addresses.
pub(super) const FUNCTION_WINDOW: u64 = 3 << 48;
/// The size of each window.
pub(super) const WINDOW_BYTES: u64 = 1 << 32;

/// The state space of an access, which determines how its address is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateSpace {
    /// Global and constant memory: host addresses.
    Global,
    /// Offsets in the block's shared memory.
    Shared,
    /// Offsets in the thread's local memory.
    Local,
    /// Offsets in the launch's parameters or, from [`LOCAL_WINDOW`] on, in the thread's local
    /// memory.
    Param,
    /// Generic addresses, which may be in any state space.
    Generic,
}

/// Whether a generic address is in a window.
pub(super) fn in_window(address: u64, window: u64) -> bool {
    address.wrapping_sub(window) < WINDOW_BYTES
}
