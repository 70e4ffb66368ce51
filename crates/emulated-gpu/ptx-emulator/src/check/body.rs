//! Functions: parameters and the statements of their bodies.

pub(super) mod function;
mod names;
mod prototypes;

use crate::diagnostic::{Problem, Problems};
use crate::program::{
    Function, Guard, Instruction, Label, Limits, Op, Operand, Parameter, SourceLine, Space, Symbol,
    Type,
};
use crate::source::Span;
use crate::syntax::{self, Block, Declaration, Name, Statement};

use self::function::Body;
use super::context::{ModuleContext, Result};
use super::instruction;
use super::scope::{Binding, Scope};
use super::variables;

/// Reads the name and the parameters of a function.
pub(super) fn header<'a>(
    context: &mut ModuleContext<'a>,
    function: &syntax::Function<'a>,
    limits: Limits,
    problems: &mut Problems,
) -> Body<'a> {
    let mut body = Body {
        function: Function {
            name: function.name.text.to_owned(),
            entry: function.entry,
            linkage: function.linkage,
            parameters: Vec::new(),
            results: Vec::new(),
            registers: Vec::new(),
            variables: Vec::new(),
            body: None,
            labels: Vec::new(),
            limits,
            span: function.name.span,
        },
        scopes: vec![Scope::default()],
        labels: Vec::new(),
        signatures: Vec::new(),
        instructions: Vec::new(),
        loc: None,
        used_bytes: None,
    };
    if !context.registers.is_empty() {
        body.declare_shared(&context.registers);
    }
    if let [_, _, ..] = &function.results[..]
        && let Some(result) = function.results.iter().find(|result| result.space == Space::Param)
    {
        let what = "a result in .param space is the only one";
        problems.push(
            Problem::new(result.names[0].name.span, what)
                .help("declare several results .reg, or put them into one .param array"),
        );
    }
    for (list, results) in [(&function.results, true), (&function.parameters, false)] {
        for declaration in list {
            let parameters = match body.parameter(context, declaration, function.entry) {
                Ok(parameters) => parameters,
                Err(problem) => {
                    problems.push_for(problem, names_of(declaration));
                    continue;
                }
            };
            let to =
                if results { &mut body.function.results } else { &mut body.function.parameters };
            to.extend(parameters);
        }
    }
    if function.entry
        && let Err(problem) = parameter_bytes(context, &body, function.name.span)
    {
        problems.push(problem);
    }
    body
}

/// Maximum size of an entry's parameters in bytes (PTX ISA, "Kernel Function Parameters").
const MAX_PARAMETER_BYTES: u64 = 32_764;
/// The parameter sizes above which a later target and version are needed, as in `ptxas`.
const PARAMETER_BYTES: [(u64, u32, (u32, u32)); 2] = [(256, 10, (1, 5)), (4_352, 70, (8, 1))];

fn parameter_bytes(context: &ModuleContext, body: &Body, span: Span) -> Result<()> {
    let bytes = body.function.variables.iter().fold(0u64, |end, variable| {
        end.next_multiple_of(variable.align.max(1)).saturating_add(variable.size)
    });
    if bytes > MAX_PARAMETER_BYTES {
        return Err(Problem::new(
            span,
            format!("`{}` has {bytes} bytes of parameters", body.function.name),
        )
        .help(format!("pass at most {MAX_PARAMETER_BYTES}, and the rest through an address")));
    }
    for (least, target, version) in PARAMETER_BYTES.into_iter().filter(|row| bytes > row.0) {
        let what = format!("a kernel with more than {least} bytes of parameters");
        context.require(span, &what, target, version)?;
    }
    Ok(())
}

/// The names that a declaration declares.
fn names_of<'d>(declaration: &'d Declaration<'_>) -> impl Iterator<Item = &'d str> {
    declaration.names.iter().map(|declarator| declarator.name.text)
}

/// The parameters that a binding refers to: one for each element of a vector.
fn parameters_of(binding: &Binding) -> Vec<Parameter> {
    match binding {
        Binding::Variable(id) => vec![Parameter::Variable(*id)],
        Binding::Register(register) => vec![Parameter::Register(*register)],
        Binding::Vector(registers) => {
            registers.iter().map(|register| Parameter::Register(*register)).collect()
        }
        _ => Vec::new(),
    }
}

impl<'a> Body<'a> {
    fn parameter(
        &mut self,
        context: &mut ModuleContext<'a>,
        declaration: &Declaration<'a>,
        entry: bool,
    ) -> Result<Vec<Parameter>> {
        let span = declaration.names[0].name.span;
        if !matches!(declaration.space, Space::Param | Space::Register)
            || entry && declaration.space == Space::Register
        {
            let spaces = if entry { "`.param`" } else { "`.param` or `.reg`" };
            return Err(Problem::new(span, format!("a parameter is declared {spaces}"))
                .help("change the state space in front of it"));
        }
        if !entry && declaration.opaque.is_some() {
            return Err(Problem::new(span, "a function takes no texture and no surface")
                .help("pass the handle, in a .u64 parameter"));
        }
        let open = declaration.names[0].lengths.iter().any(|(length, _)| length.is_none());
        if entry && open {
            return Err(Problem::new(span, "a parameter of an entry has a length")
                .help("write one between the brackets"));
        }
        match declaration.space {
            Space::Param if entry => {
                context.require(span, "a parameter of an entry", 10, (1, 4))?
            }
            Space::Param => context.require(span, "a `.param` of a function", 20, (2, 0))?,
            _ => {}
        }
        if open {
            context.require(span, "an array without a length", 30, (6, 0))?;
        }
        let unnamed = declaration.names[0].name.text == "_";
        if unnamed {
            // Parameters of prototypes and declarations may be unnamed, so each is a separate parameter.
            let declarator = &declaration.names[0];
            if declaration.space == Space::Register {
                let shape = (declaration.ty, declaration.lanes);
                return Ok(parameters_of(&self.registers("_", shape, false, span)));
            }
            let variable = variables::variable(context, declaration, declarator)?;
            return Ok(vec![Parameter::Variable(self.local(variable))]);
        }
        self.declare(context, declaration)?;
        let bound = self.find(declaration.names[0].name.text);
        Ok(bound.map_or_else(Vec::new, |bound| parameters_of(&bound)))
    }

    /// Reads the statements of the body.
    pub(super) fn body(
        &mut self,
        context: &mut ModuleContext<'a>,
        block: &Block<'a>,
        problems: &mut Problems,
    ) {
        // The outermost block shares its scope with the parameters.
        self.block(context, block, problems);
        let labels = std::mem::take(&mut self.labels);
        let end = Label(self.instructions.len() as u32);
        let at = |label: Label| labels[label.0 as usize].1.unwrap_or(end);
        for instruction in &mut self.instructions {
            match &mut instruction.op {
                Op::Branch { target, .. } => *target = at(*target),
                Op::BranchIndexed { targets, .. } => {
                    for target in targets {
                        *target = at(*target);
                    }
                }
                _ => {}
            }
        }
        self.function.labels =
            labels.into_iter().filter_map(|(name, label)| Some((name, label?))).collect();
        self.function.body = Some(std::mem::take(&mut self.instructions));
    }

    fn block(
        &mut self,
        context: &mut ModuleContext<'a>,
        block: &Block<'a>,
        problems: &mut Problems,
    ) {
        // A label can be used before its definition, so all labels of a block are bound first.
        for statement in &block.statements {
            if let Statement::Label(name) = statement {
                let index = self.labels.len();
                self.labels.push((name.text.to_owned(), None));
                if let Err(problem) = self.bind(*name, Binding::Label(index)) {
                    problems.push(problem.label("another label or variable has this name"));
                }
            }
        }
        for statement in &block.statements {
            if let Err(problem) = self.statement(context, statement, problems) {
                match statement {
                    Statement::Declaration(own) => problems.push_for(problem, names_of(own)),
                    _ => problems.push(problem),
                }
            }
        }
    }

    fn statement(
        &mut self,
        context: &mut ModuleContext<'a>,
        statement: &Statement<'a>,
        problems: &mut Problems,
    ) -> Result<()> {
        match statement {
            Statement::Label(name) => {
                let here = Label(self.instructions.len() as u32);
                if let Some(Binding::Label(index)) = self.find(name.text) {
                    self.labels[index].1.get_or_insert(here);
                }
                Ok(())
            }
            Statement::Declaration(declaration) => {
                if declaration.space == Space::Param {
                    context.require(declaration.ty_span, "a `.param` in a body", 10, (2, 0))?;
                }
                self.declare(context, declaration)
            }
            Statement::Block(block) => {
                self.scopes.push(Scope::default());
                self.block(context, block, problems);
                self.scopes.pop();
                Ok(())
            }
            Statement::Location { file, line } => {
                // Line 0 means that there is no source line.
                self.loc = (*line > 0).then_some(SourceLine { file: *file, line: *line });
                Ok(())
            }
            Statement::UsedBytes(mask) => {
                self.used_bytes = Some(*mask);
                Ok(())
            }
            Statement::BranchTargets(name, labels) => {
                let targets = labels
                    .iter()
                    .map(|label| self.label(context, *label))
                    .collect::<Result<_>>()?;
                self.bind(*name, Binding::BranchTargets(targets))
            }
            Statement::CallTargets(name, functions) => self.call_targets(context, *name, functions),
            Statement::CallPrototype(name, signature) => {
                let signature = self.prototype(context, signature)?;
                self.signatures.push(signature);
                self.bind(*name, Binding::Signature(self.signatures.len() - 1))
            }
            Statement::Instruction(instruction) => self.instruction(context, instruction),
        }
    }

    fn instruction(
        &mut self,
        context: &mut ModuleContext<'a>,
        written: &syntax::Instruction<'a>,
    ) -> Result<()> {
        let guard = match written.guard {
            Some((name, negated)) => Some(self.guard(context, name, negated)?),
            None => None,
        };
        let ops = instruction::check(self, context, written);
        self.used_bytes = None;
        let ops = ops?;
        if let (Some(guard), Some(op)) = (guard, ops.last()) {
            self.unpredicated(op, guard, written)?;
        }
        let (span, loc) = (written.span, self.loc);
        self.instructions.extend(ops.into_iter().map(|op| Instruction { guard, op, span, loc }));
        Ok(())
    }

    /// Returns an error if an `ld.param` or `st.param` of a call's variable has a predicate: arguments and results must
    /// be moved on every path to the call, as in ptxas.
    fn unpredicated(&self, op: &Op, guard: Guard, written: &syntax::Instruction) -> Result<()> {
        let (Op::Load { space: Space::Param, address, .. }
        | Op::Store { space: Space::Param, address, .. }) = op
        else {
            return Ok(());
        };
        let Operand::Address(Symbol::Local(id), _) = address.base else { return Ok(()) };
        let function = &self.function;
        let own = Parameter::Variable(id);
        if function.parameters.contains(&own) || function.results.contains(&own) {
            return Ok(());
        }
        let name = &function.variables[id.0 as usize].name;
        let predicate = &function.registers[guard.register.0 as usize].name;
        let opcode = written.opcode.text;
        Err(Problem::new(
            written.span,
            format!("`{opcode}.param` of `{name}`, which belongs to a call, takes no predicate"),
        )
        .help(format!(
            "remove @{}{predicate}, or branch around it and the call",
            if guard.negated { "!" } else { "" }
        )))
    }

    fn guard(
        &mut self,
        context: &ModuleContext<'a>,
        name: Name<'a>,
        negated: bool,
    ) -> Result<Guard> {
        match self.find(name.text) {
            Some(Binding::Register(register))
                if self.function.registers[register.0 as usize].ty == Type::Pred =>
            {
                Ok(Guard { register, negated })
            }
            Some(_) => Err(Problem::new(name.span, format!("`{}` is not a predicate", name.text))
                .help("a guard is a register declared .pred: make one with setp")),
            None => Err(self.undeclared(context, name.text, name.span)),
        }
    }
}
