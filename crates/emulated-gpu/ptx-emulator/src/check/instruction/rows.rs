//! The table of all emulated instructions: syntax, first target and version, and operation.

use super::form::Form;
use crate::check::context::Result;
use crate::check::operands::Check;
use crate::check::since::Version;
use crate::check::types;
use crate::program::{
    FloatBinary, FloatProperty, FloatUnary, IntBinary, IntUnary, Matrix, Op, Permute, TextureOp,
};
use crate::texture::Opaque;

/// An instruction, or one of its forms.
pub(super) struct Row {
    opcode: &'static str,
    /// The words that select a form: the instruction has one of them. Empty in the last row of an opcode, which
    /// covers all other forms. `float` means that the first type is a floating-point type.
    words: &'static str,
    /// The first target and version of PTX that have the opcode.
    since: (u32, Version),
    rule: Rule,
}

enum Rule {
    /// The [modifiers and operands](super::form), and the operation.
    Form(&'static str, &'static str, fn(&Form) -> Op),
    /// A rule that the notation can't express.
    Special(fn(&mut Check<'_, '_>) -> Result<Op>),
}

impl Row {
    /// Whether the row covers this instruction.
    fn covers(&self, check: &Check<'_, '_>) -> bool {
        let ty = || check.modifiers.peek_type();
        self.words.is_empty()
            || self.words.split('|').any(|word| match word {
                "float" => ty().is_some_and(types::is_float),
                "bf16" | "bf16x2" => ty().is_some_and(|ty| ty.name() == word),
                _ => check.modifiers.has(word),
            })
    }
}

/// The operation of an instruction, and the first target and version of PTX that have its opcode; `None` if the
/// opcode is unknown.
pub(super) fn check(check: &mut Check<'_, '_>) -> Option<Result<(Op, (u32, Version))>> {
    let opcode = check.opcode();
    let first = ROWS.partition_point(|row| row.opcode < opcode);
    let mut rows = ROWS[first..].iter().take_while(|row| row.opcode == opcode);
    let row = rows.find(|row| row.covers(check))?;
    let op = match row.rule {
        Rule::Form(groups, shape, op) => check.form(groups, shape).map(|form| op(&form)),
        Rule::Special(rule) => rule(check),
    };
    Some(op.map(|op| (op, row.since)))
}

/// The names of the emulated instructions, without modifiers.
pub fn instructions() -> impl Iterator<Item = &'static str> {
    ROWS.iter().filter(|row| row.words.is_empty()).map(|row| row.opcode)
}

type Since = (u32, u32, u32);

/// A row. `name` is the opcode, followed by a space and the words.
const fn row(name: &'static str, (target, major, minor): Since, rule: Rule) -> Row {
    let mut end = 0;
    while end < name.len() && name.as_bytes()[end] != b' ' {
        end += 1;
    }
    let (opcode, words) = name.split_at(end);
    let (_, words) = words.split_at(if words.is_empty() { 0 } else { 1 });
    Row { opcode, words, since: (target, (major, minor)), rule }
}

const fn form(
    name: &'static str,
    since: Since,
    groups: &'static str,
    shape: &'static str,
    op: fn(&Form) -> Op,
) -> Row {
    row(name, since, Rule::Form(groups, shape, op))
}

const fn special(
    name: &'static str,
    since: Since,
    rule: fn(&mut Check<'_, '_>) -> Result<Op>,
) -> Row {
    row(name, since, Rule::Special(rule))
}

/// Modifiers of floating-point additions and products. Half precision is only rounded to nearest.
pub(super) const FLOAT: &str =
    ".float; {rn @half}; {rn|rz|rm|rp @f32|f64}; {ftz @flushed}; {sat @flushed}";
/// Modifiers of instructions that change the sign.
const SIGN: &str = ".float; {ftz @flushed}";
/// Modifiers of instructions that only exist as approximations.
const FAST: &str = ".f32; approx; {ftz}";
const EX2: &str = ".f32|f16|f16x2|bf16|bf16x2; approx; {ftz @f32}";
const PRODUCT: &str = "lo|hi|wide; .u16|u32|s16|s32 @wide; .int @!wide";
const PROPERTY: &str = "finite|infinite|number|notanumber|normal|subnormal = a property; .f32|f64";
/// A state space; `.shared::cluster` is the block's shared memory, because a block is its whole cluster.
pub(super) const STATE_SPACE: &str =
    "global|shared|shared::cta|shared::cluster|local|const|param|param::entry = a state space";
const LOGIC: &str = ".pred|b16|b32|b64";
const CARRY: &str = "{cc}; .u32|s32|u64|s64";
const CARRY_PRODUCT: &str = "{cc}; lo|hi; .u32|s32|u64|s64";
const SHIFTED: &str = ".b16|b32|b64";
const FIELD: &str = ".u32|u64|s32|s64";
const LONG: &str = ".b32|b64";

/// Sorted by opcode.
static ROWS: [Row; 145] = [
    form("abs float", (10, 1, 0), SIGN, "d, a", |f| f.float_unary(FloatUnary::Abs)),
    form("abs", (10, 1, 0), ".s16|s32|s64", "d, a", |f| f.unary(IntUnary::Abs)),
    form("activemask", (30, 6, 2), ".b32", "d", |f| Op::ActiveMask { d: f.d }),
    form("add float", (10, 1, 0), FLOAT, "d, a, b", |f| f.float_binary(FloatBinary::Add)),
    form("add cc", (10, 1, 0), CARRY, "d, a, b", |f| f.carry(false, false)),
    form("add", (10, 1, 0), "{sat}; .s32 @sat; .packed @!sat", "d, a, b", |f| {
        f.binary(IntBinary::Add { saturate: f.has("sat") })
    }),
    form("addc", (10, 1, 2), CARRY, "d, a, b", |f| f.carry(false, true)),
    special("alloca", (52, 7, 3), super::control::alloca),
    form("and", (10, 1, 0), LOGIC, "d, a, b", |f| f.binary(IntBinary::And)),
    special("applypriority", (80, 7, 4), super::cache::hint),
    special("atom", (11, 1, 0), super::atomic::atomic),
    form("bar warp", (10, 1, 0), "{warp}; sync", "mask", |f| Op::WarpBarrier { mask: f.a }),
    special("bar", (10, 1, 0), super::sync::bar),
    special("barrier", (30, 6, 0), super::sync::bar),
    form(
        "bfe",
        (20, 2, 0),
        FIELD,
        "d, a, b:u32, c:u32",
        |&Form { ty, d, a, b: position, c: length, .. }| Op::BitExtract {
            ty,
            d,
            a,
            position,
            length,
        },
    ),
    form(
        "bfi",
        (20, 2, 0),
        LONG,
        "f, a, b, c:u32, d:u32",
        |&Form { ty, d, a, b, c, e, .. }| Op::BitInsert { ty, d, a, b, position: c, length: e },
    ),
    form("bfind", (20, 2, 0), "{shiftamt}; .u32|u64|s32|s64", "d:u32, a", |f| {
        f.unary(IntUnary::BFind { shift_amount: f.has("shiftamt") })
    }),
    special("bmsk", (70, 7, 6), super::bits::bmsk),
    special("bra", (10, 1, 0), super::control::bra),
    form("brev", (20, 2, 0), LONG, "d, a", |f| f.unary(IntUnary::Brev)),
    form("brkpt", (11, 1, 0), "", "", |_| Op::Nothing),
    special("brx", (30, 6, 0), super::control::brx),
    special("call", (10, 1, 0), super::control::call),
    form("clz", (20, 2, 0), LONG, "d:u32, a", |f| f.unary(IntUnary::Clz)),
    form("cnot", (10, 1, 0), SHIFTED, "d, a", |f| f.unary(IntUnary::CNot)),
    form("copysign", (20, 2, 0), ".f32|f64", "d, a, b", |f| f.float_binary(FloatBinary::CopySign)),
    form("cos", (10, 1, 4), FAST, "d, a", |f| f.float_unary(FloatUnary::Cos)),
    special("cp", (80, 7, 0), super::copy::cp),
    special("createpolicy", (80, 7, 4), super::cache::createpolicy),
    special("cvt", (10, 1, 0), super::convert::cvt),
    special("cvta", (20, 2, 0), super::moves::cvta),
    special("discard", (80, 7, 4), super::cache::hint),
    special("div float", (10, 1, 0), super::float::div),
    form("div", (10, 1, 0), ".int", "d, a, b", |f| f.binary(IntBinary::Div)),
    special("dp2a", (61, 5, 0), super::bits::dot),
    special("dp4a", (61, 5, 0), super::bits::dot),
    special("elect", (90, 8, 0), super::warp::elect),
    form(
        "ex2 bf16|bf16x2",
        (10, 1, 4),
        ".f32|f16|f16x2|bf16|bf16x2; approx = `.approx`; ftz",
        "d, a",
        |f| f.float_unary(FloatUnary::Ex2),
    ),
    form("ex2", (10, 1, 4), EX2, "d, a", |f| f.float_unary(FloatUnary::Ex2)),
    form("exit", (10, 1, 0), "", "", |_| Op::Exit),
    special("fence", (70, 6, 0), super::sync::fence),
    special("fma", (10, 1, 4), super::float::fused),
    form("fns", (30, 6, 0), ".b32", "d, mask, base, offset:s32", |&Form { d, a, b, c, .. }| {
        Op::FindNthSet { d, mask: a, base: b, offset: c }
    }),
    form("griddepcontrol", (90, 7, 8), "launch_dependents|wait", "", |_| Op::Nothing),
    form("isspacep", (20, 2, 0), STATE_SPACE, "p:pred, a:u64", |f| Op::IsSpace {
        space: f.space(),
        d: f.d,
        a: f.a,
    }),
    form("istypep", (30, 4, 0), "texref|surfref|samplerref = a type", "p:pred, a:u64", |f| {
        let kind = f.choice(&[("texref", Opaque::Texture), ("surfref", Opaque::Surface)]);
        Op::Texture(Box::new(TextureOp::IsType { kind, d: f.d, a: f.a }))
    }),
    special("ld", (10, 1, 0), super::memory::ld),
    special("ldmatrix", (75, 6, 5), super::matrix::ldmatrix),
    special("ldu", (20, 2, 0), super::memory::ldu),
    form("lg2", (10, 1, 4), FAST, "d, a", |f| f.float_unary(FloatUnary::Lg2)),
    special("lop3", (50, 4, 3), super::bits::lop3),
    special("mad float", (10, 1, 0), super::float::fused),
    form("mad cc", (10, 1, 0), CARRY_PRODUCT, "d, a, b, c", |f| f.carry(false, false)),
    special("mad", (10, 1, 0), super::arithmetic::mad),
    special("mad24", (10, 1, 0), super::arithmetic::mad),
    form("madc", (20, 3, 0), CARRY_PRODUCT, "d, a, b, c", |f| f.carry(false, true)),
    form(
        "match all",
        (70, 6, 0),
        "any|all; sync; .b32|b64",
        "d|p:u32, a, mask:b32",
        |&Form { ty, d, p, a, b: mask, .. }| Op::Match { all: true, ty, d, p, a, mask },
    ),
    form(
        "match",
        (70, 6, 0),
        "any|all; sync; .b32|b64",
        "d:u32, a, mask:b32",
        |&Form { ty, d, p, a, b: mask, .. }| Op::Match { all: false, ty, d, p, a, mask },
    ),
    special("max float", (10, 1, 0), super::float::extreme),
    special("max relu", (10, 1, 0), super::arithmetic::relu),
    form("max", (10, 1, 0), "{relu}; .packed", "d, a, b", |f| f.binary(IntBinary::Max)),
    special("mbarrier", (80, 7, 0), super::mbarrier::mbarrier),
    special("membar", (10, 1, 4), super::sync::membar),
    special("min float", (10, 1, 0), super::float::extreme),
    special("min relu", (10, 1, 0), super::arithmetic::relu),
    form("min", (10, 1, 0), "{relu}; .packed", "d, a, b", |f| f.binary(IntBinary::Min)),
    special("mma", (70, 6, 4), super::matrix::mma),
    special("mov", (10, 1, 0), super::moves::mov),
    form("movmatrix", (75, 7, 8), "sync; aligned; m8n8; trans; .b16", "d:b32, a:b32", |f| {
        Op::Matrix(Matrix::Transpose { d: f.d, a: f.a })
    }),
    form("mul float", (10, 1, 0), FLOAT, "d, a, b", |f| f.float_binary(FloatBinary::Mul)),
    form("mul", (10, 1, 0), PRODUCT, "d:wide, a, b", |f| f.binary(f.product())),
    form("mul24", (10, 1, 0), "lo|hi; .u32|s32", "d, a, b", |f| f.binary(f.product24())),
    form("nanosleep", (70, 6, 2), ".u32", "t", |_| Op::Nothing),
    form("neg float", (10, 1, 0), SIGN, "d, a", |f| f.float_unary(FloatUnary::Neg)),
    form("neg", (10, 1, 0), ".s16|s32|s64", "d, a", |f| f.unary(IntUnary::Neg)),
    form("not", (10, 1, 0), LOGIC, "d, a", |f| f.unary(IntUnary::Not)),
    form("or", (10, 1, 0), LOGIC, "d, a, b", |f| f.binary(IntBinary::Or)),
    special("pmevent", (10, 1, 4), super::control::pmevent),
    form("popc", (20, 2, 0), LONG, "d:u32, a", |f| f.unary(IntUnary::PopC)),
    special("prefetch", (20, 2, 0), super::cache::hint),
    special("prefetchu", (20, 2, 0), super::cache::hint),
    form("prmt", (20, 2, 0), ".b32; {f4e|b4e|rc8|ecl|ecr|rc16}", "d, a, b, c", |f| {
        let mode = f.choice(Permute::NAMED).unwrap_or(Permute::Generic);
        Op::Permute { mode, d: f.d, a: f.a, b: f.b, c: f.c }
    }),
    special("rcp", (10, 1, 4), super::float::reciprocal_or_root),
    special("red", (11, 1, 2), super::atomic::atomic),
    special("redux", (80, 7, 0), super::warp::redux),
    form("rem", (10, 1, 0), ".int", "d, a, b", |f| f.binary(IntBinary::Rem)),
    form("ret", (10, 1, 0), "{uni}", "", |_| Op::Return),
    form("rsqrt", (10, 1, 4), ".f32|f64; approx; {ftz}", "d, a", |f| {
        f.float_unary(FloatUnary::Rsqrt)
    }),
    form("sad", (10, 1, 0), ".int", "d, a, b, c", |&Form { ty, d, a, b, c, .. }| Op::Sad {
        ty,
        d,
        a,
        b,
        c,
    }),
    form("selp", (10, 1, 0), ".sized", "d, a, b, c:pred", |&Form { ty, d, a, b, c, .. }| {
        Op::Select { ty, d, a, b, c }
    }),
    special("set", (10, 1, 0), super::compare::set),
    special("setmaxnreg", (90, 8, 0), super::control::setmaxnreg),
    special("setp", (10, 1, 0), super::compare::setp),
    form("shf", (32, 3, 1), "l|r; clamp|wrap; .b32", "d, a, b, c:u32", |f| {
        let (right, wrap) = (f.has("r"), f.has("wrap"));
        Op::FunnelShift { right, wrap, d: f.d, a: f.a, b: f.b, c: f.c }
    }),
    special("shfl", (30, 3, 0), super::warp::shfl),
    form("shl", (10, 1, 0), SHIFTED, "d, a, b:u32", |f| f.binary(IntBinary::ShiftLeft)),
    form("shr", (10, 1, 0), ".b16|b32|b64|int", "d, a, b:u32", |f| f.binary(IntBinary::ShiftRight)),
    form("sin", (10, 1, 4), FAST, "d, a", |f| f.float_unary(FloatUnary::Sin)),
    form("slct", (10, 1, 0), ".sized; .s32|f32; {ftz @f32}", "d, a, b, c:2", |f| {
        let (ty, sign, flush) = (f.ty, f.second_type, f.mode.flush);
        Op::SelectBySign { ty, sign, flush, d: f.d, a: f.a, b: f.b, c: f.c }
    }),
    special("sqrt", (10, 1, 0), super::float::reciprocal_or_root),
    special("st", (10, 1, 0), super::memory::st),
    special("stackrestore", (52, 7, 3), super::control::stackrestore),
    form("stacksave", (52, 7, 3), ".u32|u64", "d", |f| Op::StackSave { d: f.d }),
    special("stmatrix", (90, 7, 8), super::matrix::stmatrix),
    form("sub float", (10, 1, 0), FLOAT, "d, a, b", |f| f.float_binary(FloatBinary::Sub)),
    form("sub cc", (10, 1, 0), CARRY, "d, a, b", |f| f.carry(true, false)),
    form("sub", (10, 1, 0), "{sat}; .s32 @sat; .int @!sat", "d, a, b", |f| {
        f.binary(IntBinary::Sub { saturate: f.has("sat") })
    }),
    form("subc", (10, 1, 3), CARRY, "d, a, b", |f| f.carry(true, true)),
    special("suld", (10, 1, 5), super::surface::suld),
    special("suq", (10, 1, 5), super::texture::suq),
    special("sured", (20, 2, 0), super::surface::sured),
    special("sust", (10, 1, 5), super::surface::sust),
    special("szext", (70, 7, 6), super::bits::szext),
    form("tanh", (75, 7, 0), ".f32|f16|f16x2|bf16|bf16x2; approx", "d, a", |f| {
        f.float_unary(FloatUnary::Tanh)
    }),
    form("testp", (20, 2, 0), PROPERTY, "p:pred, a", |f| {
        let property = f.choice(FloatProperty::NAMED).unwrap_or(FloatProperty::Finite);
        Op::TestProperty { property, ty: f.ty, d: f.d, a: f.a }
    }),
    special("tex", (10, 1, 0), super::texture::tex),
    special("tld4", (20, 2, 2), super::texture::tld4),
    form("trap", (10, 1, 0), "", "", |_| Op::Trap),
    special("txq", (10, 1, 5), super::texture::txq),
    special("vabsdiff", (20, 2, 0), super::video::video),
    special("vabsdiff2", (30, 3, 0), super::video::video),
    special("vabsdiff4", (30, 3, 0), super::video::video),
    special("vadd", (20, 2, 0), super::video::video),
    special("vadd2", (30, 3, 0), super::video::video),
    special("vadd4", (30, 3, 0), super::video::video),
    special("vavrg2", (30, 3, 0), super::video::video),
    special("vavrg4", (30, 3, 0), super::video::video),
    special("vmad", (20, 2, 0), super::video::video),
    special("vmax", (20, 2, 0), super::video::video),
    special("vmax2", (30, 3, 0), super::video::video),
    special("vmax4", (30, 3, 0), super::video::video),
    special("vmin", (20, 2, 0), super::video::video),
    special("vmin2", (30, 3, 0), super::video::video),
    special("vmin4", (30, 3, 0), super::video::video),
    special("vote", (12, 1, 2), super::warp::vote),
    special("vset", (20, 2, 0), super::video::video),
    special("vset2", (30, 3, 0), super::video::video),
    special("vset4", (30, 3, 0), super::video::video),
    special("vshl", (20, 2, 0), super::video::video),
    special("vshr", (20, 2, 0), super::video::video),
    special("vsub", (20, 2, 0), super::video::video),
    special("vsub2", (30, 3, 0), super::video::video),
    special("vsub4", (30, 3, 0), super::video::video),
    special("wmma", (70, 6, 0), super::wmma::wmma),
    form("xor", (10, 1, 0), LOGIC, "d, a, b", |f| f.binary(IntBinary::Xor)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_by_opcode_and_the_last_of_each_is_for_every_form() {
        assert!(ROWS.is_sorted_by_key(|row| row.opcode));
        for pair in ROWS.windows(2).filter(|pair| pair[0].opcode != pair[1].opcode) {
            assert_eq!(pair[0].words, "");
        }
    }
}
