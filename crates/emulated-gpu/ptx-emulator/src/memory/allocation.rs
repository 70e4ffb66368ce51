//! Descriptions of allocations, for lists and reports.

/// The purpose of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocationKind {
    /// Allocated by the host.
    Device,
    /// A variable of a module.
    Variable,
    /// Pinned or managed memory, used by the host and by kernels.
    Host,
    /// A `.const` variable of a module, which only the host writes.
    Constant,
    /// Host memory that was registered.
    Registered,
    /// Allocated by a kernel, with `malloc`.
    Heap,
    /// Physical memory, mapped in a reserved address range.
    Mapped,
    /// Memory of another process.
    OtherProcess,
}

/// An allocation in the leak report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The address of the first byte.
    pub address: u64,
    /// The size of the allocation in bytes.
    pub size: u64,
    /// The purpose of the allocation.
    pub kind: AllocationKind,
    /// The name of the variable, if the allocation is one.
    pub name: Option<String>,
}

impl std::fmt::Display for Allocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { address, size, kind, name } = self;
        write!(f, "{size} bytes at {address:#x}, ")?;
        match (kind, name) {
            (AllocationKind::Device, _) => f.write_str("allocated by the host"),
            (AllocationKind::Heap, _) => f.write_str("allocated by a kernel"),
            (AllocationKind::OtherProcess, _) => f.write_str("memory of another process"),
            (AllocationKind::Mapped, _) => f.write_str("physical memory, mapped"),
            (AllocationKind::Host, _) => f.write_str("pinned or managed memory"),
            (AllocationKind::Registered, _) => f.write_str("registered host memory"),
            (AllocationKind::Variable, Some(name)) => write!(f, "the variable `{name}`"),
            (AllocationKind::Variable, None) => f.write_str("a variable"),
            (AllocationKind::Constant, Some(name)) => write!(f, "the constant `{name}`"),
            (AllocationKind::Constant, None) => f.write_str("a constant"),
        }
    }
}
