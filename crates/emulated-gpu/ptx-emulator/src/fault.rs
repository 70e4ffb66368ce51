//! Faults: reports of the rule that a thread broke, with the kernel, the line of PTX and of CUDA C, the
//! thread, the address, and the nearest allocation.

use std::fmt;

/// Which rule a kernel broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// An access outside of every allocation.
    IllegalAddress,
    /// An address that is not a multiple of the size of the access.
    Misaligned,
    /// An access to an allocation that has been freed.
    UseAfterFree,
    /// A read of memory that nothing has written.
    Uninitialised,
    /// Two threads access the same memory, at least one of them writes, and nothing orders them.
    Race,
    /// Lanes of one warp wait at different barriers, or at an aligned one without the others.
    BarrierDivergence,
    /// A member mask that leaves out the lane that executes, or names none.
    BadMemberMask,
    /// A shuffle from a lane that does not take part.
    InactiveLane,
    /// Everybody waits.
    Deadlock,
    /// A warp executed more instructions than the limit allows.
    Runaway,
    /// `trap`
    Trap,
    /// A device-side `assert` failed.
    Assert,
    /// The launch itself is wrong: its shape, its parameters, its shared memory.
    InvalidLaunch,
    /// The host has not the memory that it takes.
    OutOfMemory,
    /// An operand that has no meaning: an index beyond a branch table, a call of what is no function.
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

/// A place in a PTX text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxPlace {
    /// The name of the text, as [`Source`](crate::source::Source) gives it.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The whole line.
    pub text: String,
}

/// What stopped a kernel. Its `Display` is the whole report; its fields are those of [`Report`].
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

/// What is known of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Which rule was broken.
    pub kind: FaultKind,
    /// What happened, in one sentence.
    pub message: String,
    /// The kernel.
    pub kernel: String,
    /// The instruction; `None` where the launch itself is wrong.
    pub place: Option<PtxPlace>,
    /// File and line of CUDA C, where `.loc` tells.
    pub cuda: Option<(String, u32)>,
    /// `%ctaid` of the block.
    pub block: Option<[u32; 3]>,
    /// `%tid` of the thread.
    pub thread: Option<[u32; 3]>,
    /// The address, as the program gave it.
    pub address: Option<u64>,
    /// The other thread of a race, whose access came first.
    pub other: Option<OtherAccess>,
    /// What else is worth knowing: the nearest allocation, what to do.
    pub notes: Vec<String>,
}

impl Report {
    /// Of a launch as a whole, and no place in it.
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

/// The access that another one races with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherAccess {
    /// `%ctaid` of its block.
    pub block: [u32; 3],
    /// `%tid` of its thread.
    pub thread: [u32; 3],
    /// It wrote; else it read.
    pub wrote: bool,
    /// The instruction.
    pub place: PtxPlace,
    /// File and line of CUDA C, where `.loc` tells.
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
