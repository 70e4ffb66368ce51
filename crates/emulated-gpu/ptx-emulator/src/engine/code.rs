//! Lowered code: a list of steps with resolved operands.

use std::ops::Deref;
use std::sync::Arc;

use super::access::instruction::Access;
use super::asynchronous::AsynchronousStep;
use super::atomics::AtomicAccess;
use super::collective::Collective;
use super::core::{Core, Outcome};
use super::defined::Uses;
use super::image::Image;
use super::matrix::MatrixStep;
use super::recursion::Frame;
use super::registers::{Registers, Slot};
use super::texture::TextureStep;
use crate::program::{Atomic, Space, Special};

/// Computes for the lanes of a mask. `unsafe` because it may need AVX2 and FMA.
pub(super) type Compute = unsafe fn(&mut Registers, &Operands, u32);
/// Accesses memory for the lanes of a mask. `unsafe` because it may need AVX2 and FMA.
pub(super) type Transfer = unsafe fn(&mut Core<'_>, &Access, u32) -> Outcome;
/// Any other operation that only touches registers.
pub(super) type General = Box<dyn Fn(&mut Registers, u32) + Send + Sync>;

/// The register rows (or predicates) of a [`Compute`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Operands {
    pub(super) d: u32,
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) c: u32,
}

/// One instruction, or a part of one.
pub(super) struct Step {
    /// The predicate slot that guards the step.
    pub(super) guard: u32,
    /// A mask of all ones for a negated guard (`@!p`), otherwise 0.
    pub(super) negation_mask: u32,
    /// 1 for the first step of an instruction, 0 for the others.
    pub(super) weight: u32,
    /// The sum of the weights of all previous steps.
    pub(super) before: u32,
    pub(super) action: Action,
}

/// The operation of a step.
pub(super) enum Action {
    /// A computation on whole rows of registers.
    Compute(Compute, Operands),
    /// Any other computation, as a closure on registers and a mask of lanes.
    General(General),
    /// A load or a store.
    Transfer(Transfer, Box<Access>),
    /// `atom` and `red`
    Atomic(Box<AtomicAccess>),
    /// An asynchronous copy, or an operation on a barrier object.
    Asynchronous(Box<AsynchronousStep>),
    /// Jumps to a step.
    Branch(u32),
    /// `brx.idx`: jumps to one of several steps.
    BranchIndexed { index: Slot, targets: Box<[u32]> },
    /// Calls the function that starts at a step.
    Call(u32),
    /// An indirect call whose register doesn't hold the address of a function with the given
    /// prototype.
    NoFunction(Slot),
    /// Saves the caller's registers and variables on the stack.
    SaveFrame(Arc<Frame>),
    /// Restores the caller's registers and variables from the stack.
    RestoreFrame(Arc<Frame>),
    /// Calls a function that every device has.
    Builtin(Builtin, Box<BuiltinArguments>),
    /// `ret`
    Return,
    /// `exit`
    Exit,
    /// `trap`
    Trap,
    /// A memory fence; `wide` if its scope is wider than the block.
    Fence { wide: bool },
    /// Copies within the thread's local memory.
    CopyLocal { to: u64, from: u64, bytes: u64 },
    /// `cvta.param`, `cvta.to.param`
    ConvertParameter { to_space: bool, d: Slot, a: Slot },
    /// `isspacep`; `constants` are the ranges of constant variables.
    IsSpace { space: Space, constants: Arc<[(u64, u64)]>, d: Slot, a: Slot },
    /// Checks and updates which registers are initialised, for initcheck.
    Uses(Box<Uses>),
    /// Lets other warps run.
    Pause,
    /// No operation.
    Nothing,
    /// `bar` and `barrier`
    Barrier(Box<Barrier>),
    /// A vote, shuffle, match or reduction of the lanes of a warp.
    Collective(Box<Collective>),
    /// An operation of the matrix units.
    Matrix(Box<MatrixStep>),
    /// An access to a texture or a surface.
    Texture(Box<TextureStep>),
    /// Reads a clock register.
    ReadClock { d: Slot, which: Special },
    /// `alloca`
    StackAllocate { pointer: Slot, d: Slot, size: Slot, align: u64 },
}

/// `bar` and `barrier`.
pub(super) struct Barrier {
    pub(super) action: BarrierKind,
    pub(super) index: Slot,
    pub(super) threads: Option<Slot>,
    pub(super) aligned: bool,
}

/// The kind of a barrier instruction.
pub(super) enum BarrierKind {
    /// Waits until all threads have arrived.
    Sync,
    /// Arrives without waiting.
    Arrive,
    /// A reduction of the predicates that the threads contribute, and its destination.
    Reduce { operation: Atomic, d: Slot, predicate: Slot, negated: bool },
}

/// Functions that exist on every device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    Print,
    AssertFail,
    Allocate,
    Free,
    SetCondition,
}

impl Builtin {
    /// The builtin with the name that a PTX file declares.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "vprintf" => Some(Self::Print),
            "__assertfail" => Some(Self::AssertFail),
            "malloc" => Some(Self::Allocate),
            "free" => Some(Self::Free),
            "cudaGraphSetConditional" => Some(Self::SetCondition),
            _ => None,
        }
    }
}

/// The location of a builtin's arguments and result.
#[derive(Default)]
pub(super) struct BuiltinArguments {
    pub(super) arguments: Vec<Argument>,
    pub(super) result: Option<Argument>,
}

/// An argument of a builtin.
#[derive(Clone, Copy)]
pub(super) enum Argument {
    /// In a register of the caller.
    Register(Slot),
    /// The argument is at an offset in local memory, and has a size in bytes.
    Memory { offset: u64, bytes: u64 },
}

/// Whether a step ends its lanes; the lowering puts such a step at the end of each function.
pub(super) fn ends(action: &Action) -> bool {
    matches!(action, Action::Exit | Action::Return | Action::Trap)
}

/// A lowered kernel, ready to run.
pub(crate) struct Executable {
    pub(super) image: Image,
    pub(super) code: Vec<Step>,
}

impl Deref for Executable {
    type Target = Image;

    fn deref(&self) -> &Image {
        &self.image
    }
}

impl std::fmt::Debug for Executable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.image.fmt(f)
    }
}
