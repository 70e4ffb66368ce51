//! Operations of instructions.

use super::asynchronous::Asynchronous;
use super::matrix::Matrix;
use super::modes::{
    Atomic, BarrierAction, Combine, Comparison, FloatBinary, FloatMode, FloatProperty, FloatUnary,
    IntBinary, IntUnary, Ordering, Permute, Rounding, Scope, Shuffle, Vote,
};
use super::operand::{Address, Destination, Label, LocalId, Operand, Register};
use super::texture::TextureOp;
use super::types::{Space, Type};
use super::video::Video;

/// The operation of one instruction. Types have been checked: operands are exactly as wide as their type, or
/// wider if the ISA allows that (`ld`, `st` and `cvt` between registers).
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named as in the ISA: d destination, a b c sources")]
pub enum Op {
    /// `mov`, of any type; also of addresses and special registers.
    Mov { ty: Type, d: Destination, a: Operand },
    /// `mov` of several registers into one, which is as wide as all parts together.
    Pack { ty: Type, d: Destination, parts: Vec<Operand>, part: Type },
    /// `mov` of one register into several.
    Unpack { ty: Type, parts: Vec<Destination>, part: Type, a: Operand },
    /// `neg`, `abs`, `not` and other operations on one integer.
    IntUnary { op: IntUnary, ty: Type, d: Destination, a: Operand },
    /// `add`, `mul`, `shl` and other operations on two integers.
    IntBinary { op: IntBinary, ty: Type, d: Destination, a: Operand, b: Operand },
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
    Sad { ty: Type, d: Destination, a: Operand, b: Operand, c: Operand },
    /// `bfe`
    BitExtract { ty: Type, d: Destination, a: Operand, position: Operand, length: Operand },
    /// `bfi`: inserts `a` into `b`.
    BitInsert {
        ty: Type,
        d: Destination,
        a: Operand,
        b: Operand,
        position: Operand,
        length: Operand,
    },
    /// `fns`
    FindNthSet { d: Destination, mask: Operand, base: Operand, offset: Operand },
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
    FunnelShift { right: bool, wrap: bool, d: Destination, a: Operand, b: Operand, c: Operand },
    /// `prmt`
    Permute { mode: Permute, d: Destination, a: Operand, b: Operand, c: Operand },
    /// `dp4a` and `dp2a`; `high` is `None` for `dp4a`.
    DotProduct {
        high: Option<bool>,
        a_signed: bool,
        b_signed: bool,
        d: Destination,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    /// `vadd` and other video instructions, and `cvt.pack`, which operate on parts of words.
    Video { form: Video, d: Destination, a: Operand, b: Operand, c: Option<Operand> },
    /// `setp`: `p` is the comparison and `q` its opposite, each combined with `c`.
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
    /// `set`: all ones or 1.0 (depending on `result`) if true.
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
    /// `selp`: `a` if the predicate `c` holds, otherwise `b`.
    Select { ty: Type, d: Destination, a: Operand, b: Operand, c: Operand },
    /// `slct`: `a` if `c ≥ 0`, otherwise `b`.
    SelectBySign {
        ty: Type,
        sign: Type,
        flush: bool,
        d: Destination,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    /// `neg`, `sqrt`, `ex2` and other operations on one floating-point value.
    FloatUnary { op: FloatUnary, mode: FloatMode, ty: Type, d: Destination, a: Operand },
    /// `add`, `div`, `min` and other operations on two floating-point values.
    FloatBinary {
        op: FloatBinary,
        mode: FloatMode,
        ty: Type,
        d: Destination,
        a: Operand,
        b: Operand,
    },
    /// `fma`, and `mad` of floating-point types.
    Fma { mode: FloatMode, ty: Type, d: Destination, a: Operand, b: Operand, c: Operand },
    /// `testp`
    TestProperty { property: FloatProperty, ty: Type, d: Destination, a: Operand },
    /// `cvt`. `integer` means rounding to an integer (`.rni .rzi .rmi .rpi`), even if the result is a
    /// floating-point type.
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
    ConvertAddress { space: Space, to_space: bool, ty: Type, d: Destination, a: Operand },
    /// `isspacep`
    IsSpace { space: Space, d: Destination, a: Operand },
    /// `ld`, `ldu`, `ld.nc`, with one destination for each element of the vector.
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
    /// `atom` (with a destination) and `red` (without). `c` is only used by compare and swap.
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
    Fence { scope: Scope },
    /// `prefetch`, `discard`, `applypriority` and similar: a no-op, but the address must be valid.
    Hint { space: Space, address: Address },
    /// Asynchronous copies, and barrier objects in shared memory.
    Asynchronous(Box<Asynchronous>),
    /// Textures and surfaces.
    Texture(Box<TextureOp>),
    /// `bra`. `.uni` asserts that all lanes branch alike.
    Branch { target: Label, uniform: bool },
    /// `brx.idx`
    BranchIndexed { index: Operand, targets: Vec<Label>, uniform: bool },
    /// `call`: direct (`Operand::Function`), or through a register to one of the prototype's functions.
    Call {
        callee: Operand,
        /// The index into [`Module::prototypes`](super::Module::prototypes), for a call through a register.
        prototype: Option<u32>,
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
    /// No-ops: `brkpt`, `nanosleep`, `pmevent`, `griddepcontrol` and others.
    Nothing,
    /// `bar`, `barrier`
    Barrier { action: BarrierAction, barrier: Operand, threads: Option<Operand>, aligned: bool },
    /// `bar.warp.sync`
    WarpBarrier { mask: Operand },
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
    Vote { mode: Vote, d: Destination, a: Operand, mask: Option<Operand> },
    /// `match.any.sync`, and `match.all.sync` with its predicate.
    Match { all: bool, ty: Type, d: Destination, p: Destination, a: Operand, mask: Operand },
    /// `activemask`
    ActiveMask { d: Destination },
    /// `redux.sync`
    Reduce { op: Atomic, ty: Type, d: Destination, a: Operand, mask: Operand },
    /// `elect.sync`
    Elect { d: Destination, p: Destination, mask: Operand },
    /// An operation of the matrix units.
    Matrix(Matrix),
    /// `stacksave`
    StackSave { d: Destination },
    /// `stackrestore`
    StackRestore { a: Operand },
    /// `alloca`
    StackAllocate { d: Destination, size: Operand, align: u64 },
}

/// An argument or a result of a `call`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CallArgument {
    /// A `.param` variable of the caller.
    Variable(LocalId),
    /// A value, or the register that receives a result.
    Operand(Operand),
}
