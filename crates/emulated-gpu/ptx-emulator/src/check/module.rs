//! Checks at module scope, in the order of the file: version, target, variables and functions.

use std::collections::HashMap;

use crate::diagnostic::{Problem, Problems};
use crate::program::{Function, FunctionId, Limits, Linkage, Module, Space, Type, VariableId};
use crate::source::Span;
use crate::syntax::{self, Declaration, Directive, File, Item, Name};

use super::body;
use super::context::{Global, ModuleContext, ModuleRegister, Result, duplicate};
use super::scope::split;
use super::signature::Signature;
use super::{known, target, variables};

/// Maximum total size of a module's `.const` variables in bytes (PTX ISA, "Constant State Space").
const CONSTANT_BANK: u64 = 1 << 16;

/// Limit on registers at module scope.
const MAX_REGISTERS: usize = 1 << 10;

/// Checks a file, item by item; `standalone` means that no other files are linked with it.
pub(super) fn check(file: &File, standalone: bool, problems: &mut Problems) -> Module {
    let mut context = ModuleContext {
        module: Module { version: (6, 0), ..Module::default() },
        names: HashMap::new(),
        prototypes: Vec::new(),
        registers: Vec::new(),
        standalone,
        separate_samplers: file.independent,
        architecture_specific: false,
        comparisons: std::cell::Cell::new(0),
    };
    if let Err(problem) = header(file, &mut context) {
        problems.push(problem);
        // Assume the newest target, because errors about newer features would only repeat the error in the
        // header.
        context.module.target = u32::MAX;
        context.module.version = (u32::MAX, 0);
    }
    for word in &file.directives {
        if let Err(problem) = context.require_directive(*word) {
            problems.push(problem);
        }
    }
    for item in &file.items {
        let (checked, names) = match item {
            Item::Variable(declaration) => {
                let names = declaration.names.iter().map(|declarator| declarator.name.text);
                (declare(&mut context, declaration), names.collect())
            }
            Item::Function(function) => {
                (self::function(&mut context, function, problems), vec![function.name.text])
            }
            Item::File(index, name) => {
                context.module.files.push((*index, name.clone()));
                continue;
            }
            Item::Alias(alias, of) => (self::alias(&mut context, *alias, *of), Vec::new()),
        };
        if let Err(problem) = checked {
            problems.push_for(problem, names);
        }
    }
    for function in &context.module.functions {
        if function.body.is_none() && function.linkage != Linkage::Extern {
            problems.push(
                Problem::new(function.span, format!("`{}` is never defined", function.name))
                    .help("put its body into this file: no other file is linked"),
            );
        }
    }
    constant_bank(&context.module, problems);
    context.module.prototypes = context
        .prototypes
        .iter()
        .map(|prototype| prototype.possible_callees(&context.module.functions))
        .collect();
    known::check(&context.module, problems);
    context.module
}

/// Returns an error if the constants of a module don't fit into one bank.
fn constant_bank(module: &Module, problems: &mut Problems) {
    let mut used = 0u64;
    for variable in module.variables.iter().filter(|variable| variable.space == Space::Const) {
        used = used.saturating_add(variable.size);
        if used > CONSTANT_BANK {
            let message = format!("more than {CONSTANT_BANK} bytes of constants");
            let problem = Problem::new(variable.span, message);
            problems.push(problem.help("declare the largest one .global"));
            return;
        }
    }
}

fn header(file: &File, context: &mut ModuleContext) -> Result<()> {
    let start = Span { start: 0, end: 0 };
    let Some((version, span)) = file.version else {
        return Err(Problem::new(start, "the version of PTX is missing")
            .help("begin the file with .version 8.0 and .target sm_80"));
    };
    if !target::is_known(version) {
        return Err(Problem::new(span, format!("there is no PTX {}.{}", version.0, version.1))
            .help("write a version from 6.0 to 9.x"));
    }
    // PTX 5.1 was never released, so it is treated as 6.0, as in ptxas.
    context.module.version = if version == (5, 1) { (6, 0) } else { version };
    let Some(name) = file.target else {
        return Err(Problem::new(span, "the target is missing")
            .help("write .target sm_80, or another architecture, below .version"));
    };
    (context.module.target, context.architecture_specific) = target::parse(name, version)?;
    Ok(())
}

fn declare<'a>(context: &mut ModuleContext<'a>, declaration: &Declaration<'a>) -> Result<()> {
    let span = declaration.names.first().map_or(declaration.ty_span, |name| name.name.span);
    match declaration.space {
        Space::Register | Space::Local if context.module.version >= (3, 0) => {
            return Err(Problem::new(span, "this variable can't be declared outside functions")
                .help("move it into the function that uses it: from PTX 3.0 on each has its own"));
        }
        Space::Register => return declare_registers(context, declaration),
        Space::Param => {
            return Err(Problem::new(span, "this variable can't be declared outside functions")
                .help("move it into the function that uses it"));
        }
        _ => {}
    }
    for declarator in &declaration.names {
        let variable = variables::variable(context, declaration, declarator)?;
        let name = declarator.name;
        if context.registers.iter().any(|register| register.name.text == name.text) {
            return Err(duplicate(name));
        }
        match context.names.get(name.text) {
            // An `.extern` declaration announces a definition that follows.
            Some(Global::Variable(id)) => {
                let id = id.0 as usize;
                let known = &mut context.module.variables[id];
                let announced =
                    known.linkage == Linkage::Extern || variable.linkage == Linkage::Extern;
                if !announced || (known.space, known.element) != (variable.space, variable.element)
                {
                    return Err(duplicate(name));
                }
                if variable.linkage == Linkage::Internal || known.linkage == Linkage::Internal {
                    return Err(Problem::new(
                        name.span,
                        format!("`{}` is both .extern and private", name.text),
                    )
                    .help("declare it .visible, or remove the .extern declaration"));
                }
                if variable.linkage != Linkage::Extern {
                    *known = variable;
                }
            }
            Some(Global::Function(_)) => return Err(duplicate(name)),
            None => {
                let id = VariableId(context.module.variables.len() as u32);
                context.module.variables.push(variable);
                context.names.insert(name.text, Global::Variable(id));
            }
        }
    }
    Ok(())
}

/// Registers of module scope, which are shared by the functions of a kernel.
fn declare_registers<'a>(
    context: &mut ModuleContext<'a>,
    declaration: &Declaration<'a>,
) -> Result<()> {
    let Declaration { ty, lanes, .. } = *declaration;
    for declarator in &declaration.names {
        let (name, range) = (declarator.name, declarator.range);
        let covers = |known: &ModuleRegister, name: &str| match known.range {
            None => known.name.text == name,
            Some(count) => {
                split(name).is_some_and(|(prefix, at)| prefix == known.name.text && at < count)
            }
        };
        let own = ModuleRegister { name, range, ty, lanes };
        let taken = |known: &ModuleRegister| {
            covers(known, name.text)
                || covers(&own, known.name.text)
                || known.name.text == name.text && known.range.is_some() && range.is_some()
        };
        if context.registers.iter().any(taken) || context.names.contains_key(name.text) {
            return Err(duplicate(name));
        }
        if context.registers.len() >= MAX_REGISTERS {
            return Err(Problem::new(name.span, "too many registers at module scope")
                .help(format!("declare at most {MAX_REGISTERS}, or a range as %r<8>")));
        }
        if declarator.initial.is_some() || !declarator.lengths.is_empty() {
            return Err(Problem::new(
                name.span,
                "a register can't be an array or have an initial value",
            )
            .help("declare a range as %r<8>, and assign with mov"));
        }
        if lanes > 1 && (ty == Type::Pred || u64::from(lanes) * ty.bytes() > 16) {
            let message = "a vector has at most 128 bits, and no predicates";
            return Err(Problem::new(name.span, message).help("take fewer or narrower elements"));
        }
        context.registers.push(own);
    }
    Ok(())
}

fn function<'a>(
    context: &mut ModuleContext<'a>,
    function: &syntax::Function<'a>,
    problems: &mut Problems,
) -> Result<()> {
    let name = function.name;
    let limits = limits(function, context.module.version, problems);
    if function.body.is_some() && function.linkage == Linkage::Extern {
        return Err(Problem::new(name.span, format!("`{}` is .extern and has a body", name.text))
            .help("write .visible in place of .extern, or remove the body"));
    }
    let mut checked = body::header(context, function, limits, problems);
    let id = match context.names.get(name.text) {
        Some(Global::Variable(_)) => return Err(duplicate(name)),
        Some(Global::Function(id)) => {
            let known = &context.module.functions[id.0 as usize];
            if known.body.is_some() && function.body.is_some() {
                return Err(duplicate(name));
            }
            if known.entry != function.entry
                || Signature::of_function(known) != Signature::of_function(&checked.function)
            {
                return Err(Problem::new(
                    name.span,
                    format!("`{}` was declared with other parameters", name.text),
                )
                .help("make the declaration and the definition agree"));
            }
            *id
        }
        None => {
            let id = FunctionId(context.module.functions.len() as u32);
            context.module.functions.push(checked.function.clone());
            context.names.insert(name.text, Global::Function(id));
            id
        }
    };
    if let Some(block) = &function.body {
        // A function may call itself, so its header is made known before its body is read.
        context.module.functions[id.0 as usize] =
            Function { body: Some(Vec::new()), ..checked.function.clone() };
        checked.body(context, block, problems);
        context.module.functions[id.0 as usize] = checked.function;
    }
    Ok(())
}

fn alias<'a>(context: &mut ModuleContext<'a>, alias: Name<'a>, of: Name<'a>) -> Result<()> {
    let Some(Global::Function(target)) = context.names.get(of.text).copied() else {
        return Err(Problem::new(of.span, format!("undeclared function `{}`", of.text))
            .help("an alias names a .func that is defined above"));
    };
    let function = &context.module.functions[target.0 as usize];
    if function.entry || function.body.is_none() {
        return Err(Problem::new(of.span, format!("`{}` can't have an alias", of.text))
            .help("an alias names a .func that is defined above"));
    }
    let copy = Function { name: alias.text.to_owned(), span: alias.span, ..function.clone() };
    match context.names.get(alias.text) {
        Some(Global::Function(id)) if context.module.functions[id.0 as usize].body.is_none() => {
            // Earlier calls refer to the declaration, so the declaration is replaced by the function.
            context.module.functions[id.0 as usize] = copy;
        }
        Some(Global::Function(_)) => return Err(duplicate(alias)),
        _ => {
            return Err(Problem::new(alias.span, format!("undeclared function `{}`", alias.text))
                .help("declare the alias as a .func, without a body, above"));
        }
    }
    Ok(())
}

/// The directives of functions: the name, the minimum and the maximum number of values, and whether the directive
/// is for `.func` rather than `.entry`.
const FUNCTION_DIRECTIVES: [(&str, usize, usize, bool); 13] = [
    (".maxntid", 1, 3, false),
    (".reqntid", 1, 3, false),
    (".reqnctapercluster", 1, 3, false),
    (".maxnctapersm", 1, 1, false),
    (".minnctapersm", 1, 1, false),
    (".maxnreg", 1, 1, false),
    (".maxclusterrank", 1, 1, false),
    (".abi_preserve", 1, 1, true),
    (".abi_preserve_control", 1, 1, true),
    (".noreturn", 0, 0, true),
    (".explicitcluster", 0, 0, false),
    (".blocksareclusters", 0, 0, false),
    (".unique", 0, 0, false),
];

/// Performance-tuning directives: the limits on a launch, and errors for unknown directives.
fn limits(function: &syntax::Function, version: (u32, u32), problems: &mut Problems) -> Limits {
    let mut limits = Limits::default();
    for directive in &function.directives {
        let name = directive.name.text;
        let row = FUNCTION_DIRECTIVES.iter().find(|row| row.0 == name);
        let known = row.filter(|_| name != ".maxnctapersm" || version < (2, 1));
        let Some(&(_, least, most, of_function)) = known else {
            problems.push(unknown_directive(directive));
            continue;
        };
        let mut shape = [1; 3];
        for (to, (value, _)) in shape.iter_mut().zip(&directive.values) {
            *to = *value;
        }
        match name {
            ".maxntid" => limits.max_threads = Some(shape),
            ".reqntid" => limits.required_threads = Some(shape),
            ".reqnctapercluster" => limits.required_cluster = Some(shape),
            _ => {}
        }
        if of_function == function.entry {
            let (owner, other) =
                if of_function { (".func", "entry") } else { (".entry", "function") };
            let message = format!("`{}` is a directive of {owner} only", directive.name.text);
            let help = format!("remove it from this {other}");
            problems.push(Problem::new(directive.name.span, message).help(help));
            continue;
        }
        let wrong = !(least..=most).contains(&directive.values.len());
        if wrong || directive.values.iter().any(|(value, _)| *value == 0) {
            let name = directive.name;
            let numbers =
                if least == most { format!("{most}") } else { format!("{least} to {most}") };
            problems.push(
                Problem::new(name.span, format!("`{}` takes {numbers} numbers from 1", name.text))
                    .help("separate them with commas"),
            );
        }
    }
    if limits.max_threads.is_some() && limits.required_threads.is_some() {
        problems.push(
            Problem::new(function.name.span, "`.maxntid` and `.reqntid` exclude each other")
                .help("remove one of them"),
        );
    }
    limits
}

fn unknown_directive(directive: &Directive) -> Problem {
    let name = directive.name;
    // `.pragma` is read by the parser. Directives that are obsolete or have no description are not suggested.
    let rows = FUNCTION_DIRECTIVES.iter().map(|row| row.0).chain([".pragma"]);
    let suggested = rows.filter(|name| !matches!(*name, ".maxnctapersm" | ".unique"));
    let help = crate::diagnostic::closest(name.text, suggested);
    Problem::new(name.span, format!("`{}` is not a directive of functions", name.text)).help(
        match help {
            Some(name) => format!("did you mean `{name}`?"),
            None => "remove it, or put the body's { in front of it".into(),
        },
    )
}
