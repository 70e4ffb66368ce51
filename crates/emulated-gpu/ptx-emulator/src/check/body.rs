//! Functions: parameters, and the statements of a body.

use std::collections::HashMap;

use crate::diagnostic::{Problem, Problems};
use crate::program::{
    Function, FunctionId, Guard, Instruction, Label, Limits, LocalId, Op, Parameter, Register,
    RegisterInfo, SourceLine, Space, Type, Variable, VariableId,
};
use crate::source::Span;
use crate::syntax::{self, Block, Declaration, Declarator, Name, Statement};

use super::instruction;
use super::scope::{Binding, Range, Scope, split};
use super::{Context, Result, duplicate, types, variables};

/// As many registers one `.reg` with a vector type, and one function, may name.
const MOST_REGISTERS: usize = 1 << 20;

/// What a function takes and returns: the width, and whether it is an array, of each.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Signature {
    pub results: Vec<Shape>,
    pub parameters: Vec<Shape>,
    /// Only a declaration of nothing but the name, such as `.func f;`.
    pub functions: Vec<FunctionId>,
}

/// What one parameter looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// In `.param` space: bytes.
    Memory {
        size: u64,
        align: u64,
        /// Its type where it is a scalar, which may be passed in a register too.
        scalar: Option<Type>,
    },
    /// In a register.
    Register(Type),
}

impl Shape {
    fn in_memory(variable: &Variable) -> Self {
        let Variable { size, align, element, .. } = *variable;
        Self::Memory { size, align, scalar: (size == element.bytes()).then_some(element) }
    }

    fn of(parameter: Parameter, function: &Function) -> Self {
        match parameter {
            Parameter::Variable(id) => Self::in_memory(&function.variables[id.0 as usize]),
            Parameter::Register(id) => Self::Register(function.registers[id.0 as usize].ty),
        }
    }
}

impl Signature {
    pub(super) fn of(function: &Function) -> Self {
        let shape = |parameter: &Parameter| Shape::of(*parameter, function);
        Self {
            results: function.results.iter().map(shape).collect(),
            parameters: function.parameters.iter().map(shape).collect(),
            functions: Vec::new(),
        }
    }
}

/// A function whose header has been read, and the names of its body so far.
pub(super) struct Body<'a> {
    pub function: Function,
    pub scopes: Vec<Scope<'a>>,
    /// Every label of the function, and where it is once that is known.
    labels: Vec<(String, Option<Label>)>,
    pub signatures: Vec<Signature>,
    instructions: Vec<Instruction>,
    loc: Option<SourceLine>,
}

/// Reads the name and the parameters of a function.
pub(super) fn header<'a>(
    context: &mut Context<'a>,
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
    };
    for (list, results) in [(&function.results, true), (&function.parameters, false)] {
        for declaration in list {
            let parameters = match body.parameter(context, declaration, function.entry) {
                Ok(parameters) => parameters,
                Err(problem) => {
                    problems.push(problem);
                    continue;
                }
            };
            let to =
                if results { &mut body.function.results } else { &mut body.function.parameters };
            to.extend(parameters);
        }
    }
    body
}

impl<'a> Body<'a> {
    fn parameter(
        &mut self,
        context: &mut Context<'a>,
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
        if entry && declaration.names[0].lengths.iter().any(|(length, _)| length.is_none()) {
            return Err(Problem::new(span, "a parameter of an entry has a length")
                .help("write one between the brackets"));
        }
        let unnamed = declaration.names[0].name.text == "_";
        if unnamed {
            // Prototypes and declarations need no names: each is its own.
            let declarator = &declaration.names[0];
            return Ok(vec![match declaration.space {
                Space::Register => Parameter::Register(self.register("_", declaration.ty, span)),
                _ => {
                    let variable = variables::variable(context, declaration, declarator)?;
                    Parameter::Variable(self.local(variable))
                }
            }]);
        }
        self.declare(context, declaration)?;
        let bound = &self.scopes[0].names[declaration.names[0].name.text];
        Ok(match bound {
            Binding::Variable(id) => vec![Parameter::Variable(*id)],
            Binding::Register(register) => vec![Parameter::Register(*register)],
            Binding::Vector(registers) => {
                registers.iter().map(|register| Parameter::Register(*register)).collect()
            }
            _ => Vec::new(),
        })
    }

    fn local(&mut self, variable: Variable) -> LocalId {
        self.function.variables.push(variable);
        LocalId(self.function.variables.len() as u32 - 1)
    }

    /// A new register.
    pub(super) fn register(&mut self, name: &str, ty: Type, span: Span) -> Register {
        self.function.registers.push(RegisterInfo { name: name.to_owned(), ty, span });
        Register(self.function.registers.len() as u32 - 1)
    }

    /// A register, or one for each element of a vector.
    fn registers(&mut self, name: &str, ty: Type, lanes: u32, span: Span) -> Binding {
        if lanes == 1 {
            return Binding::Register(self.register(name, ty, span));
        }
        let element = |lane: u32| match ["x", "y", "z", "w"].get(lane as usize) {
            Some(letter) => format!("{name}.{letter}"),
            None => format!("{name}.{lane}"),
        };
        Binding::Vector((0..lanes).map(|lane| self.register(&element(lane), ty, span)).collect())
    }

    /// Declares the names of a declaration in the innermost block.
    fn declare(&mut self, context: &mut Context<'a>, declaration: &Declaration<'a>) -> Result<()> {
        for declarator in &declaration.names {
            let name = declarator.name;
            if name.text == "_" {
                return Err(Problem::new(name.span, "`_` is no name")
                    .help("it stands for what is thrown away: choose another one"));
            }
            let scope = self.scopes.last_mut().expect("a body has a scope");
            let range = declarator.range.is_some();
            let ranged = split(name.text).is_some_and(|(prefix, number)| {
                scope.ranges.get(prefix).is_some_and(|range| number < range.count)
            });
            if !range && (ranged || scope.names.contains_key(name.text))
                || range && scope.ranges.contains_key(name.text)
            {
                return Err(duplicate(name));
            }
            if self.function.registers.len() >= MOST_REGISTERS {
                return Err(Problem::new(name.span, "too many registers")
                    .help(format!("a function may use {MOST_REGISTERS}")));
            }
            let binding = match declaration.space {
                Space::Register => self.declare_register(declaration, declarator)?,
                Space::Global | Space::Const => {
                    let variable = variables::variable(context, declaration, declarator)?;
                    context.module.variables.push(variable);
                    Some(Binding::Static(VariableId(context.module.variables.len() as u32 - 1)))
                }
                _ => {
                    let variable = variables::variable(context, declaration, declarator)?;
                    Some(Binding::Variable(self.local(variable)))
                }
            };
            if let Some(binding) = binding {
                self.scopes
                    .last_mut()
                    .expect("a body has a scope")
                    .names
                    .insert(name.text, binding);
            }
        }
        Ok(())
    }

    fn declare_register(
        &mut self,
        declaration: &Declaration<'a>,
        declarator: &Declarator<'a>,
    ) -> Result<Option<Binding>> {
        let Declaration { ty, lanes, ty_span, .. } = *declaration;
        let name = declarator.name;
        if let Some((_, span)) = declarator.lengths.first() {
            return Err(Problem::new(*span, "a register can't be an array").help(format!(
                "declare several as {}<8>, or an array as .local or .shared",
                name.text
            )));
        }
        if declarator.initial.is_some() {
            return Err(Problem::new(name.span, "a register can't have an initial value")
                .help("assign it with mov"));
        }
        if lanes > 1 && (ty == Type::Pred || types::bits(ty) * lanes > 128) {
            return Err(Problem::new(ty_span, "a vector has at most 128 bits, and no predicates")
                .help("take fewer or narrower elements"));
        }
        if let Some(count) = declarator.range {
            let taken = self.scopes.last().and_then(|scope| {
                let covered = |known: &&&str| {
                    split(known)
                        .is_some_and(|(prefix, number)| prefix == name.text && number < count)
                };
                scope.names.keys().find(covered).copied()
            });
            if let Some(taken) = taken {
                return Err(
                    duplicate(name).label(format!("`{taken}` is one of them, and declared before"))
                );
            }
            let range = Range { count, ty, lanes, span: name.span, named: HashMap::new() };
            self.scopes.last_mut().expect("a body has a scope").ranges.insert(name.text, range);
            return Ok(None);
        }
        Ok(Some(self.registers(name.text, ty, lanes, name.span)))
    }

    /// What a name stands for, looked up from the innermost block outwards.
    pub(super) fn find(&mut self, name: &str) -> Option<Binding> {
        for depth in (0..self.scopes.len()).rev() {
            if let Some(binding) = self.scopes[depth].names.get(name) {
                return Some(binding.clone());
            }
            if let Some((prefix, number)) = split(name) {
                let Some(range) = self.scopes[depth].ranges.get(prefix) else { continue };
                if number >= range.count || self.function.registers.len() >= MOST_REGISTERS {
                    continue;
                }
                if let Some(binding) = range.named.get(&number) {
                    return Some(binding.clone());
                }
                let (ty, lanes, span) = (range.ty, range.lanes, range.span);
                let binding = self.registers(name, ty, lanes, span);
                if let Some(range) = self.scopes[depth].ranges.get_mut(prefix) {
                    range.named.insert(number, binding.clone());
                }
                return Some(binding);
            }
        }
        None
    }

    /// An error for a register or symbol that is not declared.
    pub(super) fn undeclared(&self, context: &Context<'a>, name: &str, span: Span) -> Problem {
        // `%r7` when there is `%r<5>`.
        for scope in self.scopes.iter().rev() {
            if let Some((prefix, _)) = split(name)
                && let Some(range) = scope.ranges.get(prefix)
            {
                return Problem::new(span, format!("undeclared register `{name}`"))
                    .label(format!(
                        "{prefix}<{}> ends at {prefix}{}",
                        range.count,
                        range.count.saturating_sub(1)
                    ))
                    .help(format!("declare more of them: {prefix}<…>"));
            }
        }
        let what = if name.starts_with('%') { "register" } else { "name" };
        let problem = Problem::new(span, format!("undeclared {what} `{name}`"));
        if name.starts_with('%') && super::special::is_vector(name) {
            return problem.help(format!("name a component: {name}.x, {name}.y or {name}.z"));
        }
        let scopes = || self.scopes.iter();
        let count: usize = scopes().map(|scope| scope.names.len() + scope.ranges.len()).sum();
        let own = scopes().flat_map(|scope| scope.names.keys().chain(scope.ranges.keys()));
        let names = own.chain(context.names.keys()).copied().chain(super::special::NAMES);
        let others = names.filter(|known| *known != name);
        let help = match context.closest(name, count + context.names.len(), others) {
            Some(close) => format!("did you mean `{close}`?"),
            None if what == "register" => format!("declare it: .reg .b32 {name};"),
            None => "declare it above: PTX is read from top to bottom".into(),
        };
        problem.help(help)
    }

    /// Reads the statements of the body.
    pub(super) fn body(
        &mut self,
        context: &mut Context<'a>,
        block: &Block<'a>,
        problems: &mut Problems,
    ) {
        // The outermost block shares its names with the parameters.
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

    fn block(&mut self, context: &mut Context<'a>, block: &Block<'a>, problems: &mut Problems) {
        // Labels can be branched to before they come.
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
                problems.push(problem);
            }
        }
    }

    fn bind(&mut self, name: Name<'a>, binding: Binding) -> Result<()> {
        let scope = self.scopes.last_mut().expect("a body has a scope");
        if scope.names.contains_key(name.text) {
            return Err(duplicate(name));
        }
        scope.names.insert(name.text, binding);
        Ok(())
    }

    fn statement(
        &mut self,
        context: &mut Context<'a>,
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
            Statement::Declaration(declaration) => self.declare(context, declaration),
            Statement::Block(block) => {
                self.scopes.push(Scope::default());
                self.block(context, block, problems);
                self.scopes.pop();
                Ok(())
            }
            Statement::Location { file, line } => {
                // Line 0 stands for no line at all.
                self.loc = (*line > 0).then_some(SourceLine { file: *file, line: *line });
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

    /// The index of a label that a branch names.
    pub(super) fn label(&mut self, context: &Context<'a>, name: Name<'a>) -> Result<usize> {
        match self.find(name.text) {
            Some(Binding::Label(index)) => Ok(index),
            Some(_) => Err(Problem::new(name.span, format!("`{}` is not a label", name.text))
                .help("a branch goes to a label of the same function: name: …")),
            None => {
                let labels = self.scopes.iter().flat_map(|scope| &scope.names);
                let labels = labels.filter(|(_, binding)| matches!(binding, Binding::Label(_)));
                let count = self.scopes.iter().map(|scope| scope.names.len()).sum();
                let help = context.closest(name.text, count, labels.map(|(label, _)| *label));
                let help = help.map_or(
                    "put it into this function, in this block or in one around it".to_owned(),
                    |close| format!("did you mean `{close}`?"),
                );
                Err(Problem::new(name.span, format!("there is no label `{}` here", name.text))
                    .help(help))
            }
        }
    }

    fn call_targets(
        &mut self,
        context: &Context<'a>,
        name: Name<'a>,
        functions: &[Name<'a>],
    ) -> Result<()> {
        let mut signature: Option<Signature> = None;
        for function in functions {
            let Some(super::Global::Function(id)) = context.names.get(function.text) else {
                return Err(self.undeclared(context, function.text, function.span));
            };
            let found = Signature::of(&context.module.functions[id.0 as usize]);
            let known = signature.get_or_insert_with(|| found.clone());
            if (&known.results, &known.parameters) != (&found.results, &found.parameters) {
                return Err(Problem::new(
                    function.span,
                    "the functions of a list take the same parameters",
                )
                .help("call those that differ through another list"));
            }
            known.functions.push(*id);
        }
        self.signatures.extend(signature);
        self.bind(name, Binding::Signature(self.signatures.len() - 1))
    }

    fn prototype(
        &mut self,
        context: &Context<'a>,
        signature: &syntax::Signature<'a>,
    ) -> Result<Signature> {
        let shape = |declaration: &Declaration<'a>| match declaration.space {
            Space::Register => Ok(Shape::Register(declaration.ty)),
            Space::Param => {
                let variable = variables::variable(context, declaration, &declaration.names[0])?;
                Ok(Shape::in_memory(&variable))
            }
            _ => {
                Err(Problem::new(declaration.ty_span, "a parameter is declared `.param` or `.reg`")
                    .help("change the state space in front of it"))
            }
        };
        Ok(Signature {
            results: signature.results.iter().map(shape).collect::<Result<_>>()?,
            parameters: signature.parameters.iter().map(shape).collect::<Result<_>>()?,
            functions: Vec::new(),
        })
    }

    fn instruction(
        &mut self,
        context: &mut Context<'a>,
        written: &syntax::Instruction<'a>,
    ) -> Result<()> {
        let guard = match written.guard {
            Some((name, negated)) => Some(self.guard(context, name, negated)?),
            None => None,
        };
        let ops = instruction::check(self, context, written)?;
        let (span, loc) = (written.span, self.loc);
        self.instructions.extend(ops.into_iter().map(|op| Instruction { guard, op, span, loc }));
        Ok(())
    }

    fn guard(&mut self, context: &Context<'a>, name: Name<'a>, negated: bool) -> Result<Guard> {
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
