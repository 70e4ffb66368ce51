//! `atom` and `red` (PTX ISA, "Parallel Synchronization and Communication Instructions").

use crate::diagnostic::Problem;
use crate::program::{Address, Atomic, Op, Operand, Ordering, Register, Scope, Space, Type};

use super::memory::{SCOPES, check_count};
use crate::check::context::Result;
use crate::check::modifiers::dotted;
use crate::check::operands::{Check, Width};
use crate::check::types;
use crate::syntax::OperandKind;

const ORDERINGS: [(&str, Ordering); 4] = [
    ("relaxed", Ordering::Relaxed),
    ("acquire", Ordering::Acquire),
    ("release", Ordering::Release),
    ("acq_rel", Ordering::AcquireRelease),
];

/// The types that an operation on `lanes` elements accepts (PTX ISA, "atom").
fn types_of(op: Atomic, lanes: usize, reduction: bool) -> &'static str {
    match (op, lanes) {
        (Atomic::Add, 1) => "u32|s32|u64|f32|f64|half",
        (Atomic::Min | Atomic::Max, 1) => "u32|s32|u64|s64",
        (Atomic::And | Atomic::Or | Atomic::Xor, 1) => "b32|b64",
        (Atomic::Inc | Atomic::Dec, 1) => "u32",
        (Atomic::Exchange, 1) if !reduction => "b32|b64|b128",
        (_, 1) => "b16|b32|b64|b128",
        (Atomic::Add, 2 | 4) => "f32|f16|bf16|f16x2|bf16x2",
        (Atomic::Add | Atomic::Min | Atomic::Max, 8) => "f16|bf16",
        (Atomic::Min | Atomic::Max, _) => "f16|bf16|f16x2|bf16x2",
        _ => "",
    }
}

/// `atom`, and `red`, which returns nothing.
pub(super) fn atomic(check: &mut Check<'_, '_>) -> Result<Op> {
    if ["async", "bulk"].iter().any(|name| check.modifiers.has(name)) {
        return Err(super::not_emulated(check));
    }
    let reduction = check.opcode() == "red";
    let orders = if reduction { "{relaxed|release}" } else { "{relaxed|acquire|release|acq_rel}" };
    let ordering = check.take(orders)?.choice(&ORDERINGS).unwrap_or(Ordering::Relaxed);
    let scope = check.modifiers.take_one_of(&SCOPES).unwrap_or(Scope::Gpu);
    let space = check.space("global|shared|shared::cta|shared::cluster");
    let operations = if reduction { &Atomic::NAMED[..8] } else { Atomic::NAMED };
    let op = check.modifiers.require_one_of("an operation", operations)?;
    let lanes = check.modifiers.take_one_of(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
    let list = types_of(op, lanes, reduction);
    let ty = check.modifiers.ty(list).map_err(|problem| {
        let names: Vec<&str> = types::expand_list(list).collect();
        problem.help(format!("this operation exists for {}", dotted(&names)))
    })?;
    let global = matches!(space, Space::Global | Space::Generic);
    let help = "write one instruction for each element";
    check.reject_if(lanes > 1 && !global, "vectors are for global memory only", help)?;
    let half = matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2);
    if half && !check.modifiers.flag("noftz") {
        let help = "add .noftz: additions in half precision keep subnormal numbers";
        return Err(check.error(format!("`{}` needs `.noftz`", check.title()), help));
    }
    let policy = global && check.modifiers.flag("L2::cache_hint");
    operands(check, &AtomicModifiers { reduction, op, ty, lanes, policy, space, ordering, scope })
}

/// The modifiers of `atom` or `red`.
struct AtomicModifiers {
    reduction: bool,
    op: Atomic,
    ty: Type,
    /// The number of elements. Each is a separate atomic operation.
    lanes: usize,
    /// Whether a cache policy follows the operands. It is ignored, because no caches are emulated.
    policy: bool,
    space: Space,
    ordering: Ordering,
    scope: Scope,
}

fn operands(check: &mut Check<'_, '_>, modifiers: &AtomicModifiers) -> Result<Op> {
    let &AtomicModifiers { reduction, op, ty, lanes, policy, space, ordering, scope } = modifiers;
    let swap = op == Atomic::CompareAndSwap;
    let is_address = |index: usize| {
        matches!(
            check.written.operands.get(index).map(|operand| &operand.kind),
            Some(OperandKind::Address(..))
        )
    };
    if !reduction && is_address(0) {
        let mut help =
            "give a register that takes the old value, or `_`, before the address".to_owned();
        if !swap && op != Atomic::Exchange {
            let rest = check.title();
            help = format!(
                "write {}, which returns nothing; or give a register for the old value, or `_`, before the address",
                rest.replacen("atom", "red", 1)
            );
        }
        return Err(Problem::new(
            check.operand(0)?.span,
            format!("`{}` is missing its destination", check.title()),
        )
        .label("the old value goes before the address")
        .help(help));
    }
    if reduction && is_address(1) {
        return Err(check.operand_error(
            0,
            "`red` returns nothing",
            format!("remove this operand, or write {}", check.title().replacen("red", "atom", 1)),
        ));
    }
    check.shape(match (reduction, swap, policy) {
        (true, _, false) => "[a], b",
        (true, _, true) => "[a], b, policy",
        (false, false, false) => "d, [a], b",
        (false, false, true) => "d, [a], b, policy",
        (false, true, false) => "d, [a], b, c",
        (false, true, true) => "d, [a], b, c, policy",
    })?;
    if policy {
        check.source(check.count() - 1, Type::U64)?;
    }
    if lanes > 1 {
        return elements(check, modifiers);
    }
    let at = usize::from(!reduction);
    let written = check.written;
    let d = if reduction {
        None
    } else {
        Some(check.destination_or_sink(&written.operands[0], ty, Width::Exact)?)
    };
    let address = check.address(at, space)?;
    let b = check.source(at + 1, ty)?;
    let c = if swap { Some(check.source(at + 2, ty)?) } else { None };
    Ok(Op::Atomic { op, space, ordering, scope, ty, d, address, b, c })
}

/// A vector: one operation for each element, in order. Each element is atomic, the vector as a whole is not.
fn elements(check: &mut Check<'_, '_>, modifiers: &AtomicModifiers) -> Result<Op> {
    let &AtomicModifiers { reduction, op, ty, lanes, space, ordering, scope, .. } = modifiers;
    let at = usize::from(!reduction);
    let address = check.address(at, space)?;
    let mut old = Vec::new();
    if !reduction {
        let parts = check.parts(0)?;
        check_count(check, 0, parts.len(), lanes)?;
        for part in &parts {
            old.push(check.part_destination(part, ty, Width::Exact)?);
        }
    }
    let parts = check.parts(at + 1)?;
    check_count(check, at + 1, parts.len(), lanes)?;
    let mut ops = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let b = check.part_source(part, ty, Width::Exact)?;
        let written = |d: &Option<Register>| d.is_some_and(|d| b == Operand::Register(d));
        if old.iter().take(index).any(written) {
            let span = check.operand(0)?.span;
            return Err(Problem::new(span, "an old value would overwrite an operand")
                .help("take other registers for the old values"));
        }
        let offset = address.offset.wrapping_add(index as i64 * ty.bytes() as i64);
        let address = Address { offset, ..address };
        let d = old.get(index).copied();
        ops.push(Op::Atomic { op, space, ordering, scope, ty, d, address, b, c: None });
    }
    let last = ops.pop();
    check.before.extend(ops);
    last.ok_or_else(|| super::not_emulated(check))
}
