//! The recording of one block's warps, step by step: the lanes that run, the values of their registers, and the
//! lanes that wait.

/// The recording of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The registers that the program names, the kernel's own first.
    pub registers: Vec<RecordedRegister>,
    /// The steps of all warps, in the order of execution.
    pub steps: Vec<RecordedStep>,
    /// The number of instructions beyond the limit of steps, which were not recorded.
    pub left_out: u64,
}

/// A register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRegister {
    /// The function that declares the register.
    pub function: String,
    /// The name of the register, such as `%r1`.
    pub name: String,
    /// The declared type of the register, without the dot.
    pub ty: String,
}

/// One instruction of one warp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedStep {
    /// The warp's number in the block.
    pub warp: u32,
    /// The function that the instruction belongs to.
    pub function: String,
    /// The line in the PTX, from 1.
    pub line: usize,
    /// The instruction, as written, in one line.
    pub text: String,
    /// The lanes that reached the instruction, a bit for each.
    pub mask: u32,
    /// The lanes whose predicate was true.
    pub active: u32,
    /// The lanes of the warp that had not exited.
    pub alive: u32,
    /// The other lanes of the warp.
    pub others: Vec<OtherLanes>,
    /// Whether the instruction is a barrier at which its lanes wait.
    pub barrier: bool,
    /// The global and shared memory that the instruction's lanes accessed.
    pub accesses: Vec<Accessed>,
    /// The registers that were written until the warp's next step.
    pub written: Vec<Written>,
}

/// Lanes of the warp that are at another instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherLanes {
    /// The line that these lanes will execute next, or wait at.
    pub line: usize,
    /// The lanes.
    pub mask: u32,
    /// The reason that these lanes wait.
    pub waits: Waits,
}

/// The reason that lanes wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// The lanes only wait for their turn.
    Turn,
    /// The lanes wait at the block's barrier with this number.
    Barrier(u8),
    /// The lanes wait for other lanes of their warp, at a shuffle or a vote.
    Lanes,
}

/// An access of a warp to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accessed {
    /// Whether the accessed memory is shared memory. Otherwise it is global memory.
    pub shared: bool,
    /// Whether the access reads, writes, or both.
    pub kind: AccessKind,
    /// The number of bytes of each lane.
    pub bytes: u64,
    /// The name of the buffer or variable, if it has one.
    pub place: String,
    /// The offset of the buffer's start in a 128-byte line of memory.
    pub skew: u64,
    /// Each lane that accesses memory, with the offset in the buffer in bytes or, in shared memory, the address.
    pub offsets: Vec<(u32, i64)>,
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A read.
    Load,
    /// A write.
    Store,
    /// An atomic read and write.
    Atomic,
}

/// A value that was written to a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The register, as an index into [`Record::registers`].
    pub register: usize,
    /// The lanes, a bit for each.
    pub lanes: u32,
    /// The values of these lanes, from the lowest, formatted as in [`Trace`](crate::Trace).
    pub values: Vec<String>,
}
