//! What the lanes of a warp do together: shuffles, votes, matches, reductions (PTX ISA, "Parallel
//! Synchronization and Communication Instructions").

use crate::diagnostic::Problem;
use crate::program::{Atomic, Op, Shuffle, Type, Vote};

use crate::check::context::Result;
use crate::check::operands::Check;

/// The forms without `.sync` are gone from sm_70 on.
fn without_sync(check: &Check<'_, '_>) -> Result<()> {
    if check.context.module.target >= 70 && check.context.module.version >= (6, 4) {
        return Err(Problem::new(check.name_span(), format!("`{}` needs `.sync` from sm_70 on", check.title()))
            .help(format!(
                "write {}.sync and a mask of the lanes that take part as the last operand, such as 0xffffffff",
                check.opcode()
            )));
    }
    Ok(())
}

pub(super) fn shfl(check: &mut Check<'_, '_>) -> Result<Op> {
    let sync = check.modifiers.flag("sync");
    let modes = [
        ("up", Shuffle::Up),
        ("down", Shuffle::Down),
        ("bfly", Shuffle::Butterfly),
        ("idx", Shuffle::Index),
    ];
    let mode = check.modifiers.need("a mode", &modes)?;
    let ty = check.modifiers.ty(&[Type::B32])?;
    if sync {
        check.shape("d|p, a, lane, clamp, mask")?;
    } else {
        without_sync(check)?;
        check.shape("d|p, a, lane, clamp")?;
    }
    let (d, p) = check.destination_pair(0, ty)?;
    if d.is_none() {
        return Err(Problem::new(check.operand(0)?.span, "a shuffle can't throw its result away")
            .help("name a register; only the predicate may be `_`"));
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
    let mode = check.modifiers.need("a mode", &modes)?;
    let ty = if mode == Vote::Ballot { Type::B32 } else { Type::Pred };
    check.modifiers.ty(&[ty])?;
    if sync {
        check.shape("d, a, mask")?;
    } else {
        without_sync(check)?;
        check.shape("d, a")?;
    }
    let d = check.destination(0, ty)?;
    let a = check.predicate(1)?;
    let mask = if sync { Some(check.source(2, Type::B32)?) } else { None };
    Ok(Op::Vote { mode, d, a, mask })
}

pub(super) fn matches(check: &mut Check<'_, '_>) -> Result<Op> {
    let all = check.modifiers.need("a mode", &[("any", false), ("all", true)])?;
    check.modifiers.need("`.sync`", &[("sync", ())])?;
    let ty = check.modifiers.ty(&[Type::B32, Type::B64])?;
    check.shape(if all { "d|p, a, mask" } else { "d, a, mask" })?;
    let (d, p) = if all {
        check.destination_pair(0, Type::U32)?
    } else {
        (check.destination(0, Type::U32)?, None)
    };
    Ok(Op::Match { all, ty, d, p, a: check.source(1, ty)?, mask: check.source(2, Type::B32)? })
}

pub(super) fn activemask(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&[Type::B32])?;
    check.shape("d")?;
    Ok(Op::ActiveMask { d: check.destination(0, ty)? })
}

pub(super) fn redux(check: &mut Check<'_, '_>) -> Result<Op> {
    check.modifiers.need("`.sync`", &[("sync", ())])?;
    let operations = [
        ("add", Atomic::Add),
        ("min", Atomic::Min),
        ("max", Atomic::Max),
        ("and", Atomic::And),
        ("or", Atomic::Or),
        ("xor", Atomic::Xor),
    ];
    let op = check.modifiers.need("an operation", &operations)?;
    if check.modifiers.peek_type() == Some(Type::F32) {
        return Err(super::not_emulated(check).help(
            "`redux` of .f32 came with sm_100, and the emulated card is of compute capability 9.0: add up \
             with shfl.sync",
        ));
    }
    let bits = matches!(op, Atomic::And | Atomic::Or | Atomic::Xor);
    let ty = check.modifiers.ty(if bits { &[Type::B32] } else { &[Type::U32, Type::S32] })?;
    check.shape("d, a, mask")?;
    let held = if bits { Type::U32 } else { ty };
    let d = check.destination(0, held)?;
    Ok(Op::Reduce { op, ty, d, a: check.source(1, held)?, mask: check.source(2, Type::B32)? })
}

pub(super) fn elect(check: &mut Check<'_, '_>) -> Result<Op> {
    check.modifiers.need("`.sync`", &[("sync", ())])?;
    check.shape("d|p, mask")?;
    if !check.is_pair(0) {
        return Err(Problem::new(check.operand(0)?.span, "a predicate is missing")
            .help("write d|p, or _|p: which lane is elected, and whether it is this one"));
    }
    let (d, p) = check.destination_pair(0, Type::U32)?;
    Ok(Op::Elect { d, p, mask: check.source(1, Type::B32)? })
}
