//! The image of a lowered kernel, without its steps: its parameters, the placement of its registers
//! and variables, and the source positions of its steps.

use std::collections::HashMap;
use std::sync::Arc;

use super::registers::{LANES, Row, Slot};
use crate::fault::PtxPlace;
use crate::program::{FunctionId, Limits, Module, SourceLine, Special, Type, VariableId};
use crate::source::{Source, Span};

/// The source position of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepOrigin {
    pub(super) span: Span,
    pub(super) loc: Option<SourceLine>,
}

/// The placement of a kernel parameter in the packed parameters of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterLayout {
    /// Offset in bytes.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// The type of an element.
    pub element: Type,
}

impl ParameterLayout {
    /// Whether the parameter is a single element. Structures are passed as arrays.
    pub(crate) fn is_scalar(&self) -> bool {
        u64::from(self.size) == self.element.bytes()
    }
}

/// A variable in local memory: the offsets of its start and end, without and with the redzones
/// around it.
#[derive(Clone, Debug)]
pub(super) struct LocalVariable {
    pub(super) name: String,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) before: u64,
    pub(super) after: u64,
}

/// The placement of a variable of a function.
#[derive(Clone, Copy, Debug)]
pub(super) enum VariablePlace {
    /// The variable is at an offset in local memory.
    Local(u64),
    /// The variable is at an offset in the function's stack frame; each call has its own.
    Stack(u64),
    /// The variable is at an offset in the launch's parameters.
    Parameter(u64),
    Shared(u64),
    /// The variable is in dynamic shared memory, after all shared variables of known size.
    DynamicShared,
    /// The variable has no place, because of an error that has been reported.
    Nowhere,
}

/// The layout of a function of the kernel.
pub(super) struct FunctionLayout {
    pub(super) registers: Vec<Slot>,
    pub(super) homes: Vec<VariablePlace>,
    /// The first step of each instruction, and the end of the last one.
    pub(super) starts: Vec<u32>,
    /// The slot that saves the stack pointer while a function that uses the stack runs.
    pub(super) saved_stack: Option<Slot>,
    /// The slot with the start of the function's stack frame, and the frame's size, if the
    /// function has variables in a frame.
    pub(super) stack_frame: Option<(Slot, u64)>,
    /// The function's first step, once the function has been lowered.
    pub(super) entry: Option<u32>,
    /// The recursion cycle of the function: functions with the same number may call each other.
    pub(super) cycle: u32,
}

/// A lowered kernel, without its steps.
pub(crate) struct Image {
    pub(super) name: String,
    /// The source position of each step.
    pub(super) places: Vec<StepOrigin>,
    pub(super) rows: u32,
    /// The rows that are zeroed for each new block.
    pub(super) cleared: std::ops::Range<u32>,
    pub(super) predicates: u32,
    pub(super) constants: Vec<(Slot, u64)>,
    pub(super) specials: Vec<(Slot, Special)>,
    pub(super) sites: u32,
    /// The bytes of variables in shared memory.
    pub(super) static_shared: u32,
    /// The shared variables of known size: name, offset, size.
    pub(super) shared_variables: Vec<(String, u64, u64)>,
    /// The bytes of local memory per thread: variables, call parameters, and stack.
    pub(super) local_bytes: u32,
    /// How many bytes of local memory are redzones.
    pub(super) padding: u32,
    /// The variables in local memory, by offset.
    pub(super) local_variables: Vec<LocalVariable>,
    pub(super) constant_bytes: u32,
    /// The registers that the body declares, without the registers that the engine adds.
    pub(super) registers: u32,
    pub(super) parameters: Vec<ParameterLayout>,
    pub(super) parameter_bytes: u32,
    pub(super) limits: Limits,
    pub(super) version: (u32, u32),
    pub(super) target: u32,
    pub(super) source: Arc<Source>,
    pub(super) files: Arc<Vec<(u32, String)>>,
    /// The program, and the placement of its registers and variables, for traces.
    pub(super) module: Arc<Module>,
    pub(super) kernel: FunctionId,
    pub(super) layouts: HashMap<FunctionId, FunctionLayout>,
    pub(super) module_shared: HashMap<VariableId, VariablePlace>,
    /// The offset of the shared memory that is reserved by the system, if the kernel uses it.
    pub(super) reserved: Option<u64>,
    /// The registers that don't depend on a clock; empty unless the kernel tests barrier objects.
    pub(super) clock_independent: Vec<Slot>,
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Image").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Image {
    /// The offset of dynamic shared memory: a multiple of 16, the largest alignment of a type.
    pub(crate) fn dynamic_start(&self) -> u64 {
        u64::from(self.static_shared).next_multiple_of(16)
    }

    /// The bytes of shared memory of a block with `dynamic` bytes of dynamic shared memory.
    pub(crate) fn shared_bytes(&self, dynamic: u32) -> u64 {
        match dynamic {
            0 => self.static_shared.into(),
            _ => self.dynamic_start() + u64::from(dynamic),
        }
    }

    /// The local variable whose redzone an access overlaps, if any.
    pub(super) fn overlapped_redzone(&self, offset: u64, bytes: u64) -> Option<&LocalVariable> {
        let variables = &self.local_variables;
        let end = offset.saturating_add(bytes);
        // The last variable that starts before the end of the access, and the next variable.
        let next = variables.partition_point(|variable| variable.start < end);
        let past = next.checked_sub(1).and_then(|last| variables.get(last));
        let past = past.filter(|variable| offset < variable.after && end > variable.end);
        let below = |variable: &&LocalVariable| offset < variable.start && end > variable.before;
        past.or_else(|| variables[next.saturating_sub(1)..].iter().take(2).find(below))
    }

    /// The bytes of host memory that a block takes while it runs.
    pub(crate) fn block_bytes(&self, threads: u32, dynamic: u32) -> u64 {
        let warps = u64::from(threads.div_ceil(LANES as u32));
        let local = u64::from(self.local_bytes) * LANES as u64;
        warps * (local + u64::from(self.rows) * size_of::<Row>() as u64)
            + self.shared_bytes(dynamic)
    }

    /// The position of a step in the PTX, and in the CUDA C source.
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
        impl Image {
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
    padding: u32;
    registers: u32;
    constant_bytes: u32;
    limits: Limits;
    version: (u32, u32);
    target: u32;
}
