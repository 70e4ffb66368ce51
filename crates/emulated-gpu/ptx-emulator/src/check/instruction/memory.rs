//! Loads, stores and hints (PTX ISA, "Data Movement and Conversion Instructions").

use crate::diagnostic::Problem;
use crate::program::{Address, Op, Operand, Ordering, Scope, Space, Type};

use crate::check::context::Result;
use crate::check::operands::{Check, Width};
use crate::check::types;

pub(super) const SCOPES: [(&str, Scope); 4] =
    [("cta", Scope::Cta), ("cluster", Scope::Cluster), ("gpu", Scope::Gpu), ("sys", Scope::System)];

/// Cache hints mean nothing here, but have to be known ones.
fn hints(
    check: &mut Check<'_, '_>,
    ordering: Ordering,
    space: Space,
    caches: &[(&'static str, ())],
) -> Result<bool> {
    let cache = check.modifiers.pick(caches).is_some();
    let first = check
        .modifiers
        .pick(&[
            ("L1::evict_normal", ()),
            ("L1::evict_unchanged", ()),
            ("L1::evict_first", ()),
            ("L1::evict_last", ()),
            ("L1::no_allocate", ()),
        ])
        .is_some();
    // Only a load can ask for more than it needs.
    let prefetch = [("L2::64B", ()), ("L2::128B", ()), ("L2::256B", ())];
    let loads = check.opcode() == "ld";
    let second = loads && check.modifiers.pick(&prefetch).is_some();
    if first && !matches!(space, Space::Global | Space::Generic) {
        return Err(Problem::new(check.name_span(), "only .global memory has a first-level cache")
            .help("remove the cache modifier"));
    }
    if second && (!matches!(space, Space::Global | Space::Generic) || ordering == Ordering::Mmio) {
        return Err(Problem::new(
            check.name_span(),
            "only ld.global can ask for more than it needs",
        )
        .help("remove the cache modifier"));
    }
    let volatile = matches!(ordering, Ordering::Volatile | Ordering::Mmio);
    if cache && (first || ordering != Ordering::Weak) || first && volatile {
        return Err(Problem::new(check.name_span(), "two ways to cache exclude each other")
            .help("remove one of the cache modifiers"));
    }
    let hinted = matches!(space, Space::Global | Space::Generic) && ordering != Ordering::Volatile;
    Ok(hinted && check.modifiers.flag("L2::cache_hint"))
}

/// The orders that loads and stores have.
const ORDERINGS: [(&str, Ordering); 4] = [
    ("weak", Ordering::Weak),
    ("volatile", Ordering::Volatile),
    ("relaxed", Ordering::Relaxed),
    ("mmio", Ordering::Mmio),
];

/// The order among memory accesses, and the scope it has; `own` is the order that only loads or only
/// stores have.
fn ordering(
    check: &mut Check<'_, '_>,
    own: (&'static str, Ordering),
) -> Result<(Ordering, Option<Scope>)> {
    let ordering = check.modifiers.pick(&[&ORDERINGS[..], &[own]].concat());
    let ordering = ordering.unwrap_or(Ordering::Weak);
    if ordering == Ordering::Mmio {
        check.modifiers.need("`.relaxed` beside `.mmio`", &[("relaxed", ())])?;
    }
    let scope = check.modifiers.pick(&SCOPES);
    match (ordering, scope) {
        (Ordering::Weak | Ordering::Volatile, Some(_)) => {
            return Err(Problem::new(
                check.name_span(),
                "a scope goes with .relaxed, .acquire or .release",
            )
            .help("remove the scope, or name the order it is for"));
        }
        (Ordering::Weak | Ordering::Volatile, None) => {}
        (_, None) => {
            return Err(Problem::new(
                check.name_span(),
                format!("`{}` needs a scope", check.title()),
            )
            .help("add .cta, .cluster, .gpu or .sys: among whom the order holds"));
        }
        (Ordering::Mmio, Some(scope)) if scope != Scope::System => {
            return Err(Problem::new(check.name_span(), "`.mmio` goes with `.sys` only")
                .help("write .mmio.relaxed.sys"));
        }
        _ => {}
    }
    Ok((ordering, scope))
}

/// That memory of that space can be ordered at all: what is private or constant can't.
fn ordered_space(check: &Check<'_, '_>, ordering: Ordering, space: Space) -> Result<()> {
    if ordering != Ordering::Weak && matches!(space, Space::Const | Space::Param | Space::Local) {
        return Err(Problem::new(
            check.name_span(),
            "only .global and .shared memory can be ordered",
        )
        .help("remove the order and the scope"));
    }
    if ordering == Ordering::Mmio && space == Space::Shared {
        return Err(Problem::new(check.name_span(), "`.mmio` is for global memory")
            .help("write .relaxed without .mmio"));
    }
    Ok(())
}

/// The state spaces that are read and written.
const SPACES: [(&str, Space); 7] = [
    ("global", Space::Global),
    ("shared", Space::Shared),
    ("shared::cta", Space::Shared),
    ("shared::cluster", Space::Shared),
    ("local", Space::Local),
    ("param", Space::Param),
    ("param::func", Space::Param),
];

/// The state space of a load or store; none means generic. `own` are those that are only read.
fn space(check: &mut Check<'_, '_>, own: &[(&'static str, Space)]) -> Result<Space> {
    let space = check.modifiers.pick(&[&SPACES[..], own].concat());
    Ok(space.unwrap_or(Space::Generic))
}

/// `.v2`, `.v4`, `.v8`, whose elements together have at most 128 bits (256 from sm_100).
fn lanes(check: &mut Check<'_, '_>) -> Result<usize> {
    Ok(check.modifiers.pick(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1))
}

/// The type of what is moved; together the elements are not wider than what is accessed at once.
fn moved(check: &mut Check<'_, '_>, lanes: usize, space: Space) -> Result<Type> {
    let others = [Type::B8, Type::U8, Type::S8, Type::B128];
    let ty = check.modifiers.ty(&[&types::SIZED[..], &others].concat())?;
    check_lanes(check, ty, lanes, space)?;
    Ok(ty)
}

fn check_lanes(check: &Check<'_, '_>, ty: Type, lanes: usize, space: Space) -> Result<()> {
    let bits = types::bits(ty) as usize * lanes;
    if ty == Type::B128 {
        if lanes > 1 {
            return Err(Problem::new(check.name_span(), "a vector of .b128 does not exist")
                .help("remove the .v2 or .v4"));
        }
        return Ok(());
    }
    if lanes == 8 && bits != 256 || bits > 256 {
        return Err(Problem::new(
            check.name_span(),
            format!("{bits} bits can't be accessed at once"),
        )
        .help("access at most 128 bits: two or four elements"));
    }
    if bits > 128 {
        if space != Space::Global {
            return Err(Problem::new(
                check.name_span(),
                "256 bits are accessed in .global space only",
            )
            .help("access at most 128 bits: two or four elements"));
        }
        return check.require(100, (8, 8));
    }
    Ok(())
}

pub(super) fn check_count(
    check: &Check<'_, '_>,
    index: usize,
    found: usize,
    lanes: usize,
) -> Result<()> {
    if found == lanes {
        return Ok(());
    }
    let span = check.operand(index)?.span;
    let elements = if found == 1 { "1 element".into() } else { format!("{found} elements") };
    Err(Problem::new(span, format!("`{}` takes {lanes} here, found {elements}", check.title()))
        .help(if lanes == 1 {
            "add .v2 or .v4 to move several at once".into()
        } else {
            format!("write {lanes} registers in braces")
        }))
}

pub(super) fn ld(check: &mut Check<'_, '_>) -> Result<Op> {
    let nc = check.modifiers.flag("nc");
    let (ordering, scope) = ordering(check, ("acquire", Ordering::Acquire))?;
    let space = space(check, &[("const", Space::Const), ("param::entry", Space::Param)])?;
    ordered_space(check, ordering, space)?;
    let weak = check.written.modifiers.iter().any(|word| word.text == "weak");
    if nc && (space != Space::Global || ordering != Ordering::Weak || weak) {
        return Err(Problem::new(check.name_span(), "`.nc` is for ld.global only")
            .help("write ld.global.nc, or remove .nc"));
    }
    let caches = [("ca", ()), ("cg", ()), ("cs", ()), ("lu", ()), ("cv", ())];
    let policy = hints(check, ordering, space, if nc { &caches[..3] } else { &caches })?;
    load(check, space, ordering, scope, policy)
}

fn load(
    check: &mut Check<'_, '_>,
    space: Space,
    ordering: Ordering,
    scope: Option<Scope>,
    policy: bool,
) -> Result<Op> {
    let lanes = lanes(check)?;
    let ty = moved(check, lanes, space)?;
    check.shape(if policy { "d, [a], policy" } else { "d, [a]" })?;
    cache_policy(check, policy, 2)?;
    let parts = check.parts(0)?;
    check_count(check, 0, parts.len(), lanes)?;
    check.same_parts(&parts)?;
    if lanes == 1 && crate::check::operands::is_sink(check.operand(0)?) {
        check.destination(0, ty)?;
    }
    let d = parts
        .iter()
        .map(|part| check.part_destination(part, ty, Width::Relaxed))
        .collect::<Result<_>>()?;
    let address = check.address(1, space)?;
    if let Operand::Address(crate::program::Symbol::Local(id), _) = address.base
        && space == Space::Param
        && !is_input(check, id)
    {
        // What a call gave.
        check.require(20, (2, 0))?;
    }
    if let Operand::Address(crate::program::Symbol::Local(id), _) = address.base
        && check.body.function.results.contains(&crate::program::Parameter::Variable(id))
    {
        return Err(Problem::new(check.operand(1)?.span, "a function can't read its result")
            .help("keep the value in a register, and store it last"));
    }
    let load = Op::Load { space, ordering, scope, ty, d, address };
    let Some(mut parts) = check.body.used_bytes.and_then(|mask| used_parts(&load, mask)) else {
        return Ok(load);
    };
    let last = parts.pop().unwrap_or(load);
    check.before.extend(parts);
    Ok(last)
}

/// The loads that a load comes to of which only these bytes are used: the others may lie where nothing may
/// be read, and the registers of elements without any keep what they hold. `None` where it is the whole
/// load. The one that writes the register of the address is the last.
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
        // Of an element whose upper bytes nobody wants, the lower ones.
        let ty = match (ty, used) {
            (_, 0) => continue,
            (Type::B16 | Type::B32 | Type::B64, 0x1) => Type::B8,
            (Type::B32 | Type::B64, 0x2..=0x3) => Type::B16,
            (Type::B64, 0x4..=0xf) => Type::B32,
            _ => *ty,
        };
        let address = Address { offset: address.offset.wrapping_add_unsigned(first), ..*address };
        parts.push(Op::Load {
            space: *space,
            ordering: *ordering,
            scope: *scope,
            ty,
            d: vec![d],
            address,
        });
    }
    let writes_address = |part: &Op| {
        matches!(part, Op::Load { d, address, .. }
            if matches!((d.as_slice(), address.base),
                ([Some(d)], Operand::Register(base)) if *d == base))
    };
    parts.sort_by_key(writes_address);
    (!parts.is_empty()).then_some(parts)
}

/// The operand of `.L2::cache_hint`, which has to be a register.
fn cache_policy(check: &mut Check<'_, '_>, policy: bool, index: usize) -> Result<()> {
    if policy {
        check.source(index, Type::U64)?;
    }
    Ok(())
}

pub(super) fn ldu(check: &mut Check<'_, '_>) -> Result<Op> {
    let space = check.modifiers.pick(&[("global", Space::Global)]).unwrap_or(Space::Generic);
    load(check, space, Ordering::Weak, None, false)
}

pub(super) fn st(check: &mut Check<'_, '_>) -> Result<Op> {
    if check.modifiers.has("async") || check.modifiers.has("bulk") {
        return Err(super::not_emulated(check));
    }
    let (ordering, scope) = ordering(check, ("release", Ordering::Release))?;
    let space = space(check, &[])?;
    ordered_space(check, ordering, space)?;
    let policy = hints(check, ordering, space, &[("wb", ()), ("cg", ()), ("cs", ()), ("wt", ())])?;
    let lanes = lanes(check)?;
    let ty = moved(check, lanes, space)?;
    check.shape(if policy { "[a], b, policy" } else { "[a], b" })?;
    cache_policy(check, policy, 2)?;
    let address = check.address(0, space)?;
    if space == Space::Param
        && let Operand::Address(crate::program::Symbol::Local(id), _) = address.base
        && is_input(check, id)
    {
        return Err(Problem::new(check.operand(0)?.span, "a function can't write its parameters")
            .help("keep the value in a register, or in a .local variable"));
    }
    let parts = check.parts(1)?;
    check_count(check, 1, parts.len(), lanes)?;
    check.same_parts(&parts)?;
    let a = parts
        .iter()
        .map(|part| check.part_source(part, ty, Width::Relaxed))
        .collect::<Result<_>>()?;
    Ok(Op::Store { space, ordering, scope, ty, address, a })
}

fn is_input(check: &Check<'_, '_>, id: crate::program::LocalId) -> bool {
    check.body.function.parameters.contains(&crate::program::Parameter::Variable(id))
}
