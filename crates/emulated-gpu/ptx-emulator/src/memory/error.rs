//! Errors of allocations and accesses.

/// No allocation begins at that address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no allocation begins at {address:#x}; free an address that `allocate` gave, once")]
pub struct NotAllocated {
    /// The address.
    pub address: u64,
}

/// A range that is not inside one allocation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{len} bytes at {address:#x} are not inside one allocation: {nearest}")]
pub struct AccessError {
    /// The first byte.
    pub address: u64,
    /// How many.
    pub len: u64,
    /// What lies near.
    pub nearest: String,
}

/// A range that can't be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// It is empty, ends beyond the end of memory, or overlaps what is known already.
    #[error(
        "{len} bytes at {address:#x} can't be registered: empty, beyond the end of memory, or overlapping what is known already"
    )]
    Range {
        /// The first byte.
        address: u64,
        /// How many.
        len: u64,
    },
    /// Some of it can't be accessed.
    #[error(
        "{len} bytes at {address:#x} can't be registered: some of it is not mapped, or not to be {}",
        if *.writable { "written" } else { "read" }
    )]
    NoAccess {
        /// The first byte.
        address: u64,
        /// How many.
        len: u64,
        /// Whether it was to be written.
        writable: bool,
    },
}
