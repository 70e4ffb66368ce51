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

/// The instructions that are emulated.
const RULES: [(&str, Rule); 105] = [
    ("abs", arithmetic::abs),
    ("activemask", warp::activemask),
    ("add", arithmetic::add),
    ("addc", arithmetic::addc),
    ("alloca", control::alloca),
    ("and", bits::and),
    ("applypriority", cache::hint),
    ("atom", atomic::atom),
    ("bar", sync::bar),
    ("barrier", sync::bar),
    ("bfe", bits::bfe),
    ("bfi", bits::bfi),
    ("bfind", bits::bfind),
    ("bmsk", bits::bmsk),
    ("bra", control::bra),
    ("brev", bits::brev),
    ("brkpt", control::brkpt),
    ("brx", control::brx),
    ("call", control::call),
    ("clz", bits::clz),
    ("cnot", bits::cnot),
    ("copysign", float::copysign),
    ("cos", float::cos),
    ("cp", copy::cp),
    ("createpolicy", cache::createpolicy),
    ("cvt", convert::cvt),
    ("cvta", moves::cvta),
    ("discard", cache::hint),
    ("div", arithmetic::div),
    ("dp2a", bits::dp2a),
    ("dp4a", bits::dp4a),
    ("elect", warp::elect),
    ("ex2", float::ex2),
    ("exit", control::exit),
    ("fence", sync::fence),
    ("fma", float::fma),
    ("fns", bits::fns),
    ("griddepcontrol", control::griddepcontrol),
    ("isspacep", moves::isspacep),
    ("istypep", texture::istypep),
    ("ld", memory::ld),
    ("ldmatrix", matrix::ldmatrix),
    ("ldu", memory::ldu),
    ("lg2", float::lg2),
    ("lop3", bits::lop3),
    ("mad", arithmetic::mad),
    ("mad24", arithmetic::mad24),
    ("madc", arithmetic::madc),
    ("match", warp::matches),
    ("max", arithmetic::max),
    ("mbarrier", mbarrier::mbarrier),
    ("membar", sync::membar),
    ("min", arithmetic::min),
    ("mma", matrix::mma),
    ("mov", moves::mov),
    ("movmatrix", matrix::movmatrix),
    ("mul", arithmetic::mul),
    ("mul24", arithmetic::mul24),
    ("nanosleep", control::nanosleep),
    ("neg", arithmetic::neg),
    ("not", bits::not),
    ("or", bits::or),
    ("pmevent", control::pmevent),
    ("popc", bits::popc),
    ("prefetch", cache::hint),
    ("prefetchu", cache::hint),
    ("prmt", bits::prmt),
    ("rcp", float::rcp),
    ("red", atomic::red),
    ("redux", warp::redux),
    ("rem", arithmetic::rem),
    ("ret", control::ret),
    ("rsqrt", float::rsqrt),
    ("sad", arithmetic::sad),
    ("selp", compare::selp),
    ("set", compare::set),
    ("setmaxnreg", control::setmaxnreg),
    ("setp", compare::setp),
    ("shf", bits::shf),
    ("shfl", warp::shfl),
    ("shl", bits::shl),
    ("shr", bits::shr),
    ("sin", float::sin),
    ("slct", compare::slct),
    ("sqrt", float::sqrt),
    ("st", memory::st),
    ("stackrestore", control::stackrestore),
    ("stacksave", control::stacksave),
    ("stmatrix", matrix::stmatrix),
    ("sub", arithmetic::sub),
    ("subc", arithmetic::subc),
    ("suld", surface::suld),
    ("suq", texture::suq),
    ("sured", surface::sured),
    ("sust", surface::sust),
    ("szext", bits::szext),
    ("tanh", float::tanh),
    ("testp", float::testp),
    ("tex", texture::tex),
    ("tld4", texture::tld4),
    ("trap", control::trap),
    ("txq", texture::txq),
    ("vote", warp::vote),
    ("wmma", wmma::wmma),
    ("xor", bits::xor),
];

/// The names of the instructions that are emulated, without modifiers.
pub fn instructions() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(name, _)| *name).chain(VIDEO)
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
    if let Some((_, rule)) = RULES.iter().find(|(name, _)| *name == opcode) {
        return rule(check);
    }
    if VIDEO.contains(&opcode) {
        return video::video(check);
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
    match closest(&lower, instructions()) {
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

/// Where the half-precision types came in, for an instruction that has both.
pub(super) fn require_half(check: &Check<'_, '_>, ty: Type, f16: u32, bf16: u32) -> Result<()> {
    match ty {
        Type::F16 | Type::F16x2 => {
            let version = if f16 >= 75 { (7, 0) } else { (4, 2) };
            check.require(f16, version)
        }
        Type::Bf16 | Type::Bf16x2 => {
            let version = if bf16 >= 90 { (7, 8) } else { (7, 0) };
            check.require(bf16, version)
        }
        _ => Ok(()),
    }
}

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
