//! The names in a body: registers, variables and labels are declared, and looked up block by block.

use std::collections::HashMap;

use super::function::Body;
use crate::check::context::ModuleRegister;
use crate::check::context::{ModuleContext, Result, duplicate};
use crate::check::scope::{Binding, Range, Scope, split};
use crate::check::{special, variables};
use crate::diagnostic::Problem;
use crate::program::{LocalId, Register, RegisterInfo, Space, Type, Variable, VariableId};
use crate::source::Span;
use crate::syntax::{Declaration, Declarator, Name};

/// Limit on the registers of one `.reg` with a vector type, and of one function.
const MAX_REGISTERS: usize = 1 << 20;

impl<'a> Body<'a> {
    pub(in crate::check) fn local(&mut self, variable: Variable) -> LocalId {
        self.function.variables.push(variable);
        LocalId(self.function.variables.len() as u32 - 1)
    }

    /// A new register.
    pub(in crate::check) fn register(&mut self, name: &str, ty: Type, span: Span) -> Register {
        let (name, lanes, shared) = (name.to_owned(), 1, false);
        self.function.registers.push(RegisterInfo { name, ty, lanes, shared, span });
        Register(self.function.registers.len() as u32 - 1)
    }

    /// Creates a register, or one for each element of a vector.
    pub(in crate::check) fn registers(
        &mut self,
        name: &str,
        (ty, lanes): (Type, u32),
        shared: bool,
        span: Span,
    ) -> Binding {
        let first = self.function.registers.len();
        let binding = if lanes == 1 {
            Binding::Register(self.register(name, ty, span))
        } else {
            let element = |lane: u32| match ["x", "y", "z", "w"].get(lane as usize) {
                Some(letter) => format!("{name}.{letter}"),
                None => format!("{name}.{lane}"),
            };
            let list = (0..lanes).map(|lane| self.register(&element(lane), ty, span)).collect();
            Binding::Vector(list)
        };
        for register in &mut self.function.registers[first..] {
            (register.lanes, register.shared) = (lanes, shared);
        }
        binding
    }

    /// Declares the registers of module scope, in a block around the whole function.
    pub(super) fn declare_shared(&mut self, registers: &[ModuleRegister<'a>]) {
        let mut scope = Scope::default();
        for &ModuleRegister { name, range, ty, lanes } in registers {
            let span = name.span;
            if let Some(count) = range {
                let named = HashMap::new();
                scope
                    .ranges
                    .insert(name.text, Range { count, ty, lanes, shared: true, span, named });
            } else {
                scope.names.insert(name.text, self.registers(name.text, (ty, lanes), true, span));
            }
        }
        self.scopes.insert(0, scope);
    }

    /// Declares the names of a declaration in the innermost block.
    pub(in crate::check) fn declare(
        &mut self,
        context: &mut ModuleContext<'a>,
        declaration: &Declaration<'a>,
    ) -> Result<()> {
        for declarator in &declaration.names {
            let name = declarator.name;
            if name.text == "_" {
                return Err(Problem::new(name.span, "`_` is not a name")
                    .help("it stands for a discarded result: choose another name"));
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
            if self.function.registers.len() >= MAX_REGISTERS {
                return Err(Problem::new(name.span, "too many registers")
                    .help(format!("a function may use {MAX_REGISTERS}")));
            }
            if declaration.opaque.is_some() && declaration.space != Space::Param {
                return Err(Problem::new(name.span, "a texture or a surface in a function")
                    .help("declare it outside of functions, or as a parameter of an entry"));
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

    pub(in crate::check) fn declare_register(
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
        if lanes > 1 && (ty == Type::Pred || ty.bits() * lanes > 128) {
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
            let (shared, span, named) = (false, name.span, HashMap::new());
            let range = Range { count, ty, lanes, shared, span, named };
            self.scopes.last_mut().expect("a body has a scope").ranges.insert(name.text, range);
            return Ok(None);
        }
        Ok(Some(self.registers(name.text, (ty, lanes), false, name.span)))
    }

    /// Looks up a name, from the innermost block outwards.
    pub(in crate::check) fn find(&mut self, name: &str) -> Option<Binding> {
        for depth in (0..self.scopes.len()).rev() {
            if let Some(binding) = self.scopes[depth].names.get(name) {
                return Some(binding.clone());
            }
            if let Some((prefix, number)) = split(name) {
                let Some(range) = self.scopes[depth].ranges.get(prefix) else { continue };
                if number >= range.count || self.function.registers.len() >= MAX_REGISTERS {
                    continue;
                }
                if let Some(binding) = range.named.get(&number) {
                    return Some(binding.clone());
                }
                let (ty, lanes, span, shared) = (range.ty, range.lanes, range.span, range.shared);
                let binding = self.registers(name, (ty, lanes), shared, span);
                if let Some(range) = self.scopes[depth].ranges.get_mut(prefix) {
                    range.named.insert(number, binding.clone());
                }
                return Some(binding);
            }
        }
        None
    }

    /// An error for a register or symbol that is not declared.
    pub(in crate::check) fn undeclared(
        &self,
        context: &ModuleContext<'a>,
        name: &str,
        span: Span,
    ) -> Problem {
        self.undeclared_name(context, name, span).unknown(name)
    }

    fn undeclared_name(&self, context: &ModuleContext<'a>, name: &str, span: Span) -> Problem {
        // A number beyond the declared range, for example `%r7` if `%r<5>` is declared.
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
        if name.starts_with('%') && special::is_vector(name) {
            return problem.help(format!("name a component: {name}.x, {name}.y or {name}.z"));
        }
        let scopes = || self.scopes.iter();
        let count: usize = scopes().map(|scope| scope.names.len() + scope.ranges.len()).sum();
        let own = scopes().flat_map(|scope| scope.names.keys().chain(scope.ranges.keys()));
        let names = own.chain(context.names.keys()).copied().chain(special::names());
        let help = match context.closest(name, count + context.names.len(), names) {
            Some(close) => format!("did you mean `{close}`?"),
            None if what == "register" => format!("declare it: .reg .b32 {name};"),
            None => "declare it above: PTX is read from top to bottom".into(),
        };
        problem.help(help)
    }

    pub(in crate::check) fn bind(&mut self, name: Name<'a>, binding: Binding) -> Result<()> {
        let scope = self.scopes.last_mut().expect("a body has a scope");
        if scope.names.contains_key(name.text) {
            return Err(duplicate(name));
        }
        scope.names.insert(name.text, binding);
        Ok(())
    }

    /// The index of a label that a branch names.
    pub(in crate::check) fn label(
        &mut self,
        context: &ModuleContext<'a>,
        name: Name<'a>,
    ) -> Result<usize> {
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
}
