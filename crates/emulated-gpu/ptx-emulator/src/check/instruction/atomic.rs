//! `atom` and `red` (PTX ISA, "Parallel Synchronization and Communication Instructions").

use crate::diagnostic::Problem;
use crate::program::{Address, Atomic, Op, Operand, Ordering, Register, Scope, Space, Type};

use super::memory::{SCOPES, check_count};
use crate::check::context::Result;
use crate::check::modifiers::dotted;
use crate::check::operands::{Check, Width};
use crate::check::types;
use crate::syntax::OperandKind;

const OPERATIONS: [(&str, Atomic); 10] = [
    ("add", Atomic::Add),
    ("min", Atomic::Min),
    ("max", Atomic::Max),
    ("and", Atomic::And),
    ("or", Atomic::Or),
    ("xor", Atomic::Xor),
    ("inc", Atomic::Inc),
    ("dec", Atomic::Dec),
    ("exch", Atomic::Exchange),
    ("cas", Atomic::CompareAndSwap),
];

/// The types of an operation (PTX ISA, "atom").
fn types_of(op: Atomic, reduction: bool) -> &'static [Type] {
    match op {
        Atomic::Add => &[
            Type::U32,
            Type::S32,
            Type::U64,
            Type::F32,
            Type::F64,
            Type::F16,
            Type::F16x2,
            Type::Bf16,
            Type::Bf16x2,
        ],
        Atomic::Min | Atomic::Max => &[Type::U32, Type::S32, Type::U64, Type::S64],
        Atomic::And | Atomic::Or | Atomic::Xor => &[Type::B32, Type::B64],
        Atomic::Inc | Atomic::Dec => &[Type::U32],
        Atomic::Exchange if !reduction => &[Type::B32, Type::B64, Type::B128],
        _ => &[Type::B16, Type::B32, Type::B64, Type::B128],
    }
}

/// The types of the elements of a vector.
fn vector_types(op: Atomic, lanes: usize) -> &'static [Type] {
    const HALVES: [Type; 4] = [Type::F16, Type::Bf16, Type::F16x2, Type::Bf16x2];
    match (op, lanes) {
        (Atomic::Add, 2 | 4) => &[Type::F32, Type::F16, Type::Bf16, Type::F16x2, Type::Bf16x2],
        (Atomic::Add | Atomic::Min | Atomic::Max, 8) => &[Type::F16, Type::Bf16],
        (Atomic::Min | Atomic::Max, _) => &HALVES,
        _ => &[],
    }
}

pub(super) fn atom(check: &mut Check<'_, '_>) -> Result<Op> {
    atomic(check, false)
}

pub(super) fn red(check: &mut Check<'_, '_>) -> Result<Op> {
    atomic(check, true)
}

fn atomic(check: &mut Check<'_, '_>, reduction: bool) -> Result<Op> {
    if ["async", "bulk"].iter().any(|name| check.modifiers.has(name)) {
        return Err(super::not_emulated(check));
    }
    let orders = [
        ("relaxed", Ordering::Relaxed),
        ("acquire", Ordering::Acquire),
        ("release", Ordering::Release),
        ("acq_rel", Ordering::AcquireRelease),
    ];
    let ordering = if reduction {
        check.modifiers.pick(&[orders[0], orders[2]])
    } else {
        check.modifiers.pick(&orders)
    };
    let scope = check.modifiers.pick(&SCOPES);
    let spaces = [
        ("global", Space::Global),
        ("shared", Space::Shared),
        ("shared::cta", Space::Shared),
        ("shared::cluster", Space::Shared),
    ];
    let space = check.modifiers.pick(&spaces).unwrap_or(Space::Generic);
    let operations = if reduction { &OPERATIONS[..8] } else { &OPERATIONS[..] };
    let op = check.modifiers.need("an operation", operations)?;
    let lanes = check.modifiers.pick(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
    let list = if lanes == 1 { types_of(op, reduction) } else { vector_types(op, lanes) };
    let ty = check.modifiers.ty(list).map_err(|problem| {
        let names: Vec<&str> = list.iter().map(|ty| types::name(*ty)).collect();
        problem.help(format!("this operation exists for {}", dotted(&names)))
    })?;
    if lanes > 1 && !matches!(space, Space::Global | Space::Generic) {
        return Err(Problem::new(check.name_span(), "vectors are for global memory only")
            .help("write one instruction for each element"));
    }
    let half = matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2);
    let noftz = half && check.modifiers.flag("noftz");
    if half && !noftz {
        return Err(Problem::new(check.name_span(), format!("`{}` needs `.noftz`", check.title()))
            .help("add .noftz: additions in half precision keep subnormal numbers"));
    }
    let policy =
        matches!(space, Space::Global | Space::Generic) && check.modifiers.flag("L2::cache_hint");
    let modifiers = AtomicModifiers {
        reduction,
        op,
        ty,
        lanes,
        policy,
        space,
        ordering: ordering.unwrap_or(Ordering::Relaxed),
        scope: scope.unwrap_or(Scope::Gpu),
    };
    operands(check, &modifiers)
}

/// What the modifiers have said.
struct AtomicModifiers {
    reduction: bool,
    op: Atomic,
    ty: Type,
    /// Elements, each of them an atomic operation of its own.
    lanes: usize,
    /// A cache policy follows the operands; there are no caches.
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
            "give a register that takes the old value, or `_`, in front of the address".to_owned();
        if !swap && op != Atomic::Exchange {
            let rest = check.title();
            help = format!(
                "write {}, which returns nothing; or give a register for the old value, or `_`, in front of the address",
                rest.replacen("atom", "red", 1)
            );
        }
        return Err(Problem::new(
            check.operand(0)?.span,
            format!("`{}` lacks its destination", check.title()),
        )
        .label("the old value goes in front of the address")
        .help(help));
    }
    if reduction && is_address(1) {
        return Err(Problem::new(check.operand(0)?.span, "`red` returns nothing").help(format!(
            "remove this operand, or write {}",
            check.title().replacen("red", "atom", 1)
        )));
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

/// A vector: one operation for each element, in their order. Only each of them is atomic.
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
        let offset = address.offset.wrapping_add(index as i64 * types::bytes(ty) as i64);
        let address = Address { offset, ..address };
        let d = old.get(index).copied();
        ops.push(Op::Atomic { op, space, ordering, scope, ty, d, address, b, c: None });
    }
    let last = ops.pop();
    check.before.extend(ops);
    last.ok_or_else(|| super::not_emulated(check))
}
