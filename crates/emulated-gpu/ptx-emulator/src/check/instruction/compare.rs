//! Special rules for comparisons (PTX ISA, "Comparison and Selection Instructions" and "Half Precision
//! Comparison Instructions").

use crate::program::{Combine, Comparison, Op, Operand, Type};

use crate::check::context::Result;
use crate::check::operands::Check;
use crate::check::types::{self, Class};

/// The comparison operators: first the operators of signed integers, then the ones that only unsigned integers have,
/// then the ones that only floating-point numbers have.
pub(super) const COMPARISONS: [(&str, Comparison); 18] = [
    ("eq", Comparison::Eq),
    ("ne", Comparison::Ne),
    ("lt", Comparison::Lt),
    ("le", Comparison::Le),
    ("gt", Comparison::Gt),
    ("ge", Comparison::Ge),
    ("lo", Comparison::Lt),
    ("ls", Comparison::Le),
    ("hi", Comparison::Gt),
    ("hs", Comparison::Ge),
    ("equ", Comparison::Equ),
    ("neu", Comparison::Neu),
    ("ltu", Comparison::Ltu),
    ("leu", Comparison::Leu),
    ("gtu", Comparison::Gtu),
    ("geu", Comparison::Geu),
    ("num", Comparison::Num),
    ("nan", Comparison::Nan),
];

/// The modifiers that `setp` and `set` share: the operators, the type that is compared, and `.ftz`.
struct ComparisonModifiers {
    comparison: Comparison,
    combine: Option<Combine>,
    ty: Type,
    flush: bool,
}

/// Takes the modifiers that `setp` and `set` share. The type of a `set`'s result has already been taken.
fn comparison_modifiers(
    check: &mut Check<'_, '_>,
    result: Option<Type>,
) -> Result<ComparisonModifiers> {
    let unsigned_name =
        check.written.modifiers.iter().any(|word| ["lo", "ls", "hi", "hs"].contains(&word.text));
    let comparison = check.modifiers.require_one_of("a comparison", &COMPARISONS)?;
    let combine = check.modifiers.take_one_of(Combine::NAMED);
    let ty = check.modifiers.ty("sized|half")?;
    let flushes = matches!(ty, Type::F32 | Type::F16 | Type::F16x2) && result != Some(Type::Bf16);
    let flush = flushes && check.flushes();
    let equality = matches!(comparison, Comparison::Eq | Comparison::Ne);
    let ordered =
        matches!(comparison, Comparison::Lt | Comparison::Le | Comparison::Gt | Comparison::Ge);
    let class = types::class(ty);
    let allowed = match class {
        Class::Bits => equality,
        Class::Unsigned => equality || ordered,
        Class::Signed => (equality || ordered) && !unsigned_name,
        Class::Float => !unsigned_name,
        Class::Predicate => false,
    };
    if allowed {
        return Ok(ComparisonModifiers { comparison, combine, ty, flush });
    }
    let help = match class {
        Class::Bits => "untyped values are compared with .eq and .ne only: name a .u or .s type",
        Class::Unsigned | Class::Signed if !unsigned_name => {
            "the comparisons ending in u, num and nan are for floating-point types only"
        }
        _ => "lo, ls, hi and hs are for unsigned types: write lt, le, gt, ge",
    };
    Err(check.error(format!("`.{}` values can't be compared this way", ty.name()), help))
}

pub(super) fn setp(check: &mut Check<'_, '_>) -> Result<Op> {
    let ComparisonModifiers { comparison, combine, ty, flush } = comparison_modifiers(check, None)?;
    check.shape(if combine.is_some() { "p, a, b, c" } else { "p, a, b" })?;
    // The packed types compare two pairs. Their p and q are the two results, not opposites.
    if matches!(ty, Type::F16 | Type::Bf16) && check.is_pair(0) {
        let help = "name one predicate, and negate it where it is used: !p";
        return Err(check.operand_error(0, "a comparison in half precision has one result", help));
    }
    let (p, q) = check.destination_pair(0, Type::Pred)?;
    if check.is_pair(0) && p.is_none() && q.is_none() {
        let help = "name a predicate for one of them";
        return Err(check.operand_error(0, "both results are discarded", help));
    }
    let (a, b) = (check.source(1, ty)?, check.source(2, ty)?);
    let combine = combining_predicate(check, combine)?;
    Ok(Op::SetPredicate { comparison, combine, ty, flush, p, q, a, b })
}

fn combining_predicate(
    check: &mut Check<'_, '_>,
    combine: Option<Combine>,
) -> Result<Option<(Combine, Operand)>> {
    combine.map(|combine| Ok((combine, check.predicate(3)?))).transpose()
}

pub(super) fn set(check: &mut Check<'_, '_>) -> Result<Op> {
    let result = check.modifiers.ty("u32|s32|f32|half|u16|s16")?;
    let ComparisonModifiers { comparison, combine, ty, flush } =
        comparison_modifiers(check, Some(result))?;
    let packed = matches!(ty, Type::F16x2 | Type::Bf16x2);
    let half = packed || matches!(ty, Type::F16 | Type::Bf16);
    let fits = match result {
        Type::U32 | Type::S32 => true,
        Type::F32 => !half,
        Type::U16 | Type::S16 => half && !packed,
        Type::F16 => !packed && ty != Type::Bf16,
        Type::Bf16 => !packed,
        _ => packed && result == ty,
    };
    if !fits {
        let (ty, result) = (ty.name(), result.name());
        let message = format!("a comparison of .{ty} has no .{result} result");
        return Err(check.error(message, "write set.….u32 and the type that is compared"));
    }
    check.shape(if combine.is_some() { "d, a, b, c" } else { "d, a, b" })?;
    let d = check.destination(0, result)?;
    let (a, b) = (check.source(1, ty)?, check.source(2, ty)?);
    let combine = combining_predicate(check, combine)?;
    Ok(Op::Set { comparison, combine, result, ty, flush, d, a, b })
}
