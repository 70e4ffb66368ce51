//! Functions that are called instead of inlined: recursive functions, and functions with
//! `__noinline__`.
//!
//! References are passed as addresses, and structs as their pieces.

use std::rc::Rc;

use super::call::number_of;
use super::convert::memory_of;
use super::expression::Operand;
use super::mangle::ascii;
use super::overload::SelectedFunction;
use super::template::Bindings;
use super::{Lowered, Lowerer, Lvalue, Symbol};
use crate::ir::{
    BlockId, Builder, Callee, Function as Kernel, Memory, Op, Parameter, Passed, Terminator, Ty,
    Value,
};
use crate::source::Span;
use crate::syntax::{Expr, Function};
use crate::types::{QualifiedType, Type};

/// A function that is called, and its name in PTX.
#[derive(Clone, Debug)]
pub(super) struct OutOfLine {
    chosen: SelectedFunction,
    /// The struct, if the function is a member function.
    this: Option<QualifiedType>,
    name: Rc<str>,
    is_lowered: bool,
}

/// Whether two instances of a template have the same arguments.
pub(super) fn same_bindings(a: &Bindings, b: &Bindings) -> bool {
    let same = |(name, one)| b.get(name).is_some_and(|other| same_argument(one, other));
    a.len() == b.len() && a.iter().all(same)
}

/// Whether two template arguments are equal.
pub(super) fn same_argument(a: &Symbol, b: &Symbol) -> bool {
    match (a, b) {
        (Symbol::Alias(a), Symbol::Alias(b)) => a == b,
        (Symbol::Constant(_, a), Symbol::Constant(_, b)) => a == b,
        _ => false,
    }
}

impl Lowerer<'_> {
    /// The index of a function in the list of called functions, if it is there.
    fn out_of_line(&self, chosen: &SelectedFunction, own: u32) -> Option<usize> {
        self.out_of_line.iter().position(|one| {
            Rc::ptr_eq(&one.chosen.function, &chosen.function)
                && one.this.as_ref().map_or(0, number_of) == own
                && same_bindings(&one.chosen.template, &chosen.template)
        })
    }

    /// Whether a function is called instead of inlined. A recursive function is called from its
    /// first recursive call on.
    pub(super) fn is_out_of_line(&self, chosen: &SelectedFunction, own: u32) -> bool {
        let function = Rc::as_ptr(&chosen.function);
        let is_being_inlined = |frame: &super::Frame| {
            frame.function == function
                && frame.own == own
                && same_bindings(&frame.template, &chosen.template)
        };
        chosen.function.attributes.is_noinline
            || self.out_of_line(chosen, own).is_some()
            || self.frames.iter().any(is_being_inlined)
    }

    fn name_out_of_line(
        &mut self,
        chosen: &SelectedFunction,
        this: Option<&QualifiedType>,
    ) -> Lowered<Rc<str>> {
        let function = &chosen.function;
        let plain = |name: &str| name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let mut name = match this {
            None => ascii(&self.mangled(function, &chosen.template)?),
            Some(own) => format!("{}${}", plain(&own.ty.name()), plain(&function.name)),
        };
        let taken = |name: &str| {
            self.out_of_line.iter().any(|one| &*one.name == name)
                || self.module.functions.iter().any(|function| function.name == name)
                || self.used_names.contains(name)
        };
        if taken(&name) {
            name = format!("{name}${}", self.out_of_line.len());
        }
        Ok(name.into())
    }

    /// Emits a call of a function that isn't inlined.
    pub(super) fn call_out_of_line(
        &mut self,
        chosen: &SelectedFunction,
        given: Vec<Operand>,
        written: &[Expr],
        this: Option<(Value, QualifiedType)>,
        span: Span,
    ) -> Lowered<Operand> {
        let own = this.as_ref().map_or(0, |(_, ty)| number_of(ty));
        let number = match self.out_of_line(chosen, own) {
            Some(number) => number,
            None => {
                let ty = this.as_ref().map(|(_, ty)| ty.clone());
                let name = self.name_out_of_line(chosen, ty.as_ref())?;
                self.out_of_line.push(OutOfLine {
                    chosen: chosen.clone(),
                    this: ty,
                    name,
                    is_lowered: false,
                });
                self.out_of_line.len() - 1
            }
        };
        let name = self.out_of_line[number].name.clone();
        let function = chosen.function.clone();
        let mut values: Vec<Value> = this.iter().map(|(address, _)| *address).collect();
        let mut takes: Vec<Passed> = this.iter().map(|_| Passed::Value(Ty::I64)).collect();
        let (places, (result, reference)) =
            self.in_outer_scope(chosen.template.clone(), |lowerer| {
                let places = lowerer.bind_arguments(&function, given, written, span)?;
                Ok((places, lowerer.resolve(&function.result, function.span)?))
            })?;
        for (_, place, is_reference) in places {
            let passed = self.passing_of(&place.ty.ty, is_reference);
            let in_memory = is_reference || matches!(passed, Passed::Struct { .. });
            takes.push(passed);
            values.push(match in_memory {
                true => place.address,
                false => self.builder.load(memory_of(&place.ty.ty), false, place.address),
            });
        }
        self.set_place(span);
        if result.ty == Type::Void {
            let callee = Callee { name, parameters: takes, result: None };
            self.builder.op(Op::Call(callee.into()), Ty::None, values);
            return Ok(Operand::Value(self.void()));
        }
        let gives = self.passing_of(&result.ty, reference);
        let callee =
            Op::Call(Callee { name, parameters: takes, result: Some(gives.clone()) }.into());
        if reference {
            let address = self.builder.op(callee, Ty::I64, values);
            return Ok(Operand::Lvalue(Lvalue { ty: result, address }));
        }
        let address = self.temporary(&result.ty);
        match gives {
            Passed::Struct { .. } => {
                values.push(address);
                self.builder.op(callee, Ty::None, values);
            }
            Passed::Value(ty) => {
                let value = self.builder.op(callee, ty, values);
                self.builder.store(memory_of(&result.ty), false, address, value);
            }
        }
        let ty = result.mutable();
        Ok(Operand::Value(self.read(Operand::Lvalue(Lvalue { ty, address }))))
    }

    /// The way in which an argument or a result is passed.
    fn passing_of(&mut self, ty: &Type, reference: bool) -> Passed {
        if reference {
            return Passed::Value(Ty::I64);
        }
        let ty = self.completed(&ty.clone().into()).ty;
        if !ty.is_aggregate() {
            return Passed::Value(memory_of(&ty).ty());
        }
        let pieces = self.checked_pieces(&ty.clone().into());
        let pieces = pieces.iter().map(|(offset, piece)| (*offset, memory_of(piece))).collect();
        Passed::Struct { size: ty.size(), align: ty.align(), pieces }
    }

    /// Lowers all functions that are called, including those that they call.
    pub(super) fn lower_out_of_line(&mut self) {
        while let Some(number) = self.out_of_line.iter().position(|one| !one.is_lowered) {
            self.out_of_line[number].is_lowered = true;
            let OutOfLine { chosen, this, name, .. } = self.out_of_line[number].clone();
            let span = chosen.function.span;
            let kernel = Kernel::new(name.to_string(), span);
            // A constant expression may call the function in the middle of another function, so the
            // builder and the frames are saved.
            let own = Builder { function: kernel, at: BlockId(0), span };
            let around = std::mem::replace(&mut self.builder, own);
            let (frames, depth) =
                (std::mem::take(&mut self.frames), std::mem::take(&mut self.depth));
            let result = self.in_outer_scope(chosen.template.clone(), |lowerer| {
                lowerer.body_out_of_line(&chosen, this)
            });
            (self.frames, self.depth) = (frames, depth);
            let built = std::mem::replace(&mut self.builder, around);
            if result.is_ok() {
                self.lowered_values += built.function.values.len();
                self.module.functions.push(built.function);
            }
        }
    }

    fn body_out_of_line(
        &mut self,
        chosen: &SelectedFunction,
        this: Option<QualifiedType>,
    ) -> Lowered<()> {
        let function: Rc<Function> = chosen.function.clone();
        let own = this.as_ref().map_or(0, number_of);
        if let Some(ty) = this {
            let pointer = QualifiedType::from(Type::pointer(ty));
            let address = self.add_parameter(Memory::B64);
            let slot = self.builder.slot(8, 8);
            self.builder.store(Memory::B64, false, slot, address);
            self.bind(&Rc::from("this"), Symbol::Variable(Lvalue { ty: pointer, address: slot }));
        }
        for parameter in &function.parameters {
            let (ty, reference) = self.resolve(&parameter.ty, parameter.span)?;
            if reference {
                let address = self.add_parameter(Memory::B64);
                self.bind(&parameter.name, Symbol::Variable(Lvalue { ty, address }));
                continue;
            }
            let address = self.temporary(&ty.ty);
            match self.passing_of(&ty.ty, false) {
                Passed::Value(_) => {
                    let memory = memory_of(&ty.ty);
                    let value = self.add_parameter(memory);
                    self.builder.store(memory, false, address, value);
                }
                Passed::Struct { size, align, .. } => {
                    let open = ty.clone().mutable();
                    let index = self.builder.function.params.len() as u32;
                    self.builder.function.params.push(parameter_of(size, align, None));
                    let from = self.builder.op(Op::ParamAddress(index), Ty::I64, Vec::new());
                    self.copy(&open, address, from);
                }
            }
            self.bind(&parameter.name, Symbol::Variable(Lvalue { ty, address }));
        }
        let (result, reference) = self.resolve(&function.result, function.span)?;
        let slot = self.body(&function, result.clone(), reference, own, &chosen.template)?;
        if let Some(slot) = slot {
            let gives = self.passing_of(&result.ty, reference);
            let value = match gives {
                Passed::Struct { .. } => slot,
                Passed::Value(_) if reference => self.builder.load(Memory::B64, false, slot),
                Passed::Value(_) => self.builder.load(memory_of(&result.ty), false, slot),
            };
            self.builder.op(Op::Result(gives.clone().into()), Ty::None, vec![value]);
            self.builder.function.result = Some(gives);
        }
        self.builder.function.is_kernel = false;
        self.builder.end(Terminator::Return);
        Ok(())
    }

    /// Adds a parameter to the function, and returns its value.
    fn add_parameter(&mut self, memory: Memory) -> Value {
        let index = self.builder.function.params.len() as u32;
        // Numbers that are narrower than a register are passed in a whole register.
        let memory = match memory.ty() {
            Ty::I32 => Memory::B32,
            _ => memory,
        };
        self.builder.function.params.push(parameter_of(
            memory.bytes(),
            memory.bytes(),
            Some(memory),
        ));
        self.builder.op(Op::Param(index), memory.ty(), Vec::new())
    }
}

/// A parameter without attributes.
fn parameter_of(size: u64, align: u64, memory: Option<Memory>) -> Parameter {
    let name = Rc::from("");
    Parameter { name, size, align, memory, is_pointer: false, restrict: false, read_only: false }
}
