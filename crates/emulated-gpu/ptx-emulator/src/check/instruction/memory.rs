//! Special rules for loads and stores (PTX ISA, "Data Movement and Conversion Instructions").

use crate::check::context::Result;
use crate::check::operands::{Check, Width, is_sink};
use crate::program::{
    Address, LocalId, Op, Operand, Ordering, Parameter, Scope, Space, Symbol, Type,
};

pub(super) const SCOPES: [(&str, Scope); 4] =
    [("cta", Scope::Cta), ("cluster", Scope::Cluster), ("gpu", Scope::Gpu), ("sys", Scope::System)];

const ORDERINGS: [(&str, Ordering); 6] = [
    ("weak", Ordering::Weak),
    ("volatile", Ordering::Volatile),
    ("mmio", Ordering::Mmio),
    ("relaxed", Ordering::Relaxed),
    ("acquire", Ordering::Acquire),
    ("release", Ordering::Release),
];

/// The modifiers of a load or a store.
struct AccessModifiers {
    ordering: Ordering,
    scope: Option<Scope>,
    space: Space,
    /// Whether a cache policy follows the operands.
    policy: bool,
    lanes: usize,
    ty: Type,
}

/// Takes the modifiers of a load or a store with these memory orders, state spaces and cache operators.
fn access(
    check: &mut Check<'_, '_>,
    orderings: &'static str,
    spaces: &'static str,
    caches: &'static str,
) -> Result<AccessModifiers> {
    let ordering = check.take(orderings)?.choice(&ORDERINGS).unwrap_or(Ordering::Weak);
    let scope = scope(check, ordering)?;
    let space = check.space(spaces);
    // Private and constant memory can't be ordered.
    let message = "only .global and .shared memory can be ordered";
    let help = "remove the order and the scope";
    check.reject_if(
        ordering != Ordering::Weak && matches!(space, Space::Const | Space::Param | Space::Local),
        message,
        help,
    )?;
    check.reject_if(
        ordering == Ordering::Mmio && space == Space::Shared,
        "`.mmio` is for global memory",
        "write .relaxed without .mmio",
    )?;
    let nc = check.opcode() == "ld" && check.written.modifiers.iter().any(|word| word.text == "nc");
    let weak = check.written.modifiers.iter().any(|word| word.text == "weak");
    let message = "`.nc` is for ld.global only";
    let help = "write ld.global.nc, or remove .nc";
    check.reject_if(
        nc && (space != Space::Global || ordering != Ordering::Weak || weak),
        message,
        help,
    )?;
    let policy = cache_hints(check, ordering, space, if nc { "ca|cg|cs" } else { caches })?;
    let (lanes, ty) = vector(check, space)?;
    Ok(AccessModifiers { ordering, scope, space, policy, lanes, ty })
}

/// Takes the scope of a memory order.
fn scope(check: &mut Check<'_, '_>, ordering: Ordering) -> Result<Option<Scope>> {
    if ordering == Ordering::Mmio {
        check.take("relaxed = `.relaxed` together with `.mmio`")?;
    }
    let scope = check.modifiers.take_one_of(&SCOPES);
    let ordered = !matches!(ordering, Ordering::Weak | Ordering::Volatile);
    let message = "a scope goes with .relaxed, .acquire or .release";
    let help = "remove the scope, or name the order it is for";
    check.reject_if(!ordered && scope.is_some(), message, help)?;
    if ordered && scope.is_none() {
        let help = "add .cta, .cluster, .gpu or .sys: among whom the order holds";
        return Err(check.error(format!("`{}` needs a scope", check.title()), help));
    }
    let message = "`.mmio` goes with `.sys` only";
    let help = "write .mmio.relaxed.sys";
    check.reject_if(ordering == Ordering::Mmio && scope != Some(Scope::System), message, help)?;
    Ok(scope)
}

/// Checks cache hints, which are otherwise ignored. Returns whether a cache policy follows the operands.
fn cache_hints(
    check: &mut Check<'_, '_>,
    ordering: Ordering,
    space: Space,
    caches: &'static str,
) -> Result<bool> {
    let cache = check.modifiers.word(caches).is_some();
    let levels =
        "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate";
    let first = check.modifiers.word(levels).is_some();
    // Only a load can prefetch more than it needs.
    let loads = check.opcode() == "ld";
    let second = loads && check.modifiers.word("L2::64B|L2::128B|L2::256B").is_some();
    let global = matches!(space, Space::Global | Space::Generic);
    let help = "remove the cache modifier";
    check.reject_if(first && !global, "only .global memory has a first-level cache", help)?;
    check.reject_if(
        second && (!global || ordering == Ordering::Mmio),
        "only ld.global can ask for more than it needs",
        help,
    )?;
    let volatile = matches!(ordering, Ordering::Volatile | Ordering::Mmio);
    let message = "two ways to cache exclude each other";
    let help = "remove one of the cache modifiers";
    check.reject_if(
        cache && (first || ordering != Ordering::Weak) || first && volatile,
        message,
        help,
    )?;
    Ok(global && ordering != Ordering::Volatile && check.modifiers.flag("L2::cache_hint"))
}

/// `.v2`, `.v4` or `.v8`, and the type of the elements. A vector has at most 128 bits, or 256 from sm_100.
fn vector(check: &mut Check<'_, '_>, space: Space) -> Result<(usize, Type)> {
    let lanes = check.modifiers.take_one_of(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
    let ty = check.modifiers.ty("sized|b8|u8|s8|b128")?;
    let bits = ty.bits() as usize * lanes;
    if ty == Type::B128 {
        let message = "a vector of .b128 does not exist";
        check.reject_if(lanes > 1, message, "remove the .v2 or .v4")?;
        return Ok((lanes, ty));
    }
    let help = "access at most 128 bits: two or four elements";
    if lanes == 8 && bits != 256 || bits > 256 {
        return Err(check.error(format!("{bits} bits can't be accessed at once"), help));
    }
    if bits > 128 {
        let global = space == Space::Global;
        check.reject_if(!global, "256 bits are accessed in .global space only", help)?;
        check.require(100, (8, 8))?;
    }
    Ok((lanes, ty))
}

/// Returns an error if a vector has the wrong number of elements.
pub(super) fn check_count(
    check: &Check<'_, '_>,
    index: usize,
    found: usize,
    lanes: usize,
) -> Result<()> {
    if found == lanes {
        return Ok(());
    }
    let elements = if found == 1 { "1 element".into() } else { format!("{found} elements") };
    let message = format!("`{}` takes {lanes} here, found {elements}", check.title());
    Err(check.operand_error(
        index,
        message,
        match lanes {
            1 => "add .v2 or .v4 to move several at once".into(),
            _ => format!("write {lanes} registers in braces"),
        },
    ))
}

pub(super) fn ld(check: &mut Check<'_, '_>) -> Result<Op> {
    check.take("{nc}")?;
    let spaces =
        "global|shared|shared::cta|shared::cluster|local|param|param::func|const|param::entry";
    let access = access(check, "{weak|volatile|relaxed|mmio|acquire}", spaces, "ca|cg|cs|lu|cv")?;
    load(check, &access)
}

pub(super) fn ldu(check: &mut Check<'_, '_>) -> Result<Op> {
    let space = check.space("global");
    let (lanes, ty) = vector(check, space)?;
    let (ordering, scope, policy) = (Ordering::Weak, None, false);
    load(check, &AccessModifiers { ordering, scope, space, policy, lanes, ty })
}

fn load(check: &mut Check<'_, '_>, access: &AccessModifiers) -> Result<Op> {
    let &AccessModifiers { ordering, scope, space, policy, lanes, ty } = access;
    check.shape(if policy { "d, [a], policy" } else { "d, [a]" })?;
    cache_policy(check, policy)?;
    let parts = check.parts(0)?;
    check_count(check, 0, parts.len(), lanes)?;
    check.require_same_type(&parts)?;
    if lanes == 1 && is_sink(check.operand(0)?) {
        check.destination(0, ty)?;
    }
    let d = check.part_destinations(&parts, ty, Width::Relaxed)?;
    let address = check.address(1, space)?;
    if let Operand::Address(Symbol::Local(id), _) = address.base {
        if space == Space::Param && !is_input(check, id) {
            // This form of `ld.param` reads the result of a call.
            check.require(20, (2, 0))?;
        }
        let result = check.body.function.results.contains(&Parameter::Variable(id));
        let help = "keep the value in a register, and store it last";
        check.reject_operand_if(1, result, "a function can't read its result", help)?;
    }
    let load = Op::Load { space, ordering, scope, ty, d, address };
    let Some(mut parts) = check.body.used_bytes.and_then(|mask| used_parts(&load, mask)) else {
        return Ok(load);
    };
    let last = parts.pop().unwrap_or(load);
    check.before.extend(parts);
    Ok(last)
}

/// Splits a load that only uses the bytes in `mask`: the other bytes may not be readable, and elements without used
/// bytes keep their registers' values. `None` if all bytes are used. The load that overwrites the address register
/// comes last.
fn used_parts(load: &Op, mask: u32) -> Option<Vec<Op>> {
    let Op::Load { space, ordering, scope, ty, d, address } = load else { return None };
    let bytes = ty.bytes();
    let all = |bytes: u64| u32::MAX >> (32 - bytes.clamp(1, 32));
    if mask & all(bytes * d.len() as u64) == all(bytes * d.len() as u64) {
        return None;
    }
    let mut parts = Vec::new();
    for (index, &d) in d.iter().enumerate() {
        let first = index as u64 * bytes;
        let used = mask.checked_shr(first as u32).unwrap_or(0) & all(bytes);
        // If only the lower bytes of an element are used, only these bytes are loaded.
        let ty = match (ty, used) {
            (_, 0) => continue,
            (Type::B16 | Type::B32 | Type::B64, 0x1) => Type::B8,
            (Type::B32 | Type::B64, 0x2..=0x3) => Type::B16,
            (Type::B64, 0x4..=0xf) => Type::B32,
            _ => *ty,
        };
        let address = Address { offset: address.offset.wrapping_add_unsigned(first), ..*address };
        let (space, ordering, scope) = (*space, *ordering, *scope);
        parts.push(Op::Load { space, ordering, scope, ty, d: vec![d], address });
    }
    let writes_address = |part: &Op| {
        matches!(part, Op::Load { d, address, .. }
            if matches!((d.as_slice(), address.base),
                ([Some(d)], Operand::Register(base)) if *d == base))
    };
    parts.sort_by_key(writes_address);
    (!parts.is_empty()).then_some(parts)
}

/// Reads the operand of `.L2::cache_hint`, which must be a register.
fn cache_policy(check: &mut Check<'_, '_>, policy: bool) -> Result<()> {
    if policy {
        check.source(2, Type::U64)?;
    }
    Ok(())
}

pub(super) fn st(check: &mut Check<'_, '_>) -> Result<Op> {
    if check.modifiers.has("async") || check.modifiers.has("bulk") {
        return Err(super::not_emulated(check));
    }
    let spaces = "global|shared|shared::cta|shared::cluster|local|param|param::func";
    let access = access(check, "{weak|volatile|relaxed|mmio|release}", spaces, "wb|cg|cs|wt")?;
    let AccessModifiers { ordering, scope, space, policy, lanes, ty } = access;
    check.shape(if policy { "[a], b, policy" } else { "[a], b" })?;
    cache_policy(check, policy)?;
    let address = check.address(0, space)?;
    if let Operand::Address(Symbol::Local(id), _) = address.base {
        let input = space == Space::Param && is_input(check, id);
        let help = "keep the value in a register, or in a .local variable";
        check.reject_operand_if(0, input, "a function can't write its parameters", help)?;
    }
    let parts = check.parts(1)?;
    check_count(check, 1, parts.len(), lanes)?;
    check.require_same_type(&parts)?;
    let a = check.part_sources(&parts, ty, Width::Relaxed)?;
    Ok(Op::Store { space, ordering, scope, ty, address, a })
}

fn is_input(check: &Check<'_, '_>, id: LocalId) -> bool {
    check.body.function.parameters.contains(&Parameter::Variable(id))
}
