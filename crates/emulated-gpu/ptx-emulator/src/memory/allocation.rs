//! An allocation, as it is listed.

/// What an allocation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocationKind {
    /// Asked for by the host.
    Device,
    /// A variable of a module.
    Variable,
    /// Memory that the host and kernels use: pinned or managed.
    Host,
    /// A `.const` variable of a module, which only the host writes.
    Constant,
    /// Memory of the host's, registered.
    Registered,
    /// Asked for by a kernel, through `malloc`.
    Heap,
    /// Physical memory, mapped at addresses that were reserved for that.
    Mapped,
    /// Memory of another process.
    Other,
}

/// An allocation, as the leak report lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Its first byte.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// What it is for.
    pub kind: AllocationKind,
    /// The variable's name.
    pub name: Option<String>,
}

impl std::fmt::Display for Allocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { address, size, kind, name } = self;
        write!(f, "{size} bytes at {address:#x}, ")?;
        match (kind, name) {
            (AllocationKind::Device, _) => f.write_str("allocated by the host"),
            (AllocationKind::Heap, _) => f.write_str("allocated by a kernel"),
            (AllocationKind::Other, _) => f.write_str("memory of another process"),
            (AllocationKind::Mapped, _) => f.write_str("physical memory, mapped"),
            (AllocationKind::Host, _) => f.write_str("pinned or managed memory"),
            (AllocationKind::Registered, _) => f.write_str("memory of the host's, registered"),
            (AllocationKind::Variable, Some(name)) => write!(f, "the variable `{name}`"),
            (AllocationKind::Variable, None) => f.write_str("a variable"),
            (AllocationKind::Constant, Some(name)) => write!(f, "the constant `{name}`"),
            (AllocationKind::Constant, None) => f.write_str("a constant"),
        }
    }
}
