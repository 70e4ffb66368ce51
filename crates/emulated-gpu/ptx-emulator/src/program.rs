//! The program: what a PTX file means, once every name is resolved and every instruction is known
//! to be one that the ISA has. The parser makes it, the engine runs it.
//!
//! Nothing here is text any more, except names that a person will want to read in a report.

mod operands;

pub use operands::{Read, Written};

use crate::source::Span;

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
    /// The names that `.file` gave to the numbers that `.loc` uses.
    pub files: Vec<(u32, String)>,
}

/// State spaces (PTX ISA, "State Spaces").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// `.reg`
    Register,
    /// `.const`
    Const,
    /// `.global`
    Global,
    /// `.local`
    Local,
    /// `.param`, of an entry or of a call
    Param,
    /// `.shared` (and `.shared::cta`)
    Shared,
    /// No space given: a generic address
    Generic,
}

/// Fundamental types (PTX ISA, "Fundamental Types"), and the packed and alternate floating ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is the PTX type of the same name")]
pub enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    F32,
    F64,
    E4m3x2,
    E5m2x2,
    U16x2,
    S16x2,
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
    /// The variable of module scope whose address it is.
    pub variable: VariableId,
    /// Added to the address.
    pub offset: i64,
    /// `generic(name)`: the generic address instead of that in its own space.
    pub generic: bool,
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

/// An index into [`Module::variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VariableId(pub u32);

/// An index into [`Module::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionId(pub u32);

/// An index into [`Function::registers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(pub u32);

/// An index into [`Function::variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LocalId(pub u32);

/// An index into [`Function::body`]; one past the end stands for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub u32);

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

/// Something that is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// A predicate register, negated (`!p`).
    Not(Register),
    /// A constant, as the bits of the instruction's type.
    Immediate(u64),
    /// A special register.
    Special(Special),
    /// The address of a variable in its own space, plus an offset.
    Address(Symbol, i64),
    /// The address of a function.
    Function(FunctionId),
}

/// A variable, of the module or of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// Of the module.
    Module(VariableId),
    /// Of the function.
    Local(LocalId),
}

/// Something that is written; `_`, a sink, is `None`.
pub type Destination = Option<Register>;

/// Special registers (PTX ISA, "Special Registers"). The components of the three-dimensional ones
/// carry their axis: 0 for x, 1 for y, 2 for z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the PTX special register of the same name")]
pub enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NWarpId,
    SmId,
    NSmId,
    GridId,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    ClockHi,
    Clock64,
    GlobalTimer,
    GlobalTimerLo,
    GlobalTimerHi,
    DynamicSharedSize,
    TotalSharedSize,
    ClusterId(u8),
    NClusterId(u8),
    ClusterCtaId(u8),
    ClusterNCtaId(u8),
    ClusterCtaRank,
    ClusterNCtaRank,
    IsExplicitCluster,
}

/// An address: a base and a constant offset in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Address {
    /// A register, a symbol, or a constant.
    pub base: Operand,
    /// Added to it.
    pub offset: i64,
}

/// Rounding of a floating-point result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// `.rn`: to nearest, ties to even.
    NearestEven,
    /// `.rz`: towards zero.
    TowardsZero,
    /// `.rm`: towards −∞.
    Down,
    /// `.rp`: towards +∞.
    Up,
    /// `.rna`: to nearest, ties away from zero.
    NearestAway,
}

/// Comparison operators of `setp` and `set`. The unordered ones are true when an operand is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "each is the PTX comparison of the same name; lo ls hi hs are Lt Le Gt Ge on unsigned types"
)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

/// How `setp` and `set` combine their result with another predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX modifier of the same name")]
pub enum Combine {
    And,
    Or,
    Xor,
}

/// Operations on two values of the same type, integers or bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntBinary {
    /// `add`; `sat` clamps s32 instead of wrapping.
    Add {
        /// `.sat`
        saturate: bool,
    },
    /// `sub`
    Sub {
        /// `.sat`
        saturate: bool,
    },
    /// `mul.lo`
    MulLow,
    /// `mul.hi`
    MulHigh,
    /// `mul.wide`: the destination is twice as wide.
    MulWide,
    /// `mul24.lo`
    Mul24Low,
    /// `mul24.hi`
    Mul24High,
    /// `div`, towards zero; by zero gives all ones, as hardware does.
    Div,
    /// `rem`
    Rem,
    /// `min`
    Min,
    /// `max`
    Max,
    /// `and`, also of predicates
    And,
    /// `or`, also of predicates
    Or,
    /// `xor`, also of predicates
    Xor,
    /// `shl`; the second operand is u32; a shift by the width or more gives 0.
    ShiftLeft,
    /// `shr`; arithmetic for signed types.
    ShiftRight,
}

/// Operations on one integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX instruction of the same name")]
pub enum IntUnary {
    Neg,
    Abs,
    Not,
    CNot,
    PopC,
    Clz,
    Brev,
    /// `bfind`; with `.shiftamt` the shift that brings the bit to the top.
    BFind {
        shift_amount: bool,
    },
}

/// Operations on two floating-point values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX instruction of the same name")]
pub enum FloatBinary {
    Add,
    Sub,
    Mul,
    /// `div.rn` and so on; `div.approx` and `div.full` by `approximate`.
    Div {
        approximate: Approximate,
    },
    /// `min` with `.NaN` (a NaN operand wins) and `.xorsign.abs`.
    Min {
        nan: bool,
        xorsign_abs: bool,
    },
    Max {
        nan: bool,
        xorsign_abs: bool,
    },
    CopySign,
}

/// Which of its fast versions an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approximate {
    /// IEEE, with the rounding given.
    No,
    /// `.approx`
    Approx,
    /// `div.full`
    Full,
}

/// Operations on one floating-point value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX instruction of the same name")]
pub enum FloatUnary {
    Neg,
    Abs,
    Rcp { approximate: bool },
    Sqrt { approximate: bool },
    Rsqrt,
    Sin,
    Cos,
    Lg2,
    Ex2,
    Tanh,
}

/// `testp`'s properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX property of the same name")]
pub enum FloatProperty {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// Modifiers that floating-point arithmetic shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatMode {
    /// The rounding; `NearestEven` where the instruction has none of its own.
    pub rounding: Rounding,
    /// `.ftz`: subnormal operands and results are zero.
    pub flush: bool,
    /// `.sat`: clamped to \[0, 1\], NaN to 0.
    pub saturate: bool,
    /// `.relu`: negative results and NaN… become 0 (as the ISA says for each type).
    pub relu: bool,
}

/// How an access orders memory (PTX ISA, "Memory Consistency Model").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX qualifier of the same name")]
pub enum Ordering {
    Weak,
    Volatile,
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
    Mmio,
}

/// Among whom an ordering holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX scope of the same name")]
pub enum Scope {
    Cta,
    Cluster,
    Gpu,
    System,
}

/// The operation of `atom` and `red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX operation of the same name")]
pub enum Atomic {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Inc,
    Dec,
    Exchange,
    CompareAndSwap,
}

/// How `shfl` picks the lane to read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX mode of the same name")]
pub enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// What `vote` decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX mode of the same name")]
pub enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

/// How `prmt` picks its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX mode of the same name; Generic is none")]
pub enum Permute {
    Generic,
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
}

/// What a barrier instruction does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BarrierAction {
    /// `bar.sync`: waits.
    Sync,
    /// `bar.arrive`: counts, and goes on.
    Arrive,
    /// `bar.red.popc`, `.and`, `.or`: waits, and combines a predicate over all threads.
    Reduce {
        /// Which reduction; `Add` stands for `.popc`.
        operation: Atomic,
        /// Where the result goes: u32 for `.popc`, a predicate otherwise.
        destination: Destination,
        /// The predicate that each thread brings.
        predicate: Operand,
    },
}

/// What one instruction does. Types have been checked: operands are as wide as the type says (or
/// wider, where the ISA relaxes that: `ld`, `st` and `cvt` between registers).
#[derive(Clone, Debug, PartialEq)]
#[expect(
    missing_docs,
    reason = "fields are named as the ISA names them: d destination, a b c sources"
)]
pub enum Op {
    /// `mov`, of any type; also of addresses and special registers.
    Mov {
        ty: Type,
        d: Destination,
        a: Operand,
    },
    /// `mov` of several registers into one that is as wide as all of them together.
    Pack {
        ty: Type,
        d: Destination,
        parts: Vec<Operand>,
        part: Type,
    },
    /// `mov` of one register into several.
    Unpack {
        ty: Type,
        parts: Vec<Destination>,
        part: Type,
        a: Operand,
    },
    IntUnary {
        op: IntUnary,
        ty: Type,
        d: Destination,
        a: Operand,
    },
    IntBinary {
        op: IntBinary,
        ty: Type,
        d: Destination,
        a: Operand,
        b: Operand,
    },
    /// `mad.lo`, `mad.hi`, `mad.wide`, `mad24`: `product` is one of the products of [`IntBinary`].
    IntMad {
        product: IntBinary,
        saturate: bool,
        ty: Type,
        d: Destination,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    /// `add.cc`, `addc`, `sub.cc`, `subc`, and with a product `mad.cc`, `madc`.
    Carry {
        subtract: bool,
        product: Option<IntBinary>,
        carry_in: bool,
        carry_out: bool,
        ty: Type,
        d: Destination,
        a: Operand,
        b: Operand,
        c: Option<Operand>,
    },
    /// `sad`: `c + |a − b|`.
    Sad {
        ty: Type,
        d: Destination,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    /// `bfe`
    BitExtract {
        ty: Type,
        d: Destination,
        a: Operand,
        position: Operand,
        length: Operand,
    },
    /// `bfi`: `a` goes into `b`.
    BitInsert {
        ty: Type,
        d: Destination,
        a: Operand,
        b: Operand,
        position: Operand,
        length: Operand,
    },
    /// `fns`
    FindNthSet {
        d: Destination,
        mask: Operand,
        base: Operand,
        offset: Operand,
    },
    /// `lop3`, with the optional predicate destination of its `.and` and `.or` forms.
    Lop3 {
        table: u8,
        d: Destination,
        a: Operand,
        b: Operand,
        c: Operand,
        predicate: Option<(Combine, Register, Operand)>,
    },
    /// `shf.l` and `shf.r`, `.wrap` or `.clamp`.
    FunnelShift {
        right: bool,
        wrap: bool,
        d: Destination,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    /// `prmt`
    Permute {
        mode: Permute,
        d: Destination,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    /// `dp4a` and `dp2a` (`high` is None for dp4a).
    DotProduct {
        high: Option<bool>,
        a_signed: bool,
        b_signed: bool,
        d: Destination,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    /// `setp`: `p`, and `q` the opposite of the comparison, each combined with `c`.
    SetPredicate {
        comparison: Comparison,
        combine: Option<(Combine, Operand)>,
        ty: Type,
        flush: bool,
        p: Destination,
        q: Destination,
        a: Operand,
        b: Operand,
    },
    /// `set`: all ones or 1.0 (by `result`) where true.
    Set {
        comparison: Comparison,
        combine: Option<(Combine, Operand)>,
        result: Type,
        ty: Type,
        flush: bool,
        d: Destination,
        a: Operand,
        b: Operand,
    },
    /// `selp`: `a` where the predicate `c` holds, else `b`.
    Select {
        ty: Type,
        d: Destination,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    /// `slct`: `a` where `c ≥ 0`, else `b`.
    SelectBySign {
        ty: Type,
        sign: Type,
        flush: bool,
        d: Destination,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    FloatUnary {
        op: FloatUnary,
        mode: FloatMode,
        ty: Type,
        d: Destination,
        a: Operand,
    },
    FloatBinary {
        op: FloatBinary,
        mode: FloatMode,
        ty: Type,
        d: Destination,
        a: Operand,
        b: Operand,
    },
    /// `fma`, and `mad` of floating-point types.
    Fma {
        mode: FloatMode,
        ty: Type,
        d: Destination,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    /// `testp`
    TestProperty {
        property: FloatProperty,
        ty: Type,
        d: Destination,
        a: Operand,
    },
    /// `cvt`. `integer` says that the rounding is to an integer (`.rni .rzi .rmi .rpi`), also where
    /// the result is a floating-point type.
    Convert {
        to: Type,
        from: Type,
        rounding: Option<Rounding>,
        integer: bool,
        mode: FloatMode,
        d: Destination,
        a: Operand,
        b: Option<Operand>,
    },
    /// `cvta` and `cvta.to`
    ConvertAddress {
        space: Space,
        to_space: bool,
        ty: Type,
        d: Destination,
        a: Operand,
    },
    /// `isspacep`
    IsSpace {
        space: Space,
        d: Destination,
        a: Operand,
    },
    /// `ld`, `ldu`, `ld.nc`; one destination for each element of the vector.
    Load {
        space: Space,
        ordering: Ordering,
        scope: Option<Scope>,
        ty: Type,
        d: Vec<Destination>,
        address: Address,
    },
    /// `st`
    Store {
        space: Space,
        ordering: Ordering,
        scope: Option<Scope>,
        ty: Type,
        address: Address,
        a: Vec<Operand>,
    },
    /// `atom` (with a destination) and `red` (without); `c` only for compare and swap.
    Atomic {
        op: Atomic,
        space: Space,
        ordering: Ordering,
        scope: Scope,
        ty: Type,
        d: Option<Destination>,
        address: Address,
        b: Operand,
        c: Option<Operand>,
    },
    /// `membar`, `fence`
    Fence {
        scope: Scope,
    },
    /// `prefetch`, `discard`, `applypriority` and their like: the address has to be valid.
    Hint {
        space: Space,
        address: Address,
    },
    /// `cp.async`: `copy` bytes to shared memory, of which the first `source` are read.
    CopyAsync {
        to: Address,
        from: Address,
        copy: u32,
        source: Option<Operand>,
        ignore_source: Option<Operand>,
    },
    /// `cp.async.commit_group`
    CopyAsyncCommit,
    /// `cp.async.wait_group N`; `None` for `wait_all`.
    CopyAsyncWait {
        pending: Option<u32>,
    },
    /// `bra`; `.uni` asserts that all lanes go the same way.
    Branch {
        target: Label,
        uniform: bool,
    },
    /// `brx.idx`
    BranchIndexed {
        index: Operand,
        targets: Vec<Label>,
        uniform: bool,
    },
    /// `call`, direct (`Operand::Function`) or through a register with the prototype's functions.
    Call {
        callee: Operand,
        results: Vec<CallArgument>,
        arguments: Vec<CallArgument>,
        uniform: bool,
    },
    /// `ret`
    Return,
    /// `exit`
    Exit,
    /// `trap`
    Trap,
    /// `brkpt`, `nanosleep`, `pmevent`, `griddepcontrol` and others that do nothing here.
    Nothing,
    /// `bar`, `barrier`
    Barrier {
        action: BarrierAction,
        barrier: Operand,
        threads: Option<Operand>,
        aligned: bool,
    },
    /// `bar.warp.sync`
    WarpBarrier {
        mask: Operand,
    },
    /// `shfl.sync` (with a member mask) and `shfl`.
    Shuffle {
        mode: Shuffle,
        d: Destination,
        p: Destination,
        a: Operand,
        lane: Operand,
        clamp: Operand,
        mask: Option<Operand>,
    },
    /// `vote.sync` and `vote`
    Vote {
        mode: Vote,
        d: Destination,
        a: Operand,
        mask: Option<Operand>,
    },
    /// `match.any.sync`, and `match.all.sync` with its predicate.
    Match {
        all: bool,
        ty: Type,
        d: Destination,
        p: Destination,
        a: Operand,
        mask: Operand,
    },
    /// `activemask`
    ActiveMask {
        d: Destination,
    },
    /// `redux.sync`
    Reduce {
        op: Atomic,
        ty: Type,
        d: Destination,
        a: Operand,
        mask: Operand,
    },
    /// `elect.sync`
    Elect {
        d: Destination,
        p: Destination,
        mask: Operand,
    },
    /// `alloca`
    StackAllocate {
        d: Destination,
        size: Operand,
        align: u64,
    },
}

/// What a `call` hands over or gets back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CallArgument {
    /// A `.param` variable of the caller's.
    Variable(LocalId),
    /// A value, or the register that a result goes to.
    Operand(Operand),
}
