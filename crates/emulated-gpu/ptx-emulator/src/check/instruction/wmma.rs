//! Special rules for `wmma` (PTX ISA, "Warp-level Matrix Multiply-Accumulate Instructions: wmma").

use crate::check::context::Result;
use crate::check::operands::Check;
use crate::program::{
    Element, Fragment, FragmentLayout, InnerProduct, Matrix, MatrixShape, Op, Operand, Role,
    Rounding, Space, Type,
};

use super::matrix::{
    accumulator_types, by_rows, destinations, inner_product, multiply, no_such_product, registers,
    reject_product_if, sources,
};

const SHAPES: &str = "m16n16k16|m8n32k16|m32n8k16|m16n16k8|m8n8k4|m8n8k32|m8n8k128";

const NARROW: &str = "for elements smaller than a byte, a is .row and b is .col";

/// The first architecture and version of PTX that have a product of this factor type and shape.
fn since(a: Element, shape: (usize, usize, usize)) -> Option<(u32, (u32, u32))> {
    let large = matches!(shape, (16, 16, 16) | (8, 32, 16) | (32, 8, 16));
    Some(match a {
        Element::F16 if shape == (16, 16, 16) => (70, (6, 0)),
        Element::F16 if large => (70, (6, 1)),
        Element::Bf16 if large => (80, (7, 0)),
        Element::Tf32 if shape == (16, 16, 8) => (80, (7, 0)),
        Element::F64 if shape == (8, 8, 4) => (80, (7, 0)),
        Element::S8 | Element::U8 if large => (72, (6, 3)),
        Element::S4 | Element::U4 if shape == (8, 8, 32) => (75, (6, 3)),
        Element::B1 if shape == (8, 8, 128) => (75, (6, 3)),
        _ => return None,
    })
}

/// A factor type whose products can be summed in this type and shape.
fn factor_of(sum: Element, shape: (usize, usize, usize)) -> Option<Element> {
    let all = Element::NAMED.iter().map(|(_, element)| *element);
    let mut fitting =
        all.filter(|a| accumulator_types(*a).contains(&sum) && since(*a, shape).is_some());
    fitting.next()
}

pub(super) fn wmma(check: &mut Check<'_, '_>) -> Result<Op> {
    match check.modifiers.require_word("an action", "load|store|mma")? {
        "load" => load(check),
        "store" => store(check),
        _ => product(check),
    }
}

/// Takes `.sync.aligned`.
fn aligned(check: &mut Check<'_, '_>) -> Result<()> {
    check.take("sync")?;
    // PTX 6.3 introduced `.aligned`, which has been mandatory since then from sm_70 on.
    if !check.modifiers.flag("aligned") && check.context.module.version >= (6, 3) {
        check.take("aligned")?;
    }
    Ok(())
}

fn fragment(
    role: Role,
    (m, n, k): (usize, usize, usize),
    element: Element,
    by_rows: bool,
) -> Fragment {
    Fragment {
        role,
        shape: MatrixShape { m, n, k },
        element,
        by_rows,
        layout: FragmentLayout::Wmma,
    }
}

/// The modifiers of a load or store: the fragment (role, shape, layout and type) and the state space.
fn fragment_modifiers(check: &mut Check<'_, '_>, role: Role) -> Result<(Fragment, Space)> {
    aligned(check)?;
    let rows = by_rows(check, "a layout")?;
    let shape = super::matrix::shape(check, SHAPES)?;
    let space = check.space("global|shared|shared::cta");
    let element = check.modifiers.require_one_of("a type", Element::NAMED)?;
    let element_of_a = if role == Role::C { factor_of(element, shape) } else { Some(element) };
    let Some((target, version)) = element_of_a.and_then(|a| since(a, shape)) else {
        return Err(no_such_product(check, "this type comes in other shapes"));
    };
    check.require(target, version)?;
    let narrow = matches!(element, Element::S4 | Element::U4 | Element::B1);
    reject_product_if(check, narrow && rows != (role == Role::A), NARROW)?;
    Ok((fragment(role, shape, element, rows), space))
}

fn stride(check: &mut Check<'_, '_>, index: usize) -> Result<Option<Operand>> {
    if check.count() <= index {
        return Ok(None);
    }
    check.source(index, Type::U32).map(Some)
}

fn load(check: &mut Check<'_, '_>) -> Result<Op> {
    let roles = [("a", Role::A), ("b", Role::B), ("c", Role::C)];
    let role = check.modifiers.require_one_of("a matrix", &roles)?;
    let (fragment, space) = fragment_modifiers(check, role)?;
    check.shape("d, [a], {stride}")?;
    let d = destinations(check, 0, registers(fragment))?;
    let address = check.address(1, space)?;
    let stride = stride(check, 2)?;
    Ok(Op::Matrix(Matrix::LoadFragment { fragment, space, d, address, stride }))
}

fn store(check: &mut Check<'_, '_>) -> Result<Op> {
    check.take("d = a matrix")?;
    let (fragment, space) = fragment_modifiers(check, Role::C)?;
    check.shape("[a], b, {stride}")?;
    let address = check.address(0, space)?;
    let a = sources(check, 1, registers(fragment))?;
    let stride = stride(check, 2)?;
    Ok(Op::Matrix(Matrix::StoreFragment { fragment, space, address, a, stride }))
}

fn product(check: &mut Check<'_, '_>) -> Result<Op> {
    // `.xor.popc` comes before the layouts.
    let bitwise = check.modifiers.has("popc");
    let inner_product =
        if bitwise { inner_product(check, Element::B1)? } else { InnerProduct::Multiply };
    aligned(check)?;
    let a_rows = by_rows(check, "the layout of a")?;
    let b_rows = by_rows(check, "the layout of b")?;
    let shape = super::matrix::shape(check, SHAPES)?;
    let rounding = check.modifiers.rounding();
    let saturate = check.modifiers.flag("satfinite");
    // For half-precision factors, the name only has the types of d and c.
    let first = check.modifiers.require_one_of("the type of d", Element::NAMED)?;
    let second = check.modifiers.require_one_of("the type of c", Element::NAMED)?;
    let (result, a, b, c) = match check.modifiers.take_one_of(Element::NAMED) {
        None => (first, Element::F16, Element::F16, second),
        Some(b) => {
            (first, second, b, check.modifiers.require_one_of("the type of c", Element::NAMED)?)
        }
    };
    let Some((target, version)) = since(a, shape) else {
        return Err(no_such_product(check, "factors of this type come in other shapes"));
    };
    check.require(target, version)?;
    let narrow = matches!(a, Element::S4 | Element::U4 | Element::B1);
    let integer = c == Element::S32;
    let mixed = a == Element::F16;
    let fits =
        a == b && accumulator_types(a).contains(&c) && accumulator_types(a).contains(&result);
    reject_product_if(check, !fits, "these types don't go together")?;
    reject_product_if(check, !mixed && result != c, "c and d are of one type")?;
    reject_product_if(check, narrow && (!a_rows || b_rows), NARROW)?;
    let fits = bitwise == (a == Element::B1)
        && (rounding.is_none() || a == Element::F64)
        && (!saturate || a != Element::B1 && (integer || mixed));
    reject_product_if(check, !fits, "a modifier does not go with these types")?;
    let gone = saturate && !integer && check.context.module.version >= (6, 5);
    reject_product_if(
        check,
        gone,
        "PTX 6.5 removed .satfinite from sums of floating-point numbers",
    )?;
    let fragments = [
        fragment(Role::A, shape, a, a_rows),
        fragment(Role::B, shape, b, b_rows),
        fragment(Role::C, shape, c, true),
    ];
    let rounding = rounding.unwrap_or(Rounding::NearestEven);
    check.shape("d, a, b, c")?;
    multiply(check, fragments, result, (inner_product, saturate, rounding), None)
}
