//! Checks of each instruction: its modifiers, types and operands (PTX ISA, "Instruction Set").

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
mod form;
mod matrix;
mod mbarrier;
mod memory;
mod moves;
mod rows;
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
use super::context::{ModuleContext, Result};
use super::modifiers::Modifiers;
use super::operands::Check;
use super::since;

pub use rows::instructions;

/// Checks one instruction, and returns the operations that it expands to.
pub(super) fn check<'a>(
    body: &mut Body<'a>,
    context: &mut ModuleContext<'a>,
    written: &Instruction<'a>,
) -> Result<Vec<Op>> {
    let modifiers = Modifiers::new(written);
    let mut check = Check { body, context, written, modifiers, before: Vec::new() };
    let op = operation(&mut check)?;
    let mut ops = check.before;
    ops.push(op);
    Ok(ops)
}

/// Instructions of PTX that are not emulated.
const UNSUPPORTED: [&str; 7] =
    ["clusterlaunchcontrol", "getctarank", "mapa", "multimem", "tcgen05", "tensormap", "wgmma"];

/// Types that came with sm_100 and are therefore not emulated.
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
    if let Some(found) = rows::check(check) {
        let (op, base) = found?;
        let (target, version) = since::first_of_form(&check.context.module, check.written, base);
        check.require(target, version)?;
        return Ok(op);
    }
    if UNSUPPORTED.contains(&opcode) {
        return Err(not_emulated(check));
    }
    Err(unknown(check))
}

/// The error for a valid PTX instruction that is not emulated.
fn not_emulated(check: &Check<'_, '_>) -> Problem {
    let words = || check.written.modifiers.iter().map(|word| word.text);
    let instead = match check.opcode() {
        "wgmma" | "tcgen05" => {
            "multiply with mma.sync, whose matrices are in the registers of one warp"
        }
        "mapa" | "getctarank" | "multimem" | "clusterlaunchcontrol" => {
            "clusters are not emulated: let blocks communicate through global memory"
        }
        "barrier" if words().any(|word| word == "cluster") => {
            "clusters are not emulated: let blocks communicate through global memory"
        }
        "tensormap" => "copy with cp.async, or with loads and stores",
        "cp" if words().any(|word| word == "tensor") => {
            "copy with cp.async, or with loads and stores"
        }
        _ => "run this kernel on a GPU, or write it with loads, arithmetic, shuffles and stores",
    };
    Problem::new(check.name_span(), format!("`{}` is not emulated", check.title()))
        .label("a valid PTX instruction that the emulator doesn't support")
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

/// The PTX equivalent of a well-known CUDA C intrinsic.
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

/// The untyped type with this number of bits.
fn untyped(bits: u32) -> Type {
    match bits {
        8 => Type::B8,
        16 => Type::B16,
        32 => Type::B32,
        128 => Type::B128,
        _ => Type::B64,
    }
}
