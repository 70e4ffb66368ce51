//! Special rules for `mma.sp` (PTX ISA, "Matrix multiply-accumulate operation using mma.sp instruction with
//! sparse matrix A").

use crate::program::{
    Element, Fragment, FragmentLayout, InnerProduct, MatrixShape, Metadata, Op, Role, Rounding,
    Type,
};

use super::matrix::{
    Product, accumulator_types, multiply, no_such_product, product, reject_product_if, same_kind,
};
use crate::check::context::Result;
use crate::check::operands::Check;

const SHAPES: &str = "m16n8k8|m16n8k16|m16n8k32|m16n8k64|m16n8k128";

/// The number of valid selectors for a factor type with `k` columns: the number of sets of metadata that fit into four
/// lanes. For `m16n8k32` with 16-bit factors the ISA has two, each naming a pair of lanes. `ptxas` also accepts 2 and 3
/// for `f16`, but these name no lanes and their effect on a card is undocumented.
fn selectors(a: Element, k: usize) -> Option<u64> {
    Some(match (a, k) {
        (Element::F16 | Element::Bf16, 16) | (Element::Tf32, 8) => 4,
        (Element::F16 | Element::Bf16, 32) | (Element::Tf32, 16) => 2,
        (Element::S8 | Element::U8, 32) | (Element::S4 | Element::U4, 64) => 2,
        (Element::S8 | Element::U8 | Element::E4m3 | Element::E5m2, 64) => 1,
        (Element::S4 | Element::U4, 128) => 1,
        _ => return None,
    })
}

pub(super) fn mma(check: &mut Check<'_, '_>, ordered: bool) -> Result<Op> {
    let Product { shape, a_rows, b_rows, saturate, types } = product(check, SHAPES)?;
    let (k, [result, a, b, c]) = (shape.2, types);
    let Some(selectors) = selectors(a, k) else {
        return Err(no_such_product(check, "sparse factors of this type come in other shapes"));
    };
    let eight = matches!(a, Element::E4m3 | Element::E5m2);
    check.require(if eight { 89 } else { 80 }, if eight { (8, 4) } else { (7, 1) })?;
    if ordered {
        check.require(80, (8, 5))?;
    }
    reject_product_if(check, !same_kind(a, b), "a and b have to be of the same kind")?;
    let sums: &[Element] = if matches!(a, Element::E4m3 | Element::E5m2) {
        &[Element::F32]
    } else {
        accumulator_types(a)
    };
    let fits = sums.contains(&c) && result == c;
    reject_product_if(check, !fits, "c and d can't be of these types")?;
    reject_product_if(check, !a_rows || b_rows, "a is .row and b .col here")?;
    let integers = c == Element::S32;
    reject_product_if(check, saturate && !integers, ".satfinite is only for sums of integers")?;
    check.shape("d, a, b, c, metadata, selector")?;
    let fragment = |role, element, k| Fragment {
        role,
        shape: MatrixShape { m: 16, n: 8, k },
        element,
        by_rows: role != Role::B,
        layout: FragmentLayout::Mma,
    };
    // Only half of the elements of `a` are stored.
    let fragments = [fragment(Role::A, a, k / 2), fragment(Role::B, b, k), fragment(Role::C, c, k)];
    let metadata = check.source(4, Type::U32)?;
    let selector = check.number(5)?;
    if selector >= selectors {
        let lanes = match 4 / selectors {
            1 => "a lane of four",
            2 => "a pair of lanes of four",
            _ => "all four lanes",
        };
        let help =
            format!("it names {lanes}, which hold the metadata: write a number below {selectors}");
        return Err(check.operand_error(5, format!("there is no selector {selector} here"), help));
    }
    let modes = (InnerProduct::Multiply, saturate, Rounding::NearestEven);
    let sparse = Some(Metadata { metadata, selector: selector as u32, ordered });
    multiply(check, fragments, result, modes, sparse)
}
