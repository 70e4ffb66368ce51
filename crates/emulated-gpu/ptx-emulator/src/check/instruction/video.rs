//! Special rules for video instructions (PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions").

use crate::diagnostic::Problem;
use crate::program::{
    Destination, Op, Operand, ScalarVideo, SimdVideo, Type, Video, VideoMad, VideoOperation,
    VideoPart, VideoSecond,
};
use crate::syntax::{self, Expression, Node, OperandKind, Unary};

use super::compare::COMPARISONS;
use crate::check::context::Result;
use crate::check::operands::{Check, Width};

const WHOLE: VideoPart = VideoPart { bits: 32, index: 0 };

/// Checks any video instruction.
pub(super) fn video(check: &mut Check<'_, '_>) -> Result<Op> {
    let opcode = check.opcode();
    let (name, bits) = match opcode.strip_suffix('2').map(|name| (name, 16)) {
        Some(two) => two,
        None => opcode.strip_suffix('4').map_or((opcode, 32), |name| (name, 8)),
    };
    match (name, bits) {
        ("vmad", 32) => mad(check),
        (_, 32) => scalar(check, name),
        _ => simd(check, name, bits),
    }
}

/// Takes a type, and returns whether it is `.s32` rather than `.u32`.
fn signed(check: &mut Check<'_, '_>) -> Result<bool> {
    Ok(check.modifiers.ty("u32|s32")? == Type::S32)
}

/// The operation, and whether d, a and b are signed. A comparison's result is unsigned.
fn operation(check: &mut Check<'_, '_>, name: &str) -> Result<(VideoOperation, [bool; 3])> {
    if name == "vset" {
        let types = [false, signed(check)?, signed(check)?];
        let comparison = check.modifiers.require_one_of("a comparison", &COMPARISONS[..6])?;
        return Ok((VideoOperation::Compare(comparison), types));
    }
    let types = [signed(check)?, signed(check)?];
    let shift = matches!(name, "vshl" | "vshr");
    let last = if shift { check.modifiers.ty("u32")? == Type::S32 } else { signed(check)? };
    let mut wrap = || {
        check.modifiers.require_one_of(
            "a mode for shifts of 32 bits or more",
            &[("clamp", false), ("wrap", true)],
        )
    };
    let operation = match name {
        "vadd" => VideoOperation::Add,
        "vsub" => VideoOperation::Subtract,
        "vabsdiff" => VideoOperation::AbsoluteDifference,
        "vmin" => VideoOperation::Min,
        "vmax" => VideoOperation::Max,
        "vavrg" => VideoOperation::Average,
        "vshl" => VideoOperation::ShiftLeft { wrap: wrap()? },
        _ => VideoOperation::ShiftRight { wrap: wrap()? },
    };
    Ok((operation, [types[0], types[1], last]))
}

fn scalar(check: &mut Check<'_, '_>, name: &str) -> Result<Op> {
    let (operation, signed) = operation(check, name)?;
    let saturate = name != "vset" && check.modifiers.flag("sat");
    let seconds = [("add", VideoSecond::Add), ("min", VideoSecond::Min), ("max", VideoSecond::Max)];
    let second = check.modifiers.take_one_of(&seconds).unwrap_or(VideoSecond::None);
    check.shape(if second == VideoSecond::None { "d, a, b, {c}" } else { "d, a, b, c" })?;
    let (d_node, d_selector) = selected(check, 0)?;
    let d = match d_selector {
        None => None,
        Some(selector) if check.count() == 4 && second == VideoSecond::None => {
            Some(scalar_part(check, 0, selector)?)
        }
        Some(_) => {
            let message = "a part of the result is merged with c";
            let help = "give a third source, and no second operation";
            return Err(check.operand_error(0, message, help));
        }
    };
    let (a, a_part) = source(check, 1)?;
    let (b, b_part) = source(check, 2)?;
    let c = if check.count() == 4 { Some(check.source(3, Type::U32)?) } else { None };
    let d_register = destination(check, d_node)?;
    let form = ScalarVideo { operation, signed, saturate, a: a_part, b: b_part, d, second };
    Ok(Op::Video { form: Video::Scalar(form), d: d_register, a, b, c })
}

fn mad(check: &mut Check<'_, '_>) -> Result<Op> {
    // The type of the result follows from the types of the factors, so the result type in the text is ignored.
    signed(check)?;
    let signed = [signed(check)?, signed(check)?];
    let plus_one = check.modifiers.flag("po");
    let saturate = check.modifiers.flag("sat");
    let shift = check.modifiers.take_one_of(&[("shr7", 7), ("shr15", 15)]).unwrap_or(0);
    check.shape("d, a, b, c")?;
    let mut negated = [false; 3];
    let mut sources = [Operand::Immediate(0); 3];
    let mut parts = [WHOLE; 3];
    for at in 0..3 {
        (sources[at], parts[at], negated[at]) = negatable(check, at + 1)?;
    }
    let [a_negated, b_negated, c_negated] = negated;
    let negate = [a_negated != b_negated, c_negated];
    let any = negate[0] || negate[1];
    if negate == [true, true] || plus_one && (any || a_negated) || parts[2] != WHOLE {
        let help = "negate one of them, and take c whole";
        return Err(check.error("`vmad` negates the product or c, and not with .po", help));
    }
    let d = check.destination(0, Type::U32)?;
    let form = VideoMad { signed, a: parts[0], b: parts[1], negate, plus_one, shift, saturate };
    let [a, b, c] = sources;
    Ok(Op::Video { form: Video::Mad(form), d, a, b, c: Some(c) })
}

fn simd(check: &mut Check<'_, '_>, name: &str, bits: u32) -> Result<Op> {
    let (operation, signed) = operation(check, name)?;
    let saturate = name != "vset" && check.modifiers.flag("sat");
    let accumulate = check.modifiers.flag("add");
    if saturate && accumulate {
        return Err(check.error(".sat and .add don't go together", "remove one of them"));
    }
    check.shape("d, a, b, c")?;
    let count = (32 / bits) as u8;
    let (node, mask) = selected(check, 0)?;
    let mask = match mask {
        None => (1 << count) - 1,
        Some(selector) => mask_of(check, selector, count)?,
    };
    let (a, a_elements) = selected_elements(check, 1, count, 0)?;
    let (b, b_elements) = selected_elements(check, 2, count, count)?;
    let c = whole_register(check, 3)?;
    let d = destination(check, node)?;
    let form = SimdVideo {
        operation,
        signed,
        saturate,
        bits,
        a: a_elements,
        b: b_elements,
        mask,
        accumulate,
    };
    Ok(Op::Video { form: Video::Simd(form), d, a, b, c: Some(c) })
}

/// A register without its selector, and the selector.
fn selected<'a>(check: &Check<'_, 'a>, index: usize) -> Result<(Node<'a>, Option<&'a str>)> {
    let node = check.plain_of(check.operand(index)?)?;
    let (expression, selector) = match node.expression {
        Expression::Member(name, selector) if selector.len() > 1 => {
            (Expression::Name(name), Some(selector))
        }
        Expression::Member(name, member) => (Expression::Member(name, member), None),
        Expression::Name(name) => (Expression::Name(name), None),
        _ => {
            let message = format!("`{}` takes a register here", check.title());
            let help = "move the value into a register first";
            return Err(Problem::new(node.span, message).help(help));
        }
    };
    Ok((Node { expression, span: node.span }, selector))
}

fn destination<'a>(check: &mut Check<'_, 'a>, node: Node<'a>) -> Result<Destination> {
    if matches!(node.expression, Expression::Name("_")) {
        return check.destination(0, Type::U32);
    }
    let span = node.span;
    let operand = syntax::Operand { kind: OperandKind::Plain(node), span };
    check.destination_or_sink(&operand, Type::U32, Width::Exact)
}

fn no_selector(check: &Check<'_, '_>, index: usize, selector: &str, help: &str) -> Problem {
    check.operand_error(index, format!("`.{selector}` selects nothing here"), help)
}

/// A part of a register: `.b0` to `.b3`, `.h0`, `.h1`.
fn scalar_part(check: &Check<'_, '_>, index: usize, selector: &str) -> Result<VideoPart> {
    let bits = match selector {
        "b0" | "b1" | "b2" | "b3" => 8,
        "h0" | "h1" => 16,
        _ => {
            let help = "write .b0, .b1, .b2, .b3, .h0 or .h1";
            return Err(no_selector(check, index, selector, help));
        }
    };
    Ok(VideoPart { bits, index: u32::from(selector.as_bytes()[1] - b'0') })
}

/// A source: a register, a part of one, or a constant.
fn source(check: &mut Check<'_, '_>, index: usize) -> Result<(Operand, VideoPart)> {
    let node = check.written.operands.get(index).and_then(|operand| operand.node());
    let register =
        |node: &Node| matches!(node.expression, Expression::Name(_) | Expression::Member(..));
    if !node.is_some_and(register) {
        return Ok((check.source(index, Type::U32)?, WHOLE));
    }
    let (node, selector) = selected(check, index)?;
    let part = selector.map_or(Ok(WHOLE), |selector| scalar_part(check, index, selector))?;
    Ok((check.value(&node, Type::U32, Width::Exact)?, part))
}

/// A source as in [`source`], and whether it is negated.
fn negatable(check: &mut Check<'_, '_>, index: usize) -> Result<(Operand, VideoPart, bool)> {
    let written = check.written;
    if let Some(node) = written.operands.get(index).and_then(|operand| operand.node())
        && let Expression::Unary(Unary::Minus, of) = &node.expression
    {
        let (name, selector) = match of.expression {
            Expression::Name(name) => (name, None),
            Expression::Member(name, selector) => (name, Some(selector)),
            _ => return Ok((check.source(index, Type::U32)?, WHOLE, false)),
        };
        let part = selector.map_or(Ok(WHOLE), |selector| scalar_part(check, index, selector))?;
        let node = Node { expression: Expression::Name(name), span: of.span };
        return Ok((check.value(&node, Type::U32, Width::Exact)?, part, true));
    }
    let (operand, part) = source(check, index)?;
    Ok((operand, part, false))
}

/// A source that has to be a whole register, without a selector.
fn whole_register(check: &mut Check<'_, '_>, index: usize) -> Result<Operand> {
    let (node, selector) = selected(check, index)?;
    match selector {
        None => check.value(&node, Type::U32, Width::Exact),
        Some(selector) => Err(no_selector(check, index, selector, "c is taken whole")),
    }
}

/// The mask of computed elements from a selector such as `.h1` or `.b310`, which names each element at most
/// once, highest first.
fn mask_of(check: &Check<'_, '_>, selector: &str, count: u8) -> Result<u32> {
    let letter = if count == 2 { 'h' } else { 'b' };
    let digits = selector.strip_prefix(letter).unwrap_or_default();
    let mut above = u32::from(count);
    let mut mask = 0;
    for digit in digits.chars() {
        match digit.to_digit(10) {
            Some(digit) if digit < above => (above, mask) = (digit, mask | 1 << digit),
            _ => mask = u32::MAX,
        }
        if mask == u32::MAX {
            break;
        }
    }
    if mask == 0 || mask == u32::MAX {
        let help = format!("write {letter} and element numbers below {count}, the highest first");
        return Err(no_selector(check, 0, selector, &help));
    }
    Ok(mask)
}

/// The elements that a selector such as `.h32` or `.b7654` picks from both sources, for the highest result
/// element first.
fn selected_elements(
    check: &mut Check<'_, '_>,
    index: usize,
    count: u8,
    first: u8,
) -> Result<(Operand, [u8; 4])> {
    let (node, selector) = selected(check, index)?;
    let mut selectors = [0, 1, 2, 3].map(|at: u8| first + at);
    if let Some(selector) = selector {
        let letter = if count == 2 { 'h' } else { 'b' };
        let digits: Vec<u8> = selector
            .strip_prefix(letter)
            .unwrap_or_default()
            .chars()
            .filter_map(|digit| digit.to_digit(10))
            .map(|digit| digit as u8)
            .collect();
        let whole = digits.len() == usize::from(count) && digits.len() + 1 == selector.len();
        if !whole || digits.iter().any(|digit| *digit >= 2 * count) {
            let help = format!("write {count} element numbers below {} after {letter}", 2 * count);
            return Err(no_selector(check, index, selector, &help));
        }
        for (at, digit) in digits.iter().rev().enumerate() {
            selectors[at] = *digit;
        }
    }
    Ok((check.value(&node, Type::U32, Width::Exact)?, selectors))
}
