//! Special rules for branches, calls and the stack (PTX ISA, "Control Flow Instructions", "Stack Manipulation
//! Instructions" and "Miscellaneous Instructions").

use crate::diagnostic::Problem;
use crate::program::{CallArgument, Function, Label, Linkage, Op, Operand, Space, Type};
use crate::source::Span;
use crate::syntax::{Name, OperandKind};

use crate::check::context::{Global, Result};
use crate::check::operands::{Check, Width, is_sink};
use crate::check::scope::Binding;
use crate::check::signature::{ParameterShape, Signature};
use crate::check::types;

/// An operand that is just a name.
fn name_operand<'a>(check: &Check<'_, 'a>, index: usize, what: &str) -> Result<Name<'a>> {
    let operand = check.operand(index)?;
    operand.name().map(|text| Name { text, span: operand.span }).ok_or_else(|| {
        let message = format!("`{}` takes {what} here", check.title());
        check.operand_error(index, message, format!("name {what}"))
    })
}

pub(super) fn bra(check: &mut Check<'_, '_>) -> Result<Op> {
    let uniform = check.modifiers.flag("uni");
    check.shape("label")?;
    let name = name_operand(check, 0, "a label")?;
    let label = check.body.label(check.context, name)?;
    // The label's index is replaced by its position once the body has been read.
    Ok(Op::Branch { target: Label(label as u32), uniform })
}

pub(super) fn brx(check: &mut Check<'_, '_>) -> Result<Op> {
    check.take("idx")?;
    let uniform = check.modifiers.flag("uni");
    check.shape("index, list")?;
    let index = check.source(0, Type::U32)?;
    let list = name_operand(check, 1, "a list of labels")?;
    let Some(Binding::BranchTargets(targets)) = check.body.find(list.text) else {
        let message = format!("there is no list of labels `{}`", list.text);
        let help = format!("declare it before the branch: {}: .branchtargets a, b;", list.text);
        return Err(check.operand_error(1, message, help));
    };
    let targets = targets.into_iter().map(|label| Label(label as u32)).collect();
    Ok(Op::BranchIndexed { index, targets, uniform })
}

pub(super) fn call(check: &mut Check<'_, '_>) -> Result<Op> {
    let uniform = check.modifiers.flag("uni");
    check.modifiers.finish()?;
    let written = check.written;
    let is_list = |index: usize| {
        let kind = written.operands.get(index).map(|operand| &operand.kind);
        matches!(kind, Some(OperandKind::List(_)))
    };
    // call {(results),} callee {, (arguments)} {, prototype}
    let at = usize::from(is_list(0));
    let arguments_at = is_list(at + 1).then_some(at + 1);
    let prototype_at = at + 1 + usize::from(arguments_at.is_some());
    if check.count() > prototype_at + 1 || check.count() <= at {
        return Err(Problem::new(written.span, "`call` has another form").help(
            "write call (results), function, (arguments); results and arguments may be missing",
        ));
    }
    let last = written.operands.get(prototype_at);
    let prototype = last.map(|_| signature(check, prototype_at)).transpose()?;
    let (callee, signature) = callee(check, at, prototype)?;
    let prototype = match callee {
        Operand::Function(_) => None,
        _ => {
            check.context.prototypes.push(signature.clone());
            Some(check.context.prototypes.len() as u32 - 1)
        }
    };
    let results = call_operands(check, (at == 1).then_some(0), &signature.results, true)?;
    let arguments = call_operands(check, arguments_at, &signature.parameters, false)?;
    Ok(Op::Call { callee, prototype, results, arguments, uniform })
}

/// The signature of a `.callprototype` or `.calltargets` list.
fn signature(check: &mut Check<'_, '_>, index: usize) -> Result<Signature> {
    let name = name_operand(check, index, "a prototype")?;
    match check.body.find(name.text) {
        Some(Binding::Signature(signature)) => Ok(check.body.signatures[signature].clone()),
        _ => Err(Problem::new(name.span, format!("there is no prototype `{}`", name.text)).help(
            format!(
                "declare it before the call: {}: .callprototype (results) _ (parameters);",
                name.text
            ),
        )),
    }
}

fn callee(
    check: &mut Check<'_, '_>,
    index: usize,
    prototype: Option<Signature>,
) -> Result<(Operand, Signature)> {
    let name = name_operand(check, index, "a function")?;
    if let Some(Global::Function(id)) = check.context.names.get(name.text).copied()
        && check.body.find(name.text).is_none()
    {
        let function = &check.context.module.functions[id.0 as usize];
        callable(function, name, check.context.standalone)?;
        return Ok((Operand::Function(id), Signature::of_function(function)));
    }
    match check.body.find(name.text) {
        Some(Binding::Register(_)) => {}
        Some(_) => {
            return Err(Problem::new(name.span, format!("`{}` is not a function", name.text))
                .help("name a .func, or a register that holds the address of one"));
        }
        None => {
            return Err(check
                .body
                .undeclared(check.context, name.text, name.span)
                .help(format!("declare it above: .func {} …", name.text)));
        }
    }
    let callee = check.source(index, Type::U64)?;
    let Some(signature) = prototype else {
        return Err(Problem::new(name.span, "a call through a register needs a prototype").help(
            "add the name of a .callprototype, or of a .calltargets list, as the last operand",
        ));
    };
    Ok((callee, signature))
}

fn callable(function: &Function, name: Name, standalone: bool) -> Result<()> {
    if function.entry {
        return Err(Problem::new(name.span, format!("`{}` is an entry", name.text))
            .help("entries are launched by the host: put what is shared into a .func"));
    }
    // The system's functions are provided by the emulator. All others must be in the file, unless files are
    // linked.
    let provided = ["vprintf", "__assertfail", "malloc", "free", "cudaGraphSetConditional"]
        .contains(&name.text);
    if standalone && function.linkage == Linkage::Extern && function.body.is_none() && !provided {
        return Err(Problem::new(name.span, format!("`{}` is defined in no file", name.text))
            .help("put its definition into this file, or link the file that has it"));
    }
    Ok(())
}

/// Matches the results or the arguments of a call with the results or the parameters that the function declares.
fn call_operands(
    check: &mut Check<'_, '_>,
    index: Option<usize>,
    shapes: &[ParameterShape],
    results: bool,
) -> Result<Vec<CallArgument>> {
    let written = check.written;
    let (operands, span): (&[crate::syntax::Operand], Span) = match index {
        Some(index) => match &written.operands[index].kind {
            OperandKind::List(operands) => (operands, written.operands[index].span),
            _ => (&[], written.operands[index].span),
        },
        None => (&[], written.span),
    };
    let what = if results { "result" } else { "argument" };
    let places = group_vector_elements(shapes);
    if operands.len() != places.len() {
        let plural = if places.len() == 1 { "" } else { "s" };
        return Err(Problem::new(
            span,
            format!("the function has {} {what}{plural}, found {}", places.len(), operands.len()),
        )
        .help(format!("write one {what} for each that the function declares")));
    }
    let mut list = Vec::new();
    for (operand, place) in operands.iter().zip(places) {
        match place[0] {
            ParameterShape::Memory { .. } => {
                list.push(memory_argument(check, operand, place[0], results)?)
            }
            ParameterShape::Register(ty) => {
                list.push(register_argument(check, operand, ty, results)?)
            }
            ParameterShape::Element(ty, _) => {
                list.extend(vector_argument(check, operand, ty, place.len())?)
            }
        }
    }
    Ok(list)
}

/// Groups parameters by operand: the elements of a vector share one operand.
fn group_vector_elements(shapes: &[ParameterShape]) -> Vec<&[ParameterShape]> {
    let mut places = Vec::new();
    let mut rest = shapes;
    while let Some(first) = rest.first() {
        let count = if let ParameterShape::Element(_, lanes) = first { *lanes as usize } else { 1 };
        let (place, after) = rest.split_at(count.clamp(1, rest.len()));
        places.push(place);
        rest = after;
    }
    places
}

/// A vector register, passed as a vector parameter.
fn vector_argument<'a>(
    check: &mut Check<'_, 'a>,
    operand: &crate::syntax::Operand<'a>,
    ty: Type,
    lanes: usize,
) -> Result<Vec<CallArgument>> {
    let found = operand.name().and_then(|name| check.body.find(name));
    match found {
        Some(Binding::Vector(registers))
            if registers.len() == lanes
                && registers
                    .iter()
                    .all(|&register| types::fits(check.register_type(register), ty)) =>
        {
            let operand = |register| CallArgument::Operand(Operand::Register(register));
            Ok(registers.into_iter().map(operand).collect())
        }
        _ => Err(Problem::new(
            operand.span,
            format!("the function has a vector of {lanes} .{} here", ty.name()),
        )
        .help(format!("declare one: .reg .v{lanes} .{} v;", ty.name()))),
    }
}

/// An argument for a parameter in `.param` space: a `.param` variable or, for a scalar, a register. A scalar
/// input may also be a constant (PTX ISA, "Function Declarations and Definitions").
fn memory_argument<'a>(
    check: &mut Check<'_, 'a>,
    operand: &crate::syntax::Operand<'a>,
    shape: ParameterShape,
    results: bool,
) -> Result<CallArgument> {
    let ParameterShape::Memory { size, align, scalar } = shape else {
        return Err(Problem::new(operand.span, "a parameter in a register").help("pass a register"));
    };
    let what = if results { "result" } else { "argument" };
    let found = operand.name().and_then(|name| check.body.find(name));
    if let Some(Binding::Variable(id)) = found {
        let variable = &check.body.function.variables[id.0 as usize];
        if variable.space == Space::Param {
            if variable.size == size && variable.align == align {
                return Ok(CallArgument::Variable(id));
            }
            let message = match variable.size == size {
                true => format!(
                    "`{}` is aligned to {}, the {what} to {align}",
                    variable.name, variable.align
                ),
                false => format!(
                    "`{}` has {} bytes, the {what} has {size}",
                    variable.name, variable.size
                ),
            };
            return Err(
                Problem::new(operand.span, message).help("declare it as the function declares it")
            );
        }
    }
    if let Some(ty) = scalar {
        return register_argument(check, operand, ty, results);
    }
    Err(Problem::new(operand.span, format!("this {what} is passed in .param space")).help(
        "declare a .param variable in the block of the call, fill it with st.param, and pass it",
    ))
}

fn register_argument<'a>(
    check: &mut Check<'_, 'a>,
    operand: &crate::syntax::Operand<'a>,
    ty: Type,
    results: bool,
) -> Result<CallArgument> {
    let node = check.plain_of(operand)?;
    if results {
        if is_sink(operand) {
            let unused = check.body.register("_", ty, operand.span);
            return Ok(CallArgument::Operand(Operand::Register(unused)));
        }
        let register = check.any_register(node)?;
        if !types::fits(check.register_type(register), ty) {
            return Err(Problem::new(operand.span, format!("the result is .{}", ty.name()))
                .help("name a register of that type"));
        }
        return Ok(CallArgument::Operand(Operand::Register(register)));
    }
    check.value(node, ty, Width::Exact).map(CallArgument::Operand)
}

pub(super) fn pmevent(check: &mut Check<'_, '_>) -> Result<Op> {
    check.take("{mask}")?;
    check.shape("a")?;
    check.number(0)?;
    Ok(Op::Nothing)
}

pub(super) fn setmaxnreg(check: &mut Check<'_, '_>) -> Result<Op> {
    check.take("inc|dec; sync; aligned; .u32")?;
    if !check.context.architecture_specific {
        let message = "`setmaxnreg` needs an architecture with its letter";
        return Err(check.error(message, "write .target sm_90a"));
    }
    check.shape("count")?;
    let count = check.number(0)?;
    if !(24..=256).contains(&count) || !count.is_multiple_of(8) {
        let message = format!("{count} is not a valid number of registers");
        return Err(check.operand_error(0, message, "write a multiple of 8 from 24 to 256"));
    }
    Ok(Op::Nothing)
}

pub(super) fn alloca(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty("u32|u64")?;
    check.shape("d, size, {align}")?;
    let d = check.destination(0, ty)?;
    let size = check.source(1, ty)?;
    let align = if check.count() == 3 { check.number(2)? } else { 8 };
    if !align.is_power_of_two() {
        let message = format!("{align} is not an alignment of the stack");
        return Err(check.operand_error(2, message, "write a power of two"));
    }
    Ok(Op::StackAllocate { d, size, align })
}

pub(super) fn stackrestore(check: &mut Check<'_, '_>) -> Result<Op> {
    let a = check.form(".u32|u64", "a")?.a;
    if !matches!(a, Operand::Register(_)) {
        let help = "name the one that stacksave has written";
        return Err(check.operand_error(0, "`stackrestore` takes a register", help));
    }
    Ok(Op::StackRestore { a })
}
