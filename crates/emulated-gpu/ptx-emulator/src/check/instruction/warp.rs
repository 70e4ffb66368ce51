//! Special rules for warp-wide collectives: shuffles, votes and reductions (PTX ISA, "Parallel Synchronization
//! and Communication Instructions").

use crate::check::context::Result;
use crate::check::operands::Check;
use crate::program::{Atomic, Op, Shuffle, Type, Vote};

/// Checks the number of operands. The forms without `.sync` were removed for sm_70 and later.
fn shape(check: &Check<'_, '_>, sync: bool, shapes: [&'static str; 2]) -> Result<()> {
    if !sync && check.context.module.target >= 70 && check.context.module.version >= (6, 4) {
        return Err(check.error(
            format!("`{}` needs `.sync` from sm_70 on", check.title()),
            format!(
                "write {}.sync and a mask of the lanes that take part as the last operand, such as 0xffffffff",
                check.opcode()
            ),
        ));
    }
    check.shape(shapes[usize::from(sync)])
}

pub(super) fn shfl(check: &mut Check<'_, '_>) -> Result<Op> {
    let sync = check.modifiers.flag("sync");
    let modes = [
        ("up", Shuffle::Up),
        ("down", Shuffle::Down),
        ("bfly", Shuffle::Butterfly),
        ("idx", Shuffle::Index),
    ];
    let mode = check.modifiers.require_one_of("a mode", &modes)?;
    let ty = check.modifiers.ty("b32")?;
    shape(check, sync, ["d|p, a, lane, clamp", "d|p, a, lane, clamp, mask"])?;
    let (d, p) = check.destination_pair(0, ty)?;
    if d.is_none() {
        let help = "name a register; only the predicate may be `_`";
        return Err(check.operand_error(0, "a shuffle can't discard its result", help));
    }
    let a = check.source(1, ty)?;
    let (lane, clamp) = (check.source(2, Type::B32)?, check.source(3, Type::B32)?);
    let mask = if sync { Some(check.source(4, Type::B32)?) } else { None };
    Ok(Op::Shuffle { mode, d, p, a, lane, clamp, mask })
}

pub(super) fn vote(check: &mut Check<'_, '_>) -> Result<Op> {
    let sync = check.modifiers.flag("sync");
    let modes =
        [("all", Vote::All), ("any", Vote::Any), ("uni", Vote::Uniform), ("ballot", Vote::Ballot)];
    let mode = check.modifiers.require_one_of("a mode", &modes)?;
    let ty = check.modifiers.ty(if mode == Vote::Ballot { "b32" } else { "pred" })?;
    shape(check, sync, ["d, a", "d, a, mask"])?;
    let d = check.destination(0, ty)?;
    let a = check.predicate(1)?;
    let mask = if sync { Some(check.source(2, Type::B32)?) } else { None };
    Ok(Op::Vote { mode, d, a, mask })
}

pub(super) fn redux(check: &mut Check<'_, '_>) -> Result<Op> {
    check.take("sync")?;
    let op = check.modifiers.require_one_of("an operation", &Atomic::NAMED[..6])?;
    if check.modifiers.peek_type() == Some(Type::F32) {
        return Err(super::not_emulated(check).help(
            "`redux` of .f32 came with sm_100, and the emulated card is of compute capability 9.0: add up \
             with shfl.sync",
        ));
    }
    let bits = matches!(op, Atomic::And | Atomic::Or | Atomic::Xor);
    let form = if bits {
        check.form(".b32", "d:u32, a:u32, mask:b32")?
    } else {
        check.form(".u32|s32", "d, a, mask:b32")?
    };
    Ok(Op::Reduce { op, ty: form.ty, d: form.d, a: form.a, mask: form.b })
}

pub(super) fn elect(check: &mut Check<'_, '_>) -> Result<Op> {
    check.take("sync")?;
    check.shape("d|p, mask")?;
    if !check.is_pair(0) {
        let help = "write d|p, or _|p: which lane is elected, and whether it is this one";
        return Err(check.operand_error(0, "a predicate is missing", help));
    }
    let (d, p) = check.destination_pair(0, Type::U32)?;
    Ok(Op::Elect { d, p, mask: check.source(1, Type::B32)? })
}
