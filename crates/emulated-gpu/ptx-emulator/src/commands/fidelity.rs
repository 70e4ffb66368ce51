//! The fidelity table: how closely the emulator matches a real card, instruction by instruction.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::program::{
    Approximate, Asynchronous, Atomic, Element, FloatBinary, FloatUnary, FragmentLayout, IntBinary,
    Matrix, Module, Multiply, ObjectAction, Op, Operand, Special, TextureOp, Type,
};
use crate::source::{Source, Span};

/// How closely the result of an instruction matches a card's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fidelity {
    /// The ISA defines every bit, and the emulator computes it.
    Exact,
    /// The ISA leaves something open, which the emulator decides as measured or observed on cards. The text names the
    /// open point.
    Known(&'static str),
    /// The ISA only bounds the error, and the emulator is within that bound. The text is the bound.
    Within(&'static str),
}

impl Fidelity {
    /// The fidelity of an operation.
    #[must_use]
    pub fn of_op(op: &Op) -> Self {
        match op {
            Op::Mov { a: Operand::Special(special), .. } => of_special(*special),
            Op::FloatUnary { op, ty, .. } => of_float_unary(*op, *ty),
            Op::FloatBinary { op: FloatBinary::Div { approximate }, .. } => match approximate {
                Approximate::No => Self::Exact,
                Approximate::Approx | Approximate::Full => Self::Within("2 ulp"),
            },
            Op::IntBinary { op: IntBinary::Div | IntBinary::Rem, .. } => Self::Known(
                "division by zero results in all ones, or the dividend: the ISA leaves it open",
            ),
            Op::Atomic { op: Atomic::Add, ty, .. } if is_float(*ty) => {
                Self::Known("each sum is exact; the order in which lanes and blocks add is open")
            }
            Op::Matrix(matrix) => of_matrix(matrix),
            Op::ActiveMask { .. } => {
                Self::Known("which lanes run together depends on the scheduling")
            }
            Op::Elect { .. } => Self::Known("which lane is elected is open"),
            Op::Shuffle { mask: None, .. } | Op::Vote { mask: None, .. } => Self::Known(
                "without .sync, among the lanes that run together: that depends on the scheduling",
            ),
            Op::Asynchronous(asynchronous) => of_asynchronous(asynchronous),
            Op::Texture(texture) => match **texture {
                TextureOp::Fetch { .. } => Self::Known(
                    "linear filtering: weights of 8 bits, as CUDA's guide says; how their sum is rounded is open",
                ),
                TextureOp::Query { .. }
                | TextureOp::IsType { .. }
                | TextureOp::Load { .. }
                | TextureOp::Store { .. }
                | TextureOp::Reduce { .. } => Self::Exact,
            },
            Op::StackSave { .. } | Op::StackRestore { .. } | Op::StackAllocate { .. } => {
                Self::Known("the address of the stack is open")
            }
            // The ISA defines every bit of these: integers, IEEE arithmetic, conversions, memory, control. They
            // are listed by name, so that a new operation doesn't count as exact by default.
            Op::Mov { .. }
            | Op::Pack { .. }
            | Op::Unpack { .. }
            | Op::IntUnary { .. }
            | Op::IntBinary { .. }
            | Op::IntMad { .. }
            | Op::Carry { .. }
            | Op::Sad { .. }
            | Op::BitExtract { .. }
            | Op::BitInsert { .. }
            | Op::FindNthSet { .. }
            | Op::Lop3 { .. }
            | Op::FunnelShift { .. }
            | Op::Permute { .. }
            | Op::DotProduct { .. }
            | Op::SetPredicate { .. }
            | Op::Set { .. }
            | Op::Select { .. }
            | Op::SelectBySign { .. }
            | Op::FloatBinary { .. }
            | Op::Fma { .. }
            | Op::TestProperty { .. }
            | Op::Convert { .. }
            | Op::ConvertAddress { .. }
            | Op::IsSpace { .. }
            | Op::Load { .. }
            | Op::Store { .. }
            | Op::Atomic { .. }
            | Op::Fence { .. }
            | Op::Hint { .. }
            | Op::Branch { .. }
            | Op::BranchIndexed { .. }
            | Op::Call { .. }
            | Op::Return
            | Op::Exit
            | Op::Trap
            | Op::Nothing
            | Op::Barrier { .. }
            | Op::WarpBarrier { .. }
            | Op::Shuffle { .. }
            | Op::Vote { .. }
            | Op::Match { .. }
            | Op::Reduce { .. }
            | Op::Video { .. } => Self::Exact,
        }
    }

    const fn heading(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Known(_) => "exact as far as known",
            Self::Within(_) => "within the ISA's error",
        }
    }

    const fn reason(self) -> &'static str {
        match self {
            Self::Exact => "",
            Self::Known(why) | Self::Within(why) => why,
        }
    }
}

fn of_asynchronous(asynchronous: &Asynchronous) -> Fidelity {
    let Asynchronous::Barrier { action, .. } = asynchronous else { return Fidelity::Exact };
    match action {
        ObjectAction::Arrive { .. } => Fidelity::Known("the bits of the returned state are open"),
        ObjectAction::Test { .. } => {
            Fidelity::Known("the number of calls until the phase is over depends on the scheduling")
        }
        _ => Fidelity::Exact,
    }
}

const fn is_float(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2 | Type::F32 | Type::F64)
}

fn of_special(special: Special) -> Fidelity {
    match special {
        _ if special.is_clock() => {
            Fidelity::Known("the emulator's own clock, which differs from a card's")
        }
        Special::SmId | Special::NSmId | Special::WarpId | Special::NWarpId | Special::GridId => {
            Fidelity::Known("where a block runs is open")
        }
        _ => Fidelity::Exact,
    }
}

/// The error bounds of the PTX ISA, "Floating-Point Instructions" and "Half Precision Floating-Point
/// Instructions".
fn of_float_unary(op: FloatUnary, ty: Type) -> Fidelity {
    let half = matches!(ty, Type::F16 | Type::F16x2);
    let double = ty == Type::F64;
    Fidelity::Within(match op {
        FloatUnary::Neg
        | FloatUnary::Abs
        | FloatUnary::Rcp { approximate: false }
        | FloatUnary::Sqrt { approximate: false } => return Fidelity::Exact,
        FloatUnary::Rcp { .. } | FloatUnary::Rsqrt if double => {
            "none is stated for double precision; 1 ulp here, or of 20 bits with .ftz"
        }
        FloatUnary::Rcp { .. } => "1 ulp",
        FloatUnary::Sqrt { .. } => "relative 2^-23",
        FloatUnary::Rsqrt => "relative 2^-22.9",
        FloatUnary::Sin | FloatUnary::Cos => {
            "absolute 2^-20.5 within 2 pi of 0, 2^-14.7 within 100 pi"
        }
        FloatUnary::Lg2 => "absolute 2^-22 from 0.5 to 2, else relative 2^-22",
        FloatUnary::Ex2 if ty == Type::F32 => "2 ulp",
        FloatUnary::Ex2 if half => "relative 2^-9.9",
        FloatUnary::Ex2 => "relative 2^-7",
        FloatUnary::Tanh if ty == Type::F32 => "relative 2^-11",
        FloatUnary::Tanh if half => "absolute 2^-10.987",
        FloatUnary::Tanh => "absolute 2^-8",
    })
}

fn of_matrix(matrix: &Matrix) -> Fidelity {
    let open = "which lane holds which element is open; the emulator's lanes agree with each other";
    match matrix {
        Matrix::Multiply(multiply) => of_product(multiply),
        Matrix::LoadFragment { fragment, .. } | Matrix::StoreFragment { fragment, .. } => {
            match fragment.layout {
                FragmentLayout::Wmma => Fidelity::Known(open),
                FragmentLayout::Mma => Fidelity::Exact,
            }
        }
        Matrix::Load { .. } | Matrix::Store { .. } | Matrix::Transpose { .. } => Fidelity::Exact,
    }
}

fn of_product(multiply: &Multiply) -> Fidelity {
    match multiply.fragments[0].element {
        Element::S8 | Element::U8 | Element::S4 | Element::U4 | Element::B1 | Element::S32 => {
            Fidelity::Exact
        }
        Element::F64 => Fidelity::Known("in the order of k, as measured on a card of 9.0"),
        _ if multiply.sparse.is_some() => Fidelity::Known(
            "sums as measured on cards of 7.0 to 9.0, whose groups are assumed to include the zeros",
        ),
        Element::E4m3 | Element::E5m2 => Fidelity::Known(
            "sums as measured on cards of 8.9 and 9.0; there without c, which is assumed to be truncated likewise",
        ),
        _ if multiply.result == Element::F16 => Fidelity::Known(
            "sums as measured on cards of 7.0 to 9.0, rounded to half once a group; 7.5 is treated like 7.0",
        ),
        _ => Fidelity::Known("sums as measured on cards of 7.0 to 9.0; 7.5 is treated like 7.0"),
    }
}

/// The opcode of an instruction with its modifiers, without its operands.
fn opcode(source: &Source, span: Span) -> &str {
    let text = source.text.get(span.start as usize..span.end as usize).unwrap_or_default();
    opcode_of(text)
}

fn opcode_of(text: &str) -> &str {
    let text = text.trim_start();
    let text = match text.strip_prefix('@') {
        Some(guarded) => guarded.split_once(char::is_whitespace).map_or("", |(_, rest)| rest),
        None => text,
    };
    text.split_whitespace().next().unwrap_or_default().trim_end_matches([';', '{'])
}

/// The number of instructions of each fidelity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    exact: usize,
    known: usize,
    within: usize,
}

/// Lists the instructions of a module with their fidelity, function by function, and the totals.
#[must_use]
pub fn of_module(module: &Module, source: &Source) -> String {
    let mut text = String::new();
    let mut count = Count::default();
    for function in &module.functions {
        let Some(body) = &function.body else { continue };
        // The least certain come last; within each fidelity the order is alphabetical.
        let mut kinds: BTreeMap<(Fidelity, &str), usize> = BTreeMap::new();
        for instruction in body {
            let fidelity = Fidelity::of_op(&instruction.op);
            *kinds.entry((fidelity, opcode(source, instruction.span))).or_default() += 1;
            match fidelity {
                Fidelity::Exact => count.exact += 1,
                Fidelity::Known(_) => count.known += 1,
                Fidelity::Within(_) => count.within += 1,
            }
        }
        let _ = writeln!(text, "{}:", function.name);
        for ((fidelity, opcode), times) in kinds {
            let (heading, why) = (fidelity.heading(), fidelity.reason());
            let line = format!("{times:>6}  {opcode:<32}  {heading}");
            match why {
                "" => writeln!(text, "{line}"),
                _ => writeln!(text, "{line}: {why}"),
            }
            .ok();
        }
    }
    text + &summary(count, 0)
}

/// Lists the instructions that can't run in a module with errors, given the lines that the errors are in.
pub(super) fn of_errors<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let (mut text, mut refused) = (String::new(), 0);
    for line in lines {
        refused += 1;
        let _ = writeln!(text, "     1  {:<32}  refused", opcode_of(line));
    }
    text + &summary(Count::default(), refused)
}

fn summary(count: Count, refused: usize) -> String {
    let Count { exact, known, within } = count;
    if refused > 0 {
        return format!("{refused} refused; the others are listed once nothing is refused\n");
    }
    format!(
        "{} instructions: {exact} exact, {known} exact as far as known, {within} within the ISA's error, 0 \
         refused\n",
        exact + known + within,
    )
}
