//! State spaces (PTX ISA, "State Spaces") as accesses tell them apart, and the windows that shared and
//! local memory have among generic addresses.

/// Generic addresses of shared memory begin here. No address of the host is as high.
pub(super) const SHARED_WINDOW: u64 = 1 << 48;
/// Generic addresses of local memory begin here.
pub(super) const LOCAL_WINDOW: u64 = 2 << 48;
/// Function addresses begin here.
pub(super) const FUNCTION_WINDOW: u64 = 3 << 48;
/// Windows are this large.
pub(super) const WINDOW: u64 = 1 << 32;

/// Which rule finds the memory of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateSpace {
    /// Global and constant memory: addresses of the host.
    Global,
    /// Offsets in the block's shared memory.
    Shared,
    /// Offsets in the thread's own memory.
    Local,
    /// Offsets in the launch's parameters, or, above [`LOCAL_WINDOW`], in the thread's own memory.
    Param,
    /// Any of them.
    Generic,
}

/// Whether a generic address is in a window.
pub(super) fn in_window(address: u64, window: u64) -> bool {
    address.wrapping_sub(window) < WINDOW
}
