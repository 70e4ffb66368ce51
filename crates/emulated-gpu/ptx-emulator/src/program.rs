//! The program: what a PTX file means, once every name is resolved and every instruction is known
//! to be one that the ISA has. The parser makes it, the engine runs it.
//!
//! Nothing here is text any more, except names that a person will want to read in a report.

mod asynchronous;
mod fragment;
mod matrix;
mod modes;
mod op;
mod operand;
mod operands;
pub(crate) mod special;
mod texture;
mod types;
mod video;
mod work;

pub use asynchronous::{Asynchronous, ObjectAction};
pub use matrix::{
    Element, Fragment, Holding, InnerProduct, Matrix, Metadata, Multiply, Role, Shape,
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
pub use special::Special;
pub use texture::{Geometry, Outside, Query, SurfaceAddress, TextureOp};
pub(crate) use types::TYPES;
pub use types::{Space, Type};
pub use video::{ScalarVideo, SimdVideo, Video, VideoMad, VideoOperation, VideoPart, VideoSecond};
pub use work::Work;

use crate::source::Span;
use crate::texture::{Opaque, Sampling};

/// A PTX file, resolved and checked.
#[derive(Clone, Debug)]
pub struct Module {
    /// `.version`, as (major, minor).
    pub version: (u32, u32),
    /// `.target`'s architecture, such as 52 for `sm_52` or `90` for `sm_90a`.
    pub target: u32,
    /// Variables of module scope: `.global`, `.const`, and `.shared` ones that functions name.
    pub variables: Vec<Variable>,
    /// `.entry` and `.func`, those only declared too.
    pub functions: Vec<Function>,
    /// For each prototype and list of targets of a call through a register the functions that take
    /// and give what it says.
    pub prototypes: Vec<Vec<FunctionId>>,
    /// The names that `.file` gave to the numbers that `.loc` uses.
    pub files: Vec<(u32, String)>,
}

/// A variable in memory.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name, as written.
    pub name: String,
    /// Where it lives: `Const`, `Global`, `Local`, `Param` or `Shared`.
    pub space: Space,
    /// Alignment in bytes, a power of two.
    pub align: u64,
    /// Size in bytes; 0 for `extern .shared` of unknown length.
    pub size: u64,
    /// The type of an element.
    pub element: Type,
    /// It stands for a texture or a surface, and is read as the file says until something else is said.
    pub opaque: Option<(Opaque, Sampling)>,
    /// Bytes to begin with, and addresses to be put in; `None` where the file gives none.
    pub initial: Option<Initial>,
    /// `.visible`, `.extern`, `.weak`, or none.
    pub linkage: Linkage,
    /// Where it is declared.
    pub span: Span,
}

/// The initial value of a variable.
#[derive(Clone, Debug, Default)]
pub struct Initial {
    /// The bytes, little-endian; shorter than the variable where the rest is 0.
    pub bytes: Vec<u8>,
    /// Addresses to be written over the bytes when the module is loaded.
    pub addresses: Vec<AddressOf>,
}

/// The address of a variable, to be put into the initial value of another one.
#[derive(Clone, Debug)]
pub struct AddressOf {
    /// Where in the bytes it goes.
    pub at: u64,
    /// Whose address it is.
    pub of: Addressed,
    /// Added to the address.
    pub offset: i64,
    /// `generic(name)`: the generic address instead of that in its own space.
    pub generic: bool,
    /// `0xff00(name)`: only this byte of it, 0 being the lowest.
    pub byte: Option<u8>,
}

/// What an initial value holds the address of.
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
    /// Its name.
    pub name: String,
    /// Whether it is an `.entry`.
    pub entry: bool,
    /// `.visible`, `.extern`, ….
    pub linkage: Linkage,
    /// Parameters, in order: for an entry `.param` variables, at the offsets a launch packs them.
    pub parameters: Vec<Parameter>,
    /// What a `.func` returns, in order.
    pub results: Vec<Parameter>,
    /// Every register of the body, those of nested blocks too.
    pub registers: Vec<RegisterInfo>,
    /// Variables declared in the body: `.shared`, `.local`, `.param` of calls, and with them the
    /// function's own `.param`s.
    pub variables: Vec<Variable>,
    /// The body, `None` for a function that is only declared (such as `vprintf`).
    pub body: Option<Vec<Instruction>>,
    /// Names of labels, for traces.
    pub labels: Vec<(String, Label)>,
    /// `.maxntid`, `.reqntid`, `.minnctapersm`, `.maxnreg`, `.noreturn`, ….
    pub limits: Limits,
    /// Where its name stands.
    pub span: Span,
}

/// Performance-tuning directives of an entry that bind a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// `.maxntid`: the product bounds the threads of a block.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the block has to be of this shape.
    pub required_threads: Option<[u32; 3]>,
    /// Blocks of a cluster, exactly (`.reqnctapercluster`).
    pub required_cluster: Option<[u32; 3]>,
}

/// A parameter of a function: in `.param` space or, for a `.func`, possibly a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// A `.param` variable of the function's own.
    Variable(LocalId),
    /// A `.reg` parameter.
    Register(Register),
}

/// A register of a function.
#[derive(Clone, Debug)]
pub struct RegisterInfo {
    /// Its name, as written, `%` included where it was.
    pub name: String,
    /// Its declared type.
    pub ty: Type,
    /// 1, or of how many registers the vector is that it is an element of.
    pub lanes: u32,
    /// Declared at module scope: the functions of a kernel have it in common.
    pub shared: bool,
    /// Where it is declared.
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

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate.
    pub register: Register,
    /// Whether it is `@!p`.
    pub negated: bool,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Under which predicate it is executed.
    pub guard: Option<Guard>,
    /// What it does.
    pub op: Op,
    /// Where it stands in the PTX.
    pub span: Span,
    /// The line of CUDA C that it comes from, where `.loc` tells.
    pub loc: Option<SourceLine>,
}
