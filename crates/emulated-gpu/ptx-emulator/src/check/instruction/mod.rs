//! Every instruction: its modifiers, its types, its operands (PTX ISA, "Instruction Set").

mod arithmetic;
mod atomic;
mod bits;
mod bulk;
mod cache;
mod compare;
mod control;
mod convert;
mod copy;
mod float;
mod matrix;
mod mbarrier;
mod memory;
mod moves;
mod sparse;
mod surface;
mod sync;
mod texture;
mod video;
mod warp;
mod wmma;

use crate::diagnostic::{Problem, closest};
use crate::program::{Op, Type};
use crate::syntax::Instruction;

use super::body::function::Body;
use super::context::{Context, Result};
use super::modifiers::Modifiers;
use super::operands::Check;
use super::since::{self, Version};
use super::types;

/// Checks one instruction and says what it does; what it takes several steps to do is several.
pub(super) fn check<'a>(
    body: &mut Body<'a>,
    context: &mut Context<'a>,
    written: &Instruction<'a>,
) -> Result<Vec<Op>> {
    let modifiers = Modifiers::new(written);
    let mut check = Check { body, context, written, modifiers, before: Vec::new() };
    let op = operation(&mut check)?;
    let mut ops = check.before;
    ops.push(op);
    Ok(ops)
}

type Rule = fn(&mut Check<'_, '_>) -> Result<Op>;

/// The video instructions.
const VIDEO: [&str; 23] = [
    "vabsdiff",
    "vabsdiff2",
    "vabsdiff4",
    "vadd",
    "vadd2",
    "vadd4",
    "vavrg2",
    "vavrg4",
    "vmad",
    "vmax",
    "vmax2",
    "vmax4",
    "vmin",
    "vmin2",
    "vmin4",
    "vset",
    "vset2",
    "vset4",
    "vshl",
    "vshr",
    "vsub",
    "vsub2",
    "vsub4",
];

/// The instructions that are emulated, and the first target and version of PTX that have them.
const RULES: [(&str, Rule, u32, Version); 105] = [
    ("abs", arithmetic::abs, 10, (1, 0)),
    ("activemask", warp::activemask, 30, (6, 2)),
    ("add", arithmetic::add, 10, (1, 0)),
    ("addc", arithmetic::addc, 10, (1, 2)),
    ("alloca", control::alloca, 52, (7, 3)),
    ("and", bits::and, 10, (1, 0)),
    ("applypriority", cache::hint, 80, (7, 4)),
    ("atom", atomic::atom, 11, (1, 0)),
    ("bar", sync::bar, 10, (1, 0)),
    ("barrier", sync::bar, 30, (6, 0)),
    ("bfe", bits::bfe, 20, (2, 0)),
    ("bfi", bits::bfi, 20, (2, 0)),
    ("bfind", bits::bfind, 20, (2, 0)),
    ("bmsk", bits::bmsk, 70, (7, 6)),
    ("bra", control::bra, 10, (1, 0)),
    ("brev", bits::brev, 20, (2, 0)),
    ("brkpt", control::brkpt, 11, (1, 0)),
    ("brx", control::brx, 30, (6, 0)),
    ("call", control::call, 10, (1, 0)),
    ("clz", bits::clz, 20, (2, 0)),
    ("cnot", bits::cnot, 10, (1, 0)),
    ("copysign", float::copysign, 20, (2, 0)),
    ("cos", float::cos, 10, (1, 4)),
    ("cp", copy::cp, 80, (7, 0)),
    ("createpolicy", cache::createpolicy, 80, (7, 4)),
    ("cvt", convert::cvt, 10, (1, 0)),
    ("cvta", moves::cvta, 20, (2, 0)),
    ("discard", cache::hint, 80, (7, 4)),
    ("div", arithmetic::div, 10, (1, 0)),
    ("dp2a", bits::dp2a, 61, (5, 0)),
    ("dp4a", bits::dp4a, 61, (5, 0)),
    ("elect", warp::elect, 90, (8, 0)),
    ("ex2", float::ex2, 10, (1, 4)),
    ("exit", control::exit, 10, (1, 0)),
    ("fence", sync::fence, 70, (6, 0)),
    ("fma", float::fma, 10, (1, 4)),
    ("fns", bits::fns, 30, (6, 0)),
    ("griddepcontrol", control::griddepcontrol, 90, (7, 8)),
    ("isspacep", moves::isspacep, 20, (2, 0)),
    ("istypep", texture::istypep, 30, (4, 0)),
    ("ld", memory::ld, 10, (1, 0)),
    ("ldmatrix", matrix::ldmatrix, 75, (6, 5)),
    ("ldu", memory::ldu, 20, (2, 0)),
    ("lg2", float::lg2, 10, (1, 4)),
    ("lop3", bits::lop3, 50, (4, 3)),
    ("mad", arithmetic::mad, 10, (1, 0)),
    ("mad24", arithmetic::mad24, 10, (1, 0)),
    ("madc", arithmetic::madc, 20, (3, 0)),
    ("match", warp::matches, 70, (6, 0)),
    ("max", arithmetic::max, 10, (1, 0)),
    ("mbarrier", mbarrier::mbarrier, 80, (7, 0)),
    ("membar", sync::membar, 10, (1, 4)),
    ("min", arithmetic::min, 10, (1, 0)),
    ("mma", matrix::mma, 70, (6, 4)),
    ("mov", moves::mov, 10, (1, 0)),
    ("movmatrix", matrix::movmatrix, 75, (7, 8)),
    ("mul", arithmetic::mul, 10, (1, 0)),
    ("mul24", arithmetic::mul24, 10, (1, 0)),
    ("nanosleep", control::nanosleep, 70, (6, 2)),
    ("neg", arithmetic::neg, 10, (1, 0)),
    ("not", bits::not, 10, (1, 0)),
    ("or", bits::or, 10, (1, 0)),
    ("pmevent", control::pmevent, 10, (1, 4)),
    ("popc", bits::popc, 20, (2, 0)),
    ("prefetch", cache::hint, 20, (2, 0)),
    ("prefetchu", cache::hint, 20, (2, 0)),
    ("prmt", bits::prmt, 20, (2, 0)),
    ("rcp", float::rcp, 10, (1, 4)),
    ("red", atomic::red, 11, (1, 2)),
    ("redux", warp::redux, 80, (7, 0)),
    ("rem", arithmetic::rem, 10, (1, 0)),
    ("ret", control::ret, 10, (1, 0)),
    ("rsqrt", float::rsqrt, 10, (1, 4)),
    ("sad", arithmetic::sad, 10, (1, 0)),
    ("selp", compare::selp, 10, (1, 0)),
    ("set", compare::set, 10, (1, 0)),
    ("setmaxnreg", control::setmaxnreg, 90, (8, 0)),
    ("setp", compare::setp, 10, (1, 0)),
    ("shf", bits::shf, 32, (3, 1)),
    ("shfl", warp::shfl, 30, (3, 0)),
    ("shl", bits::shl, 10, (1, 0)),
    ("shr", bits::shr, 10, (1, 0)),
    ("sin", float::sin, 10, (1, 4)),
    ("slct", compare::slct, 10, (1, 0)),
    ("sqrt", float::sqrt, 10, (1, 0)),
    ("st", memory::st, 10, (1, 0)),
    ("stackrestore", control::stackrestore, 52, (7, 3)),
    ("stacksave", control::stacksave, 52, (7, 3)),
    ("stmatrix", matrix::stmatrix, 90, (7, 8)),
    ("sub", arithmetic::sub, 10, (1, 0)),
    ("subc", arithmetic::subc, 10, (1, 3)),
    ("suld", surface::suld, 10, (1, 5)),
    ("suq", texture::suq, 10, (1, 5)),
    ("sured", surface::sured, 20, (2, 0)),
    ("sust", surface::sust, 10, (1, 5)),
    ("szext", bits::szext, 70, (7, 6)),
    ("tanh", float::tanh, 75, (7, 0)),
    ("testp", float::testp, 20, (2, 0)),
    ("tex", texture::tex, 10, (1, 0)),
    ("tld4", texture::tld4, 20, (2, 2)),
    ("trap", control::trap, 10, (1, 0)),
    ("txq", texture::txq, 10, (1, 5)),
    ("vote", warp::vote, 12, (1, 2)),
    ("wmma", wmma::wmma, 70, (6, 0)),
    ("xor", bits::xor, 10, (1, 0)),
];

/// The names of the instructions that are emulated, without modifiers.
pub fn instructions() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(name, ..)| *name).chain(VIDEO)
}

/// Instructions that PTX has and the emulator has not.
const UNSUPPORTED: [&str; 7] =
    ["clusterlaunchcontrol", "getctarank", "mapa", "multimem", "tcgen05", "tensormap", "wgmma"];

/// Types of instructions that came with sm_100, which the emulated card is not.
const NEWER_TYPES: [&str; 8] =
    ["f32x2", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2", "e2m1x4", "e2m3x4", "e3m2x4"];

fn operation(check: &mut Check<'_, '_>) -> Result<Op> {
    let opcode = check.opcode();
    let newer = |name: &str| NEWER_TYPES.iter().find(|newer| **newer == name);
    if let Some(ty) = check.written.modifiers.iter().find_map(|word| newer(word.text)) {
        return Err(not_emulated(check).help(format!(
            "`.{ty}` came with sm_100, and the emulated card is of compute capability 9.0: write one \
             instruction for each element"
        )));
    }
    let video = || VIDEO.contains(&opcode).then(|| (video::video as Rule, video::since(opcode)));
    let rule = RULES.iter().find(|(name, ..)| *name == opcode);
    let rule = rule.map(|&(_, rule, target, version)| (rule, (target, version))).or_else(video);
    if let Some((rule, base)) = rule {
        let op = rule(check)?;
        let (target, version) = since::form(&check.context.module, check.written, base);
        check.require(target, version)?;
        return Ok(op);
    }
    if UNSUPPORTED.contains(&opcode) {
        return unsupported(check);
    }
    Err(unknown(check))
}

/// An instruction that PTX has, but that is not emulated.
fn unsupported(check: &mut Check<'_, '_>) -> Result<Op> {
    Err(not_emulated(check))
}

pub(super) fn not_emulated(check: &Check<'_, '_>) -> Problem {
    let words = || check.written.modifiers.iter().map(|word| word.text);
    let instead = match check.opcode() {
        "wgmma" | "tcgen05" => {
            "multiply with mma.sync, whose matrices are in the registers of one warp"
        }
        "mapa" | "getctarank" | "multimem" | "clusterlaunchcontrol" => {
            "blocks form no clusters here: let them meet in global memory"
        }
        "barrier" if words().any(|word| word == "cluster") => {
            "blocks form no clusters here: let them meet in global memory"
        }
        "tensormap" => "copy with cp.async, or with loads and stores",
        "cp" if words().any(|word| word == "tensor") => {
            "copy with cp.async, or with loads and stores"
        }
        _ => "run this kernel on a GPU, or write it with loads, arithmetic, shuffles and stores",
    };
    Problem::new(check.name_span(), format!("`{}` is not emulated", check.title()))
        .label("an instruction of PTX, but not one of the emulator's")
        .help(instead)
}

fn unknown(check: &Check<'_, '_>) -> Problem {
    let opcode = check.opcode();
    let problem =
        Problem::new(check.written.opcode.span, format!("unknown instruction `{opcode}`"));
    if opcode.starts_with("__") {
        return problem.help(format!(
            "`{opcode}` is a function of CUDA C, not an instruction of PTX{}",
            intrinsic(opcode).map_or(String::new(), |ptx| format!(": write {ptx}"))
        ));
    }
    let lower = opcode.to_ascii_lowercase();
    let known = instructions().find(|name| *name == lower);
    match known.or_else(|| closest(&lower, instructions())) {
        Some(close) => problem.help(format!("did you mean `{close}`?")),
        None => problem.help("the instructions are listed in the PTX ISA, \"Instruction Set\""),
    }
}

/// The instruction behind a well-known intrinsic of CUDA C.
pub(crate) fn intrinsic(name: &str) -> Option<String> {
    let rounding = |name: &str| {
        ["rn", "rz", "ru", "rd"]
            .into_iter()
            .find(|rounding| name.ends_with(&format!("_{rounding}")))
            .map(|rounding| match rounding {
                "ru" => "rp",
                "rd" => "rm",
                other => other,
            })
    };
    let c_type = |name: &str| {
        Some(match name {
            "float" => "f32",
            "double" => "f64",
            "int" => "s32",
            "uint" => "u32",
            "ll" => "s64",
            "ull" => "u64",
            "half" => "f16",
            _ => return None,
        })
    };
    let text = name.strip_prefix("__")?;
    if let Some((from, to)) = text.split_once('2') {
        let round = rounding(to)?;
        let to = c_type(&to[..to.len() - 3])?;
        let from = c_type(from)?;
        let integer = if to.starts_with('f') { "" } else { "i" };
        return Some(format!("cvt.{round}{integer}.{to}.{from}"));
    }
    Some(
        match text {
            "syncthreads" => "bar.sync 0",
            "syncwarp" => "bar.warp.sync 0xffffffff",
            "threadfence" => "membar.gl",
            "threadfence_block" => "membar.cta",
            "threadfence_system" => "membar.sys",
            "shfl_sync" => "shfl.sync.idx.b32",
            "shfl_xor_sync" => "shfl.sync.bfly.b32",
            "shfl_down_sync" => "shfl.sync.down.b32",
            "shfl_up_sync" => "shfl.sync.up.b32",
            "ballot_sync" => "vote.sync.ballot.b32",
            "activemask" => "activemask.b32",
            "popc" => "popc.b32",
            "clz" => "clz.b32",
            "brev" => "brev.b32",
            "expf" => "mul.f32 by 0f3FB8AA3B (log2 e) and ex2.approx.f32",
            "logf" => "lg2.approx.f32 and mul.f32 by 0f3F317218 (ln 2)",
            "sinf" => "sin.approx.f32",
            "cosf" => "cos.approx.f32",
            "fdividef" => "div.approx.f32",
            "fmaf_rn" => "fma.rn.f32",
            "fadd_rn" => "add.rn.f32",
            "fmul_rn" => "mul.rn.f32",
            "mulhi" => "mul.hi.s32",
            "umulhi" => "mul.hi.u32",
            "ldg" => "ld.global.nc",
            _ => return None,
        }
        .to_owned(),
    )
}

/// The types of integer arithmetic.
pub(super) const INTEGERS: [Type; 6] =
    [Type::U16, Type::U32, Type::U64, Type::S16, Type::S32, Type::S64];

/// The packed and alternate floating-point types of half precision.
pub(super) const HALVES: [Type; 4] = [Type::F16, Type::F16x2, Type::Bf16, Type::Bf16x2];

/// An untyped type of that many bits.
pub(super) fn untyped(bits: u32) -> Type {
    match bits {
        8 => Type::B8,
        16 => Type::B16,
        32 => Type::B32,
        128 => Type::B128,
        _ => Type::B64,
    }
}

/// The type that is still to be taken, for instructions whose rules depend on it.
pub(super) fn is_float_form(check: &Check<'_, '_>) -> bool {
    check.modifiers.peek_type().is_some_and(types::is_float)
}
