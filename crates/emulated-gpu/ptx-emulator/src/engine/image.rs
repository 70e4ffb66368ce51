//! The image of a kernel that is ready to run, except for its steps: its parameters, where its registers and
//! variables are, where each step stands in the text.

use std::collections::HashMap;
use std::sync::Arc;

use super::registers::{LANES, Row, Slot};
use crate::fault::PtxPlace;
use crate::program::{FunctionId, Limits, Module, SourceLine, Special, Type, VariableId};
use crate::source::{Source, Span};

/// Where a step comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepOrigin {
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
    /// The type of an element.
    pub element: Type,
}

impl ParameterLayout {
    /// Whether it is one element, not an array, which PTX passes structures as.
    pub(crate) fn is_scalar(&self) -> bool {
        u64::from(self.size) == self.element.bytes()
    }
}

/// A variable in a thread's own memory, with the redzones around it: offsets of its start and of its end, and of
/// the start and the end with these.
#[derive(Clone, Debug)]
pub(super) struct LocalVariable {
    pub(super) name: String,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) before: u64,
    pub(super) after: u64,
}

/// Where a variable of a function is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Home {
    /// At an offset in the thread's own memory.
    Local(u64),
    /// At an offset in the function's part of the thread's stack: each of its calls has one of its own.
    Stack(u64),
    /// At an offset in the launch's parameters.
    Parameter(u64),
    Shared(u64),
    /// After all shared variables of known size.
    DynamicShared,
    /// It could not be placed; that has been reported.
    Nowhere,
}

/// A function of the kernel.
pub(super) struct FunctionLayout {
    pub(super) registers: Vec<Slot>,
    pub(super) homes: Vec<Home>,
    /// The first step of each instruction, and one past the last one's.
    pub(super) starts: Vec<u32>,
    /// Where the stack pointer is kept while a function that uses `alloca` runs.
    pub(super) saved_stack: Option<Slot>,
    /// Where its part of the stack begins, and how many bytes it has, when a function has variables there.
    pub(super) stacked: Option<(Slot, u64)>,
    /// Its first step, once known.
    pub(super) entry: Option<u32>,
    /// Functions with the same number may come to call each other; it is alone where none does.
    pub(super) circle: u32,
}

/// A kernel that is ready to run, but for its steps.
pub(crate) struct Image {
    pub(super) name: String,
    /// As many as there are steps.
    pub(super) places: Vec<StepOrigin>,
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
    /// How many of these are redzones.
    pub(super) padding: u32,
    /// Its variables, in order.
    pub(super) local_variables: Vec<LocalVariable>,
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
    pub(super) plans: HashMap<FunctionId, FunctionLayout>,
    pub(super) module_shared: HashMap<VariableId, Home>,
    /// Where the shared memory begins that belongs to the system, where a kernel uses it.
    pub(super) reserved: Option<u64>,
    /// The registers that no clock decides; none where nobody asks.
    pub(super) untimed: Vec<Slot>,
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Image").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Image {
    /// Where dynamic shared memory begins: at a multiple of 16, the largest alignment of a type.
    pub(crate) fn dynamic_start(&self) -> u64 {
        u64::from(self.static_shared).next_multiple_of(16)
    }

    /// Bytes of shared memory of a block with this many dynamic ones.
    pub(crate) fn shared_bytes(&self, dynamic: u32) -> u64 {
        match dynamic {
            0 => self.static_shared.into(),
            _ => self.dynamic_start() + u64::from(dynamic),
        }
    }

    /// The variable in a thread's own memory whose redzone an access to some bytes touches.
    pub(super) fn trespasses(&self, offset: u64, bytes: u64) -> Option<&LocalVariable> {
        let variables = &self.local_variables;
        let end = offset.saturating_add(bytes);
        // The last that begins before the end of the access, and the one after it.
        let next = variables.partition_point(|variable| variable.start < end);
        let past = next.checked_sub(1).and_then(|last| variables.get(last));
        let past = past.filter(|variable| offset < variable.after && end > variable.end);
        let below = |variable: &&LocalVariable| offset < variable.start && end > variable.before;
        past.or_else(|| variables[next.saturating_sub(1)..].iter().take(2).find(below))
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
