//! Faults: reports of the rule that a thread broke, with the kernel, the line in PTX and in CUDA C, the thread,
//! the address, and the nearest allocation.

use std::fmt;

/// The rule that a kernel broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// An access outside of every allocation.
    IllegalAddress,
    /// An address that is not a multiple of the size of the access.
    Misaligned,
    /// An access to an allocation that has been freed.
    UseAfterFree,
    /// A read of uninitialised memory.
    Uninitialised,
    /// Two threads access the same memory without ordering, and at least one of them writes.
    Race,
    /// Lanes of one warp wait at different barriers, or at an aligned barrier without the others.
    BarrierDivergence,
    /// A member mask that does not include the executing lane, or is empty.
    BadMemberMask,
    /// A shuffle from a lane that does not take part.
    InactiveLane,
    /// All threads wait.
    Deadlock,
    /// A warp executed more instructions than the limit allows.
    Runaway,
    /// `trap`
    Trap,
    /// A device-side `assert` failed.
    Assert,
    /// The launch itself is invalid: its shape, its parameters, or its shared memory.
    InvalidLaunch,
    /// The host is out of memory.
    OutOfMemory,
    /// An invalid operand: an index beyond a branch table, or a call of something that is not a function.
    InvalidInstruction,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IllegalAddress => "illegal address",
            Self::Misaligned => "misaligned address",
            Self::UseAfterFree => "use after free",
            Self::Uninitialised => "uninitialised memory",
            Self::Race => "race",
            Self::BarrierDivergence => "divergent barrier",
            Self::BadMemberMask => "bad member mask",
            Self::InactiveLane => "inactive lane",
            Self::Deadlock => "deadlock",
            Self::Runaway => "runaway kernel",
            Self::Trap => "trap",
            Self::Assert => "assertion failed",
            Self::InvalidLaunch => "invalid launch",
            Self::OutOfMemory => "out of memory",
            Self::InvalidInstruction => "invalid instruction",
        })
    }
}

/// A position in a PTX text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxPlace {
    /// The name of the text, as [`Source`](crate::source::Source) gives it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The whole line.
    pub text: String,
}

/// The fault that stopped a kernel. Its `Display` is the whole report, and its fields are the fields of [`Report`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(Box<Report>);

impl From<Report> for Fault {
    fn from(report: Report) -> Self {
        Self(Box::new(report))
    }
}

impl std::ops::Deref for Fault {
    type Target = Report;

    fn deref(&self) -> &Report {
        &self.0
    }
}

/// The details of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The rule that was broken.
    pub kind: FaultKind,
    /// One sentence that describes the error.
    pub message: String,
    /// The kernel.
    pub kernel: String,
    /// The position of the instruction; `None` if the launch itself is invalid.
    pub place: Option<PtxPlace>,
    /// File and line of CUDA C, if the text has `.loc`.
    pub cuda: Option<(String, u32)>,
    /// `%ctaid` of the block.
    pub block: Option<[u32; 3]>,
    /// `%tid` of the thread.
    pub thread: Option<[u32; 3]>,
    /// The address that the program used.
    pub address: Option<u64>,
    /// The other thread of a race, whose access came first.
    pub other: Option<OtherAccess>,
    /// Notes: the nearest allocation, or advice.
    pub notes: Vec<String>,
}

impl Report {
    /// A report about a launch as a whole, without a position.
    pub(crate) fn of_launch(kind: FaultKind, kernel: String, message: String) -> Self {
        Self {
            kind,
            message,
            kernel,
            place: None,
            cuda: None,
            block: None,
            thread: None,
            address: None,
            other: None,
            notes: Vec::new(),
        }
    }
}

/// The earlier access of a race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherAccess {
    /// `%ctaid` of the thread's block.
    pub block: [u32; 3],
    /// `%tid` of the thread.
    pub thread: [u32; 3],
    /// Whether the access was a write; otherwise it was a read.
    pub wrote: bool,
    /// The position of the instruction.
    pub place: PtxPlace,
    /// File and line of CUDA C, if the text has `.loc`.
    pub cuda: Option<(String, u32)>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.kind, self.message)?;
        write!(f, "  kernel  {}", self.kernel)?;
        if let Some([x, y, z]) = self.block {
            write!(f, ", block ({x}, {y}, {z})")?;
        }
        if let Some([x, y, z]) = self.thread {
            write!(f, ", thread ({x}, {y}, {z})")?;
        }
        if let Some(place) = &self.place {
            write_place(f, place, self.cuda.as_ref())?;
        }
        if let Some(other) = &self.other {
            let verb = if other.wrote { "written" } else { "read" };
            let ([bx, by, bz], [x, y, z]) = (other.block, other.thread);
            write!(f, "\n  {verb:<7} by block ({bx}, {by}, {bz}), thread ({x}, {y}, {z})")?;
            write_place(f, &other.place, other.cuda.as_ref())?;
        }
        for note in &self.notes {
            write!(f, "\n  note    {note}")?;
        }
        Ok(())
    }
}

fn write_place(
    f: &mut fmt::Formatter<'_>,
    place: &PtxPlace,
    cuda: Option<&(String, u32)>,
) -> fmt::Result {
    write!(f, "\n  PTX     {}:{}:{}", place.file, place.line, place.column)?;
    write!(f, "\n          {}", place.text.trim())?;
    if let Some((file, line)) = cuda {
        write!(f, "\n  CUDA    {file}:{line}")?;
    }
    Ok(())
}

impl std::error::Error for Fault {}
