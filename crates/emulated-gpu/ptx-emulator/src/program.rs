//! The program: a checked PTX file, in which every name is resolved and every instruction exists in the ISA.
//! The parser creates it, and the engine runs it.
//!
//! It contains no text, except for names that reports show.

/// Declares an enum, and `NAMED`: the members that have a name, with their names and the values of further columns.
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub enum $name:ident $(, $column:ty)* {
            $($(#[$member_meta:meta])* $member:ident $(= $text:literal $(, $value:expr)*)?;)*
        }
    ) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$member_meta])* $member,)*
        }

        impl $name {
            pub(crate) const NAMED: &[(&'static str, Self $(, $column)*)] =
                &[$($(($text, Self::$member $(, $value)*),)?)*];
        }
    };
}
pub(crate) use named;

mod asynchronous;
mod fragment;
mod matrix;
mod modes;
mod op;
mod operand;
mod operands;
mod operation_counts;
pub(crate) mod special;
mod texture;
mod types;
mod video;

pub use asynchronous::{Asynchronous, ObjectAction};
pub use matrix::{
    Element, Fragment, FragmentLayout, InnerProduct, Matrix, MatrixShape, Metadata, Multiply, Role,
};
pub use modes::{
    Approximate, Atomic, BarrierAction, Combine, Comparison, FloatBinary, FloatMode, FloatProperty,
    FloatUnary, IntBinary, IntUnary, Ordering, Permute, Rounding, Scope, Shuffle, Vote,
};
pub use op::{CallArgument, Op};
pub use operand::{
    Address, Destination, FunctionId, Label, LocalId, Operand, Read, Register, Symbol, VariableId,
    Written,
};
pub use operation_counts::OperationCounts;
pub use special::Special;
pub use texture::{Geometry, OutOfBounds, Query, SurfaceAddress, TextureOp};
pub use types::{Space, Type};
pub use video::{ScalarVideo, SimdVideo, Video, VideoMad, VideoOperation, VideoPart, VideoSecond};

use crate::source::Span;
use crate::texture::{Opaque, Sampling};

/// A PTX file, resolved and checked.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// `.version`, as (major, minor).
    pub version: (u32, u32),
    /// `.target`'s architecture, such as 52 for `sm_52` or `90` for `sm_90a`.
    pub target: u32,
    /// Variables of module scope: `.global`, `.const`, and the `.shared` variables that functions use.
    pub variables: Vec<Variable>,
    /// `.entry` and `.func` functions, including those that are only declared.
    pub functions: Vec<Function>,
    /// The functions that each prototype or target list of calls through registers allows.
    pub prototypes: Vec<Vec<FunctionId>>,
    /// The names that `.file` gives to the numbers in `.loc`.
    pub files: Vec<(u32, String)>,
}

/// A variable in memory.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name of the variable, as written.
    pub name: String,
    /// The state space of the variable: `Const`, `Global`, `Local`, `Param` or `Shared`.
    pub space: Space,
    /// Alignment in bytes, a power of two.
    pub align: u64,
    /// Size in bytes; 0 for `extern .shared` of unknown length.
    pub size: u64,
    /// The type of an element.
    pub element: Type,
    /// The kind and initial sampling, if the variable represents a texture or a surface.
    pub opaque: Option<(Opaque, Sampling)>,
    /// The initial value; `None` if the file has no initial value.
    pub initial: Option<Initial>,
    /// `.visible`, `.extern`, `.weak`, or none.
    pub linkage: Linkage,
    /// The position of its declaration.
    pub span: Span,
}

/// The initial value of a variable.
#[derive(Clone, Debug, Default)]
pub struct Initial {
    /// The initial bytes, little-endian. Bytes of the variable beyond them are 0.
    pub bytes: Vec<u8>,
    /// Addresses that are written over the bytes when the module is loaded.
    pub addresses: Vec<AddressOf>,
}

/// An address in the initial value of a variable.
#[derive(Clone, Debug)]
pub struct AddressOf {
    /// The offset of the address in the bytes.
    pub at: u64,
    /// The variable or function whose address it is.
    pub of: Addressed,
    /// The offset that is added to the address.
    pub offset: i64,
    /// `generic(name)`: the generic address, instead of the one in the variable's own space.
    pub generic: bool,
    /// `0xff00(name)`: the only byte of the address that is stored, counted from the lowest, 0.
    pub byte: Option<u8>,
}

/// The variable or function that an initial value has the address of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressed {
    /// A variable of module scope.
    Variable(VariableId),
    /// A function.
    Function(FunctionId),
}

/// `.extern`, `.visible`, `.weak`, `.common` or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX directive of the same name")]
pub enum Linkage {
    Internal,
    Extern,
    Visible,
    Weak,
    Common,
}

/// A kernel (`.entry`) or a device function (`.func`).
#[derive(Clone, Debug)]
pub struct Function {
    /// The name of the function.
    pub name: String,
    /// Whether the function is an `.entry`.
    pub entry: bool,
    /// `.visible`, `.extern`, ….
    pub linkage: Linkage,
    /// Parameters, in order. Those of an entry are `.param` variables at the offsets in a launch's parameters.
    pub parameters: Vec<Parameter>,
    /// Results of a `.func`, in order.
    pub results: Vec<Parameter>,
    /// Every register of the body, including nested blocks.
    pub registers: Vec<RegisterInfo>,
    /// Variables declared in the body (`.shared`, `.local`, `.param` of calls), and the function's own
    /// `.param`s.
    pub variables: Vec<Variable>,
    /// The body; `None` for a function that is only declared, such as `vprintf`.
    pub body: Option<Vec<Instruction>>,
    /// Names of labels, for traces.
    pub labels: Vec<(String, Label)>,
    /// `.maxntid`, `.reqntid`, `.minnctapersm`, `.maxnreg`, `.noreturn`, ….
    pub limits: Limits,
    /// The position of the function's name.
    pub span: Span,
}

/// Performance-tuning directives of an entry that restrict its launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// `.maxntid`: its product is the maximum number of threads in a block.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the required shape of a block.
    pub required_threads: Option<[u32; 3]>,
    /// `.reqnctapercluster`: the exact number of blocks in a cluster.
    pub required_cluster: Option<[u32; 3]>,
}

/// A parameter of a function: in `.param` space or, for a `.func`, possibly a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// One of the function's own `.param` variables.
    Variable(LocalId),
    /// A `.reg` parameter.
    Register(Register),
}

/// A register of a function.
#[derive(Clone, Debug)]
pub struct RegisterInfo {
    /// The name of the register as written, including `%` if present.
    pub name: String,
    /// The declared type of the register.
    pub ty: Type,
    /// The number of elements of the vector to which the register belongs; 1 if it belongs to no vector.
    pub lanes: u32,
    /// Whether the register is declared at module scope, and so shared by the functions of a kernel.
    pub shared: bool,
    /// The position of its declaration.
    pub span: Span,
}

/// A line of CUDA C, from `.loc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The number that `.file` gave to the file.
    pub file: u32,
    /// The line, from 1.
    pub line: u32,
}

/// The predicate of an instruction: `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate register.
    pub register: Register,
    /// Whether the guard is negated (`@!p`).
    pub negated: bool,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The predicate under which the instruction is executed.
    pub guard: Option<Guard>,
    /// The operation of the instruction.
    pub op: Op,
    /// The position of the instruction in the PTX.
    pub span: Span,
    /// The line of CUDA C that it comes from, if the text has `.loc`.
    pub loc: Option<SourceLine>,
}
