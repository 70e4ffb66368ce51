//! The operations of the intermediate representation, and their types.

use std::rc::Rc;

use super::Space;

/// The type of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ty {
    /// The type of instructions without a result.
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

with_rows! {
    /// The type of a value in memory: its bytes, the type of the register that holds it, and the suffix of instructions.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Memory: (u64, Ty, &'static str) {
        U8 = (1, Ty::I32, "u8");
        S8 = (1, Ty::I32, "s8");
        U16 = (2, Ty::I32, "u16");
        S16 = (2, Ty::I32, "s16");
        B16 = (2, Ty::B16, "b16");
        B32 = (4, Ty::I32, "u32");
        B64 = (8, Ty::I64, "u64");
        F32 = (4, Ty::F32, "f32");
        F64 = (8, Ty::F64, "f64");
    }
}

impl Memory {
    pub(crate) fn bytes(self) -> u64 {
        Self::ROWS[self as usize].0
    }

    pub(crate) fn ty(self) -> Ty {
        Self::ROWS[self as usize].1
    }

    pub(crate) fn suffix(self) -> &'static str {
        Self::ROWS[self as usize].2
    }
}

/// The properties of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Access {
    pub(crate) memory: Memory,
    pub(crate) volatile: bool,
    /// The lane in a vector, and the number of lanes in the vector. The whole vector is loaded or
    /// stored at once if its alignment allows that.
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

/// The type as which operands are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CompareKind {
    Signed,
    Unsigned,
    /// Compares floats; false if one is NaN.
    Ordered,
    /// Compares floats; true if one is NaN.
    Unordered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Convert {
    /// Keeps the low bits, and extends them with their sign.
    SignExtend(u8),
    /// Keeps the low bits, and extends them with zeros.
    ZeroExtend(u8),
    /// Drops the high bits.
    Truncate,
    /// Converts an integer to a float.
    ToFloat { signed: bool },
    /// Converts a float to an integer, rounding towards zero.
    ToInteger { signed: bool },
    /// Converts between float types.
    Float,
    /// Reinterprets the bits.
    Bits,
    /// Converts a predicate to 0 or 1.
    FromBool,
}

/// One or several PTX instructions as text: `{0}`, `{1}`, … are the operands, results first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Template {
    pub(crate) text: String,
    /// The types of the results; may be empty.
    pub(crate) results: Vec<Ty>,
    pub(crate) effect: Effect,
}

impl Template {
    /// Whether the first argument is only used as the address of an atomic operation, so that a
    /// variable's name and an offset can replace it.
    pub(crate) fn begins_with_address(&self) -> bool {
        let operand = format!("{{{}}}", self.results.len());
        self.text.starts_with("atom")
            && self.text.contains(&format!("[{operand}]"))
            && self.text.matches(&operand).count() == 1
    }

    /// Splits the marks `@move {result}, {operand};` from the start of an `asm` text. Each names a
    /// result that is written before all arguments have been read, and the operand, if any, that
    /// must be copied to it before the text runs. Returns the marks and the rest of the text.
    pub(crate) fn moves(&self) -> (Vec<(usize, Option<usize>)>, &str) {
        let (mut moves, mut rest) = (Vec::new(), self.text.as_str());
        while let Some(after) = rest.strip_prefix("@move {") {
            let Some((pair, tail)) = after.split_once("};") else { break };
            let Some((result, operand)) = pair.split_once("}, {") else { break };
            if let Ok(result) = result.parse() {
                moves.push((result, operand.parse().ok()));
            }
            rest = tail;
        }
        (moves, rest)
    }
}

/// The way in which an argument or a result is passed in a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Passed {
    /// In a register.
    Value(Ty),
    /// A struct, passed in pieces, each with its offset and type.
    Struct { size: u64, align: u64, pieces: Vec<(u64, Memory)> },
}

/// The signature of a function that is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Callee {
    pub(crate) name: Rc<str>,
    pub(crate) parameters: Vec<Passed>,
    pub(crate) result: Option<Passed>,
}

/// The side effects of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// No effect: the same operands always give the same result.
    None,
    /// No visible effect, but the result depends on when the instruction runs or on which lanes run
    /// it, or it may fault, as inline PTX may. It may be dropped, but not moved out of its branch
    /// or merged with another.
    Varies,
    /// The instruction reads memory.
    Reads,
    /// The instruction writes memory, waits, or has another visible effect.
    Acts,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// The bits of a constant.
    Const(u64),
    /// A parameter of the function that fits into a register.
    Param(u32),
    /// The address of a struct parameter.
    ParamAddress(u32),
    BlockParam,
    /// The address of a slot.
    Slot(u32),
    /// The address of a variable of the module.
    Global(u32),
    /// The flag is set if overflow is undefined, as for C's signed integers.
    Binary(BinaryOp, bool),
    Unary(UnaryOp),
    Compare(Compare, CompareKind),
    /// Selects: `args[0] ? args[1] : args[2]`.
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
    /// The result of the template `args[0]` with this index, which is at least 1.
    Output(u32),
    /// A call of a function of the module or of the driver (such as `vprintf`). If it returns a
    /// struct, the last argument is the address for the result.
    Call(Rc<Callee>),
    /// The result of the function: a value, or the address of a struct.
    Result(Rc<Passed>),
    /// Converts an address in this space to a generic address.
    ToGeneric(Space),
    /// Converts a generic address to an address in this space.
    ToSpace(Space),
}

impl Op {
    pub(crate) fn binary(op: BinaryOp) -> Self {
        Self::Binary(op, false)
    }

    /// Whether the operation is the address of a variable, which PTX refers to by its name.
    pub(crate) fn is_variable_address(&self) -> bool {
        matches!(self, Self::Slot(_) | Self::Global(_) | Self::ParamAddress(_))
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
