//! What a kernel is when it runs: a list of steps, each with its operands already found.

use std::collections::HashMap;
use std::sync::Arc;

use super::access::Access;
use super::atomics::AtomicAccess;
use super::collective::Collective;
use super::core::{Core, Outcome};
use super::defined::Uses;
use super::lower::{Home, Plan};
use super::recursion::Frame;
use super::registers::{LANES, Registers, Row, Slot};
use crate::fault::PtxPlace;
use crate::program::{Atomic, FunctionId, Limits, Module, SourceLine, Space, Special, VariableId};
use crate::source::{Source, Span};

/// Computes on the lanes of a mask. `unsafe` because it may need AVX2 and FMA.
pub(super) type Compute = unsafe fn(&mut Registers, &Operands, u32);
/// Accesses memory for the lanes of a mask. `unsafe` for the same reason.
pub(super) type Transfer = unsafe fn(&mut Core<'_>, &Access, u32) -> Outcome;
/// Anything else that only touches registers.
pub(super) type General = Box<dyn Fn(&mut Registers, u32) + Send + Sync>;

/// Rows (or predicates) of a [`Compute`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Operands {
    pub(super) d: u32,
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) c: u32,
}

/// One instruction, or a part of one.
pub(super) struct Step {
    /// The predicate slot that guards it.
    pub(super) guard: u32,
    /// All ones for `@!p`.
    pub(super) flip: u32,
    /// 1 for the first step of an instruction, 0 for the others.
    pub(super) weight: u32,
    pub(super) action: Action,
}

/// What a step does.
pub(super) enum Action {
    Compute(Compute, Operands),
    General(General),
    Transfer(Transfer, Box<Access>),
    Atomic(Box<AtomicAccess>),
    CopyAsync(Box<CopyAsync>),
    CopyAsyncCommit,
    /// With the number of groups that may be under way still; `None` for none, open ones included.
    CopyAsyncWait(Option<u32>),
    /// Goes to a step.
    Branch(u32),
    BranchIndexed {
        index: Slot,
        targets: Box<[u32]>,
    },
    /// Calls the function that begins at a step.
    Call(u32),
    /// A register was to hold the address of a function that a prototype describes, and does not.
    NoFunction(Slot),
    /// The caller's registers and variables go to the stack, and come back.
    SaveFrame(Arc<Frame>),
    RestoreFrame(Arc<Frame>),
    Builtin(Builtin, Box<BuiltinArguments>),
    Return,
    Exit,
    Trap,
    /// Wider than of the block.
    Fence {
        wide: bool,
    },
    /// Copies between places of the thread's own memory.
    CopyLocal {
        to: u64,
        from: u64,
        bytes: u64,
    },
    /// `cvta.param`, `cvta.to.param`
    ConvertParameter {
        to_space: bool,
        d: Slot,
        a: Slot,
    },
    /// `isspacep`; the ranges are those of constant variables.
    IsSpace {
        space: Space,
        constants: Arc<[(u64, u64)]>,
        d: Slot,
        a: Slot,
    },
    /// Which registers are known, where that is asked.
    Uses(Box<Uses>),
    /// Others may go on meanwhile.
    Pause,
    Nothing,
    Barrier(Box<Barrier>),
    Collective(Box<Collective>),
    ReadClock {
        d: Slot,
        which: Special,
    },
    StackAllocate {
        pointer: Slot,
        d: Slot,
        size: Slot,
        align: u64,
    },
}

/// `cp.async`.
pub(super) struct CopyAsync {
    pub(super) to: Access,
    pub(super) from: Access,
    pub(super) copy: u32,
    pub(super) source: Option<Slot>,
    pub(super) ignore: Option<(Slot, bool)>,
}

/// `bar` and `barrier`.
pub(super) struct Barrier {
    pub(super) action: BarrierKind,
    pub(super) index: Slot,
    pub(super) threads: Option<Slot>,
    pub(super) aligned: bool,
}

/// What a barrier does.
pub(super) enum BarrierKind {
    Sync,
    Arrive,
    /// With the destination, and the predicate that each thread brings.
    Reduce {
        operation: Atomic,
        d: Slot,
        predicate: Slot,
        negated: bool,
    },
}

/// Functions that exist on every device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    Print,
    AssertFail,
    Allocate,
    Free,
}

impl Builtin {
    /// By the name that a PTX file declares it under.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "vprintf" => Some(Self::Print),
            "__assertfail" => Some(Self::AssertFail),
            "malloc" => Some(Self::Allocate),
            "free" => Some(Self::Free),
            _ => None,
        }
    }
}

/// Where a builtin finds its arguments and leaves its result.
#[derive(Default)]
pub(super) struct BuiltinArguments {
    pub(super) arguments: Vec<Argument>,
    pub(super) result: Option<Argument>,
}

/// An argument of a builtin.
#[derive(Clone, Copy)]
pub(super) enum Argument {
    Register(Slot),
    /// At an offset in the thread's own memory, of so many bytes.
    Memory {
        offset: u64,
        bytes: u64,
    },
}

/// Where a step comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) span: Span,
    pub(super) loc: Option<SourceLine>,
}

/// A parameter of a kernel: where it lies in the packed parameters of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterLayout {
    /// Offset in bytes.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
}

/// A kernel, ready to run.
pub(crate) struct Executable {
    pub(super) name: String,
    pub(super) code: Vec<Step>,
    /// As many as there are steps.
    pub(super) places: Vec<Place>,
    pub(super) rows: u32,
    /// Rows that a new block finds zeroed.
    pub(super) cleared: std::ops::Range<u32>,
    pub(super) predicates: u32,
    pub(super) constants: Vec<(Slot, u64)>,
    pub(super) specials: Vec<(Slot, Special)>,
    pub(super) sites: u32,
    /// Bytes of the variables in shared memory.
    pub(super) static_shared: u32,
    /// Shared variables of known size: name, offset, size.
    pub(super) shared_variables: Vec<(String, u64, u64)>,
    /// Bytes of local memory of one thread: variables, parameters of calls, and a stack.
    pub(super) local_bytes: u32,
    pub(super) constant_bytes: u32,
    /// As the body declares them, not counting what the engine adds.
    pub(super) registers: u32,
    pub(super) parameters: Vec<ParameterLayout>,
    pub(super) parameter_bytes: u32,
    pub(super) limits: Limits,
    pub(super) version: (u32, u32),
    pub(super) target: u32,
    pub(super) source: Arc<Source>,
    pub(super) files: Arc<Vec<(u32, String)>>,
    /// What a trace names: the program, and where the lowering has put its registers and variables.
    pub(super) module: Arc<Module>,
    pub(super) kernel: FunctionId,
    pub(super) plans: HashMap<FunctionId, Plan>,
    pub(super) module_shared: HashMap<VariableId, Home>,
}

impl std::fmt::Debug for Executable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executable").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Executable {
    /// Where dynamic shared memory begins: at a multiple of 16, the largest alignment of a type.
    pub(crate) fn dynamic_start(&self) -> u64 {
        u64::from(self.static_shared).next_multiple_of(16)
    }

    /// Bytes of shared memory of a block with so many dynamic ones.
    pub(crate) fn shared_bytes(&self, dynamic: u32) -> u64 {
        match dynamic {
            0 => self.static_shared.into(),
            _ => self.dynamic_start() + u64::from(dynamic),
        }
    }

    /// Bytes of the host's that a block takes while it runs.
    pub(crate) fn block_bytes(&self, threads: u32, dynamic: u32) -> u64 {
        let warps = u64::from(threads.div_ceil(LANES as u32));
        let local = u64::from(self.local_bytes) * LANES as u64;
        warps * (local + u64::from(self.rows) * size_of::<Row>() as u64)
            + self.shared_bytes(dynamic)
    }

    /// Where a step stands in the PTX, and in the CUDA C.
    pub(super) fn place_of(&self, step: u32) -> (PtxPlace, Option<(String, u32)>) {
        let place = self.places[step as usize];
        let (line, column, text) = self.source.line_of(place.span.start);
        let cuda = place.loc.map(|loc| {
            let name = self.files.iter().find(|(number, _)| *number == loc.file);
            let name = name.map_or_else(|| format!("file {}", loc.file), |(_, name)| name.clone());
            (name, loc.line)
        });
        (PtxPlace { file: self.source.name.clone(), line, column, text: text.to_owned() }, cuda)
    }
}

macro_rules! getters {
    ($($name:ident: $ty:ty;)*) => {
        impl Executable {
            $(pub(crate) fn $name(&self) -> $ty {
                self.$name
            })*

            pub(crate) fn name(&self) -> &str {
                &self.name
            }

            pub(crate) fn parameters(&self) -> &[ParameterLayout] {
                &self.parameters
            }
        }
    };
}

getters! {
    parameter_bytes: u32;
    static_shared: u32;
    local_bytes: u32;
    registers: u32;
    constant_bytes: u32;
    limits: Limits;
    version: (u32, u32);
    target: u32;
}
