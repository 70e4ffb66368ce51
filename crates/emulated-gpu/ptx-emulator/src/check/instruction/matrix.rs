//! Special rules for matrix products of a warp (PTX ISA, "Warp-level Matrix Multiply-Accumulate Instructions:
//! mma").

use crate::diagnostic::Problem;
use crate::program::{
    Destination, Element, Fragment, FragmentLayout, InnerProduct, Matrix, MatrixShape, Metadata,
    Multiply, Op, Operand, Role, Rounding, Space, Type,
};

use crate::check::context::Result;
use crate::check::operands::{Check, Width};

/// The shapes of `mma`.
const SHAPES: &str = "m8n8k4|m8n8k16|m8n8k32|m8n8k128|m16n8k4|m16n8k8|m16n8k16|m16n8k32|m16n8k64|\
    m16n8k128|m16n8k256";

/// Takes one of these shapes: the rows and columns of the result, and the columns of a.
pub(super) fn shape(
    check: &mut Check<'_, '_>,
    shapes: &'static str,
) -> Result<(usize, usize, usize)> {
    let word = check.modifiers.require_word("a shape", shapes)?;
    let mut sizes = word.split(['m', 'n', 'k']).filter_map(|size| size.parse().ok());
    let mut next = || sizes.next().unwrap_or_default();
    Ok((next(), next(), next()))
}

/// The first architecture and version of PTX that have a product of this factor type and shape.
fn since(a: Element, shape: (usize, usize, usize)) -> Option<(u32, (u32, u32))> {
    Some(match (a, shape) {
        (Element::F16, (8, 8, 4)) => (70, (6, 4)),
        (Element::F16, (16, 8, 8)) => (75, (6, 5)),
        (Element::F16 | Element::Bf16, (16, 8, 16)) | (Element::Bf16, (16, 8, 8)) => (80, (7, 0)),
        (Element::Tf32, (16, 8, 4 | 8)) | (Element::F64, (8, 8, 4)) => (80, (7, 0)),
        (Element::F64, (16, 8, 4 | 8 | 16)) => (90, (7, 8)),
        (Element::E4m3 | Element::E5m2, (16, 8, 32)) => (89, (8, 4)),
        (Element::E4m3 | Element::E5m2, (16, 8, 16)) => (89, (8, 7)),
        (Element::S8 | Element::U8, (8, 8, 16)) => (75, (6, 5)),
        (Element::S8 | Element::U8, (16, 8, 16 | 32)) => (80, (7, 0)),
        (Element::S4 | Element::U4, (8, 8, 32)) => (75, (6, 5)),
        (Element::S4 | Element::U4, (16, 8, 32 | 64)) => (80, (7, 0)),
        (Element::B1, (8, 8, 128)) => (75, (7, 0)),
        (Element::B1, (16, 8, 128 | 256)) => (80, (7, 0)),
        _ => return None,
    })
}

/// The accumulator types for products of a factor type.
pub(super) fn accumulator_types(a: Element) -> &'static [Element] {
    match a {
        Element::F16 | Element::E4m3 | Element::E5m2 => &[Element::F16, Element::F32],
        Element::Bf16 | Element::Tf32 => &[Element::F32],
        Element::F64 => &[Element::F64],
        _ => &[Element::S32],
    }
}

/// Whether factors of these types can be combined.
pub(super) fn same_kind(a: Element, b: Element) -> bool {
    let kind = |element| match element {
        Element::S8 | Element::U8 => Element::S8,
        Element::S4 | Element::U4 => Element::S4,
        Element::E4m3 | Element::E5m2 => Element::E4m3,
        other => other,
    };
    kind(a) == kind(b)
}

/// `.row` or `.col`
pub(super) fn by_rows(check: &mut Check<'_, '_>, what: &str) -> Result<bool> {
    check.modifiers.require_one_of(what, &[("row", true), ("col", false)])
}

/// The modifiers of `mma`.
pub(super) struct Product {
    pub(super) shape: (usize, usize, usize),
    pub(super) a_rows: bool,
    pub(super) b_rows: bool,
    pub(super) saturate: bool,
    /// The types of d, a, b and c.
    pub(super) types: [Element; 4],
}

/// Takes the modifiers of a product that has one of these shapes.
pub(super) fn product(check: &mut Check<'_, '_>, shapes: &'static str) -> Result<Product> {
    check.take("sync; aligned")?;
    let shape = shape(check, shapes)?;
    let a_rows = by_rows(check, "the layout of a")?;
    let b_rows = by_rows(check, "the layout of b")?;
    let saturate = check.modifiers.flag("satfinite");
    let mut ty = |what| check.modifiers.require_one_of(what, Element::NAMED);
    let types =
        [ty("the type of d")?, ty("the type of a")?, ty("the type of b")?, ty("the type of c")?];
    Ok(Product { shape, a_rows, b_rows, saturate, types })
}

pub(super) fn mma(check: &mut Check<'_, '_>) -> Result<Op> {
    if check.written.modifiers.iter().any(|word| word.text.starts_with("kind::")) {
        return Err(super::not_emulated(check));
    }
    let sparse = check.modifiers.take_one_of(&[("sp", false), ("sp::ordered_metadata", true)]);
    if let Some(ordered) = sparse {
        return super::sparse::mma(check, ordered);
    }
    let Product { shape, a_rows, b_rows, saturate, types } = product(check, SHAPES)?;
    let [result, a, b, c] = types;
    let Some((target, version)) = since(a, shape) else {
        return Err(no_such_product(check, "factors of this type come in other shapes"));
    };
    check.require(target, version)?;
    let halves = a == Element::F16 && shape == (8, 8, 4);
    reject_product_if(check, !same_kind(a, b), "a and b have to be of the same kind")?;
    let fits = if halves {
        accumulator_types(a).contains(&result) && (c, result) != (Element::F32, Element::F16)
    } else {
        result == c
    };
    reject_product_if(
        check,
        !fits || !accumulator_types(a).contains(&c),
        "c and d can't be of these types",
    )?;
    reject_product_if(check, !halves && (!a_rows || b_rows), "a is .row and b .col here")?;
    let inner_product = inner_product(check, a)?;
    let sums_integers = c == Element::S32 && a != Element::B1;
    reject_product_if(
        check,
        saturate && !sums_integers,
        ".satfinite is only for sums of integers",
    )?;
    let (m, n, k) = shape;
    let fragment = |role, element, by_rows| Fragment {
        role,
        shape: MatrixShape { m, n, k },
        element,
        by_rows,
        layout: FragmentLayout::Mma,
    };
    let fragments =
        [fragment(Role::A, a, a_rows), fragment(Role::B, b, b_rows), fragment(Role::C, c, true)];
    check.shape("d, a, b, c")?;
    multiply(check, fragments, result, (inner_product, saturate, Rounding::NearestEven), None)
}

/// The operation on single bits. All other types multiply.
pub(super) fn inner_product(check: &mut Check<'_, '_>, a: Element) -> Result<InnerProduct> {
    if a != Element::B1 {
        return Ok(InnerProduct::Multiply);
    }
    let operations = [("xor", InnerProduct::Xor), ("and", InnerProduct::And)];
    let inner_product = check.modifiers.require_one_of("an operation", &operations)?;
    check.take("popc")?;
    if inner_product == InnerProduct::And {
        check.require(80, (7, 1))?;
    }
    Ok(inner_product)
}

/// Reads the matrices of a product, once the number of operands has been checked.
pub(super) fn multiply(
    check: &mut Check<'_, '_>,
    fragments: [Fragment; 3],
    result: Element,
    (inner_product, saturate, rounding): (InnerProduct, bool, Rounding),
    sparse: Option<Metadata>,
) -> Result<Op> {
    let [a, b, c] = fragments;
    let multiply = Multiply {
        inner_product,
        saturate,
        rounding,
        fragments,
        result,
        sparse,
        d: destinations(check, 0, registers(Fragment { element: result, ..c }))?,
        a: sources(check, 1, registers(a))?,
        b: sources(check, 2, registers(b))?,
        c: sources(check, 3, registers(c))?,
    };
    Ok(Op::Matrix(Matrix::Multiply(Box::new(multiply))))
}

pub(super) fn no_such_product(check: &Check<'_, '_>, why: &str) -> Problem {
    check.error(format!("there is no `{}`", check.title()), format!(
        "{why}: see the table of shapes and types in the PTX ISA, \"Warp-level Matrix Instructions\""
    ))
}

/// An error that there is no such product, if `wrong` holds.
pub(super) fn reject_product_if(check: &Check<'_, '_>, wrong: bool, why: &str) -> Result<()> {
    if wrong { Err(no_such_product(check, why)) } else { Ok(()) }
}

/// Returns an error if a vector has the wrong number of registers.
fn check_register_count(
    check: &Check<'_, '_>,
    index: usize,
    found: usize,
    wanted: usize,
) -> Result<()> {
    let message = || format!("{found} registers, `{}` takes {wanted} here", check.title());
    let help = || format!("write a vector of {wanted}, in braces");
    if found == wanted { Ok(()) } else { Err(check.operand_error(index, message(), help())) }
}

/// The number and type of a lane's registers for a matrix.
pub(super) fn registers(fragment: Fragment) -> (usize, Type) {
    (fragment.registers(), fragment.element.register())
}

/// A vector of `count` registers that are written.
pub(super) fn destinations(
    check: &mut Check<'_, '_>,
    index: usize,
    (count, ty): (usize, Type),
) -> Result<Vec<Destination>> {
    let parts = check.parts(index)?;
    check_register_count(check, index, parts.len(), count)?;
    check.part_destinations(&parts, ty, Width::Exact)
}

/// A vector of `count` registers that are read.
pub(super) fn sources(
    check: &mut Check<'_, '_>,
    index: usize,
    (count, ty): (usize, Type),
) -> Result<Vec<Operand>> {
    let parts = check.parts(index)?;
    check_register_count(check, index, parts.len(), count)?;
    check.part_sources(&parts, ty, Width::Exact)
}

/// The modifiers of `ldmatrix` and `stmatrix`: the number of matrices, whether they are transposed, and the
/// state space.
fn matrices(check: &mut Check<'_, '_>) -> Result<(usize, bool, Space)> {
    check.take("sync; aligned")?;
    let newer = ["m8n16", "m16n16", "m16n8", "b8", "b8x16.b6x16_p32", "b8x16"];
    if newer.iter().any(|word| check.modifiers.has(word)) {
        // These forms exist from sm_100a on.
        return Err(super::not_emulated(check));
    }
    let form = check.take("m8n8; x1|x2|x4 = a number; {trans}; {shared|shared::cta}; .b16")?;
    let count = form.choice(&[("x2", 2), ("x4", 4)]).unwrap_or(1);
    Ok((count, form.has("trans"), form.space()))
}

pub(super) fn ldmatrix(check: &mut Check<'_, '_>) -> Result<Op> {
    let (count, transposed, space) = matrices(check)?;
    check.shape("d, [a]")?;
    let d = destinations(check, 0, (count, Type::B32))?;
    let address = check.address(1, space)?;
    Ok(Op::Matrix(Matrix::Load { transposed, space, d, address }))
}

pub(super) fn stmatrix(check: &mut Check<'_, '_>) -> Result<Op> {
    let (count, transposed, space) = matrices(check)?;
    check.shape("[a], b")?;
    let address = check.address(0, space)?;
    let a = sources(check, 1, (count, Type::B32))?;
    Ok(Op::Matrix(Matrix::Store { transposed, space, address, a }))
}
