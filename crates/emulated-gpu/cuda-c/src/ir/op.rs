//! What instructions there are.

use std::rc::Rc;

use super::Space;

/// What a value is held in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ty {
    /// Of instructions that compute nothing.
    None,
    Pred,
    B16,
    I32,
    I64,
    F32,
    F64,
}

impl Ty {
    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Pred => 1,
            Self::B16 => 16,
            Self::I32 | Self::F32 => 32,
            Self::I64 | Self::F64 => 64,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

/// What a load or store has in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Memory {
    U8,
    S8,
    U16,
    S16,
    B16,
    B32,
    B64,
    F32,
    F64,
}

impl Memory {
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::B16 => 2,
            Self::B32 | Self::F32 => 4,
            Self::B64 | Self::F64 => 8,
        }
    }

    /// What it is in a register.
    pub(crate) fn ty(self) -> Ty {
        match self {
            Self::U8 | Self::S8 | Self::U16 | Self::S16 | Self::B32 => Ty::I32,
            Self::B16 => Ty::B16,
            Self::B64 => Ty::I64,
            Self::F32 => Ty::F32,
            Self::F64 => Ty::F64,
        }
    }

    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::S8 => "s8",
            Self::U16 => "u16",
            Self::S16 => "s16",
            Self::B16 => "b16",
            Self::B32 => "u32",
            Self::B64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// How memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Access {
    pub(crate) memory: Memory,
    pub(crate) volatile: bool,
    /// Lane and lanes of a vector that is read or written at once, where its alignment allows it.
    pub(crate) lane: u8,
    pub(crate) lanes: u8,
}

impl Access {
    pub(crate) fn plain(memory: Memory) -> Self {
        Self { memory, volatile: false, lane: 0, lanes: 1 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BinaryOp {
    Add,
    Sub,
    Mul,
    DivS,
    DivU,
    RemS,
    RemU,
    And,
    Or,
    Xor,
    Shl,
    ShrS,
    ShrU,
    MinS,
    MinU,
    MaxS,
    MaxU,
    FAdd,
    FSub,
    FMul,
    FDiv,
    FMin,
    FMax,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum UnaryOp {
    Neg,
    Not,
    FNeg,
    FAbs,
    FSqrt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Compare {
    pub(crate) fn negated(self) -> Self {
        match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Lt => Self::Ge,
            Self::Le => Self::Gt,
            Self::Gt => Self::Le,
            Self::Ge => Self::Lt,
        }
    }

    pub(crate) fn swapped(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            same => same,
        }
    }

    pub(crate) fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Self::Eq => ordering.is_eq(),
            Self::Ne => ordering.is_ne(),
            Self::Lt => ordering.is_lt(),
            Self::Le => ordering.is_le(),
            Self::Gt => ordering.is_gt(),
            Self::Ge => ordering.is_ge(),
        }
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CompareKind {
    Signed,
    Unsigned,
    /// False where one is NaN.
    Ordered,
    /// True where one is NaN.
    Unordered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Convert {
    /// The low bits, with the sign that they have there.
    SignExtend(u8),
    /// The low bits, with zeros above.
    ZeroExtend(u8),
    Truncate,
    /// An integer to a float.
    ToFloat {
        signed: bool,
    },
    /// A float to an integer, towards zero.
    ToInteger {
        signed: bool,
    },
    /// Between floats.
    Float,
    /// The same bits.
    Bits,
    /// A predicate as 0 or 1.
    FromBool,
}

/// A PTX instruction, or several, written as text: `{0}`, `{1}`, … are its operands, results first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Template {
    pub(crate) text: String,
    /// The types of its results; there may be none.
    pub(crate) results: Vec<Ty>,
    pub(crate) effect: Effect,
}

impl Template {
    /// Whether the first argument is the address of an atomic operation and nothing else, so that a variable's name
    /// and an offset can stand for it.
    pub(crate) fn begins_with_address(&self) -> bool {
        let operand = format!("{{{}}}", self.results.len());
        self.text.starts_with("atom")
            && self.text.contains(&format!("[{operand}]"))
            && self.text.matches(&operand).count() == 1
    }

    /// Results that are written before all arguments have been read, each with the operand that is moved
    /// to it before the text, if there is one; and the text. `asm` writes them as `@move {result}, {operand};`.
    pub(crate) fn moves(&self) -> (Vec<(usize, Option<usize>)>, &str) {
        let (mut moves, mut rest) = (Vec::new(), self.text.as_str());
        while let Some(after) = rest.strip_prefix("@move {") {
            let Some((pair, behind)) = after.split_once("};") else { break };
            let Some((result, operand)) = pair.split_once("}, {") else { break };
            if let Ok(result) = result.parse() {
                moves.push((result, operand.parse().ok()));
            }
            rest = behind;
        }
        (moves, rest)
    }
}

/// What is taken or given by a function that is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Passed {
    /// In a register.
    Value(Ty),
    /// As its pieces: where each is, and what.
    Struct { size: u64, align: u64, pieces: Vec<(u64, Memory)> },
}

/// A function that is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Callee {
    pub(crate) name: Rc<str>,
    pub(crate) takes: Vec<Passed>,
    pub(crate) gives: Option<Passed>,
}

/// What else an instruction does than computing its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// Nothing; the same operands give the same result.
    None,
    /// Nothing that others see, but the result depends on when it runs, or on which lanes run it, or it
    /// may fault, as inline PTX may: it may be dropped, but not moved out of its branch or merged.
    Varies,
    /// It reads memory.
    Reads,
    /// It writes memory, waits, or does something else that can be seen.
    Acts,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// Its bits.
    Const(u64),
    /// A parameter of the kernel that fits into a register.
    Param(u32),
    /// The address of a parameter of the kernel that is a struct.
    ParamAddress(u32),
    BlockParam,
    /// The address of a slot.
    Slot(u32),
    /// The address of a variable of the module.
    Global(u32),
    /// With whether overflow can be ruled out, as C does for signed integers.
    Binary(BinaryOp, bool),
    Unary(UnaryOp),
    Compare(Compare, CompareKind),
    /// `args[0] ? args[1] : args[2]`
    Select,
    /// `args[0] * args[1] + args[2]`, rounded once.
    Fma,
    Convert(Convert),
    /// An address and an offset in bytes.
    PtrAdd,
    Load(Access),
    /// Address and value.
    Store(Access),
    /// A special register, such as `tid.x`.
    Special(&'static str),
    Template(Rc<Template>),
    /// Another result of a template.
    Output(u32),
    /// A call of a function, of the module or of the driver, such as `vprintf`. Where it gives a struct,
    /// its last argument is the address that this goes to.
    Call(Rc<Callee>),
    /// What the function gives to its caller: a value, or the address of a struct.
    Result(Rc<Passed>),
    /// An address of this space as a generic one.
    ToGeneric(Space),
    /// A generic address as one of this space.
    ToSpace(Space),
}

impl Op {
    pub(crate) fn binary(op: BinaryOp) -> Self {
        Self::Binary(op, false)
    }

    pub(crate) fn effect(&self) -> Effect {
        match self {
            Self::Load(access) if access.volatile => Effect::Acts,
            Self::Load(_) => Effect::Reads,
            Self::Store(_) | Self::Call(_) | Self::Result(_) => Effect::Acts,
            Self::Template(template) => template.effect,
            Self::Output(_) => Effect::Varies,
            Self::BlockParam => Effect::Varies,
            _ => Effect::None,
        }
    }
}
