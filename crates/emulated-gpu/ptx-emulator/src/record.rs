//! The recording of one block's warps, step by step: which lanes run at any moment, what is in their
//! registers, and which of them wait.

/// The record of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The registers that the program names, the kernel's own first.
    pub registers: Vec<RecordedRegister>,
    /// What warps did, in the order in which they did it.
    pub steps: Vec<RecordedStep>,
    /// Instructions that warps executed beyond as many steps as were asked for.
    pub left_out: u64,
}

/// A register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRegister {
    /// The function that declares it.
    pub function: String,
    /// Its name, `%r1`.
    pub name: String,
    /// Its declared type, without the dot.
    pub ty: String,
}

/// One instruction of one warp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedStep {
    /// The warp's number in the block.
    pub warp: u32,
    /// The function that it stands in.
    pub function: String,
    /// The line in the PTX, from 1.
    pub line: usize,
    /// The instruction, as written, in one line.
    pub text: String,
    /// The lanes that came to it, a bit for each.
    pub mask: u32,
    /// Those of them that did something: their predicate was true.
    pub active: u32,
    /// The lanes of the warp that had not exited.
    pub alive: u32,
    /// The other lanes of the warp.
    pub others: Vec<Elsewhere>,
    /// It is a barrier that its lanes wait at.
    pub barrier: bool,
    /// The global and shared memory that its lanes accessed.
    pub accesses: Vec<Accessed>,
    /// The registers that were written until the next step of the warp.
    pub written: Vec<Written>,
}

/// Lanes of the warp that are at another place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The line that they are to execute, or wait at.
    pub line: usize,
    /// The lanes.
    pub mask: u32,
    /// What they wait for.
    pub waits: Waits,
}

/// What lanes wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// For their turn alone.
    Turn,
    /// At a barrier of the block, by its number.
    Barrier(u8),
    /// For other lanes of the warp, at a shuffle or a vote.
    Lanes,
}

/// An access of a warp to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accessed {
    /// In shared memory; else in global memory.
    pub shared: bool,
    /// It writes, reads, or does both.
    pub kind: AccessKind,
    /// Bytes of each lane.
    pub bytes: u64,
    /// The buffer or variable, by its name where it has one.
    pub place: String,
    /// Where the buffer begins in its line of 128 bytes.
    pub skew: u64,
    /// For each lane that accesses something: the lane, and how many bytes into the buffer; of shared
    /// memory the address.
    pub offsets: Vec<(u32, i64)>,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// It reads.
    Load,
    /// It writes.
    Store,
    /// It does both at once.
    Atomic,
}

/// What was written to a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The register, by its place in [`Record::registers`].
    pub register: usize,
    /// The lanes, a bit for each.
    pub lanes: u32,
    /// The value of each of them, from the lowest, in words, as [`Trace`](crate::Trace) has it.
    pub values: Vec<String>,
}
