//! Errors of device-memory allocation and access.

/// No allocation starts at that address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no allocation starts at {address:#x}; free each address that `allocate` returned once")]
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
    /// The length of the range in bytes.
    pub len: u64,
    /// A description of the nearest allocation.
    pub nearest: String,
}

/// A range that can't be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The range is empty, ends beyond the address space, or overlaps known memory.
    #[error(
        "{len} bytes at {address:#x} can't be registered: the range is empty, ends beyond the address space, or overlaps known memory"
    )]
    Range {
        /// The first byte.
        address: u64,
        /// The length of the range in bytes.
        len: u64,
    },
    /// Part of the range can't be accessed.
    #[error(
        "{len} bytes at {address:#x} can't be registered: some of them are not mapped, or can't be {}",
        if *.writable { "written" } else { "read" }
    )]
    NoAccess {
        /// The first byte.
        address: u64,
        /// The length of the range in bytes.
        len: u64,
        /// Whether kernels may write to the range.
        writable: bool,
    },
}
