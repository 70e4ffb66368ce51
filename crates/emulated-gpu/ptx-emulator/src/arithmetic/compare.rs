//! Comparisons, and selections by their result: `setp`, `set`, `slct`, `selp`, `testp`.

use std::cmp::Ordering;

use super::bits::{halves, integer_value, mask, pack_halves, width};
use super::float::is_pair;
use super::format::Format;
use crate::program::{Combine, Comparison, FloatProperty, Type};

/// The comparison of `setp` and `set` (PTX ISA, "Comparison and Selection Instructions") for all
/// scalar types; for packed types, the comparison of the lower half.
///
/// `flush` is `.ftz`: subnormal operands count as zero. For integers, unordered comparisons equal
/// the ordered ones, `Num` is true and `Nan` false; the checker rejects these.
#[inline]
pub(crate) fn compare(comparison: Comparison, ty: Type, flush: bool, a: u64, b: u64) -> bool {
    let ordering = match Format::from_type(ty) {
        Some(format) => {
            let [a, b] = [a, b].map(|x| if flush { format.flush(x) } else { x });
            if format.is_nan(a) || format.is_nan(b) {
                None
            } else {
                Some(format.order(a).cmp(&format.order(b)))
            }
        }
        None => Some(integer_value(ty, a).cmp(&integer_value(ty, b))),
    };
    holds(comparison, ordering)
}

/// The comparison of both halves of a packed type, the lower one first: `setp` writes them to `p`
/// and `q`. For a scalar type, the comparison and its negation.
#[inline]
pub(crate) fn compare_both(
    comparison: Comparison,
    ty: Type,
    flush: bool,
    a: u64,
    b: u64,
) -> (bool, bool) {
    if is_pair(ty) {
        let ((a_low, a_high), (b_low, b_high)) = (halves(a), halves(b));
        (
            compare(comparison, ty, flush, a_low, b_low),
            compare(comparison, ty, flush, a_high, b_high),
        )
    } else {
        let holds = compare(comparison, ty, flush, a, b);
        (holds, !holds)
    }
}

/// Whether a comparison holds for an ordering of the operands; `None` if an operand is NaN.
#[inline(always)]
pub(crate) const fn holds(comparison: Comparison, ordering: Option<Ordering>) -> bool {
    use Comparison::{Eq, Equ, Ge, Geu, Gt, Gtu, Le, Leu, Lt, Ltu, Nan, Ne, Neu, Num};
    let Some(ordering) = ordering else {
        return matches!(comparison, Equ | Neu | Ltu | Leu | Gtu | Geu | Nan);
    };
    match comparison {
        Eq | Equ => ordering.is_eq(),
        Ne | Neu => ordering.is_ne(),
        Lt | Ltu => ordering.is_lt(),
        Le | Leu => ordering.is_le(),
        Gt | Gtu => ordering.is_gt(),
        Ge | Geu => ordering.is_ge(),
        Num => true,
        Nan => false,
    }
}

/// Combines a comparison with another predicate: `.and`, `.or`, `.xor`.
#[inline(always)]
pub(crate) const fn combine(combine: Combine, a: bool, b: bool) -> bool {
    match combine {
        Combine::And => a && b,
        Combine::Or => a || b,
        Combine::Xor => a != b,
    }
}

/// The result of `set`: if true, 1.0 or all ones in the result's type, otherwise 0. `ty` is the
/// type of the operands. For a packed type, both outcomes are used, the lower half's first, and
/// each gives 16 bits of the result; for a scalar type, only the first is used.
#[inline]
pub(crate) fn set_value(result: Type, ty: Type, outcomes: (bool, bool)) -> u64 {
    let truth = match Format::from_type(result) {
        Some(format) => format.one(),
        None => mask(width(result)),
    };
    if is_pair(ty) || is_pair(result) {
        let half = if is_pair(result) { truth } else { 0xffff };
        return pack_halves(u64::from(outcomes.0) * half, u64::from(outcomes.1) * half);
    }
    u64::from(outcomes.0) * truth
}

/// `slct`: `a` if `c ≥ 0` (including −0), otherwise (or if `c` is NaN) `b`. `flush` is `.ftz`: a
/// subnormal `c` counts as zero. `sign` is `.s32` or `.f32`.
#[inline]
pub(crate) fn select_by_sign(sign: Type, flush: bool, a: u64, b: u64, c: u64) -> u64 {
    if compare(Comparison::Ge, sign, flush, c, 0) { a } else { b }
}

/// `testp` (PTX ISA, "Floating-Point Instructions: testp"): "positive and negative zero are
/// considered normal numbers". False for types that aren't floating-point.
pub(crate) fn test_property(property: FloatProperty, ty: Type, a: u64) -> bool {
    let Some(format) = Format::from_type(ty) else { return false };
    let magnitude = a & format.magnitude();
    let subnormal = magnitude != 0 && magnitude < format.min_normal();
    let finite = magnitude < format.infinity();
    match property {
        FloatProperty::Finite => finite,
        FloatProperty::Infinite => magnitude == format.infinity() && !format.is_nan(a),
        FloatProperty::Number => !format.is_nan(a),
        FloatProperty::NotANumber => format.is_nan(a),
        FloatProperty::Normal => finite && !subnormal,
        FloatProperty::Subnormal => subnormal,
    }
}
