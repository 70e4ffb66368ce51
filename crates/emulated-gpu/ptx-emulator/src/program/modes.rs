//! Variants of instructions: operations, comparisons, roundings, modes.

use super::operand::{Destination, Operand};

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

/// Comparison operators of `setp` and `set`. The unordered operators are true when an operand is
/// NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in the ISA; lo ls hi hs are the unsigned Lt Le Gt Ge")]
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

named! {
    /// How `setp` and `set` combine their result with another predicate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "each is the PTX modifier of the same name")]
    pub enum Combine {
        And = "and";
        Or = "or";
        Xor = "xor";
    }
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
    /// `div`, rounded towards zero. Division by zero results in all ones, as on hardware.
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
    /// `shl`. The second operand is u32, and a shift by the width or more results in 0.
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
    /// `bfind`; with `.shiftamt`, the shift that moves the bit to the top.
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
    /// `div.rn` and so on; `approximate` for `div.approx` and `div.full`.
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

/// The precision of a division.
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

named! {
    /// `testp`'s properties.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "each is the PTX property of the same name")]
    pub enum FloatProperty {
        Finite = "finite";
        Infinite = "infinite";
        Number = "number";
        NotANumber = "notanumber";
        Normal = "normal";
        Subnormal = "subnormal";
    }
}

/// Modifiers that floating-point arithmetic shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatMode {
    /// The rounding; `NearestEven` if the instruction has no rounding modifier.
    pub rounding: Rounding,
    /// `.ftz`: subnormal operands and results are zero.
    pub flush: bool,
    /// `.sat`: clamped to \[0, 1\], NaN to 0.
    pub saturate: bool,
    /// `.relu`: negative results become 0; NaN is handled as the ISA specifies for each type.
    pub relu: bool,
}

impl FloatMode {
    /// Rounding to nearest, without modifiers.
    pub const NEAREST: Self =
        Self { rounding: Rounding::NearestEven, flush: false, saturate: false, relu: false };
}

/// The memory order of an access (PTX ISA, "Memory Consistency Model").
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

/// The threads among which a memory order holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX scope of the same name")]
pub enum Scope {
    Cta,
    Cluster,
    Gpu,
    System,
}

named! {
    /// The operation of `atom` and `red`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "each is the PTX operation of the same name")]
    pub enum Atomic {
        Add = "add";
        Min = "min";
        Max = "max";
        And = "and";
        Or = "or";
        Xor = "xor";
        Inc = "inc";
        Dec = "dec";
        Exchange = "exch";
        CompareAndSwap = "cas";
    }
}

/// How `shfl` selects the source lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX mode of the same name")]
pub enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// The result of `vote`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX mode of the same name")]
pub enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

named! {
    /// How `prmt` selects its bytes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "each is the PTX mode of the same name; Generic is none")]
    pub enum Permute {
        Generic;
        F4e = "f4e";
        B4e = "b4e";
        Rc8 = "rc8";
        Ecl = "ecl";
        Ecr = "ecr";
        Rc16 = "rc16";
    }
}

/// The action of a barrier instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BarrierAction {
    /// `bar.sync`: waits.
    Sync,
    /// `bar.arrive`: arrives without waiting.
    Arrive,
    /// `bar.red.popc`, `.and`, `.or`: waits, and reduces a predicate over all threads.
    Reduce {
        /// The reduction; `.popc` is represented by `Add`.
        operation: Atomic,
        /// The destination of the result: u32 for `.popc`, a predicate otherwise.
        destination: Destination,
        /// The predicate of each thread.
        predicate: Operand,
    },
}
