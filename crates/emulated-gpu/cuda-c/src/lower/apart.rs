//! Functions that are called instead of written out: those that come to call themselves, and
//! `__noinline__` ones.
//!
//! References are given as addresses, and structs as their pieces.

use std::rc::Rc;

use super::call::number_of;
use super::convert::memory_of;
use super::expression::Any;
use super::mangle::ascii;
use super::overload::Chosen;
use super::template::Bound;
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
pub(super) struct Apart {
    chosen: Chosen,
    /// The struct whose function it is.
    this: Option<QualifiedType>,
    name: Rc<str>,
    is_made: bool,
}

/// Whether the parameters of two templates are the same.
pub(super) fn same(a: &Bound, b: &Bound) -> bool {
    a.len() == b.len()
        && a.iter().all(|(name, one)| match (one, b.get(name)) {
            (Symbol::Alias(a), Some(Symbol::Alias(b))) => a == b,
            (Symbol::Constant(_, a), Some(Symbol::Constant(_, b))) => a == b,
            _ => false,
        })
}

impl Lowerer<'_> {
    /// The number of a function that is called, if this is one.
    fn apart(&self, chosen: &Chosen, own: u32) -> Option<usize> {
        self.apart.iter().position(|one| {
            Rc::ptr_eq(&one.chosen.function, &chosen.function)
                && one.this.as_ref().map_or(0, number_of) == own
                && same(&one.chosen.template, &chosen.template)
        })
    }

    /// Whether a function is called instead of written out; what comes to call itself, from then on.
    pub(super) fn is_apart(&self, chosen: &Chosen, own: u32) -> bool {
        let function = Rc::as_ptr(&chosen.function);
        let written = |frame: &super::Frame| {
            frame.function == function
                && frame.own == own
                && same(&frame.template, &chosen.template)
        };
        chosen.function.attributes.is_noinline
            || self.apart(chosen, own).is_some()
            || self.frames.iter().any(written)
    }

    fn name_apart(&mut self, chosen: &Chosen, this: Option<&QualifiedType>) -> Lowered<Rc<str>> {
        let function = &chosen.function;
        let plain =
            || function.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
        let mut name = match this {
            None if function.attributes.extern_c => ascii(&function.name),
            None => ascii(&self.mangled(function, &chosen.template)?),
            Some(own) => {
                let own = own.ty.name();
                let own = own.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
                own.chain(['$']).chain(plain()).collect()
            }
        };
        let taken = |name: &str| {
            self.apart.iter().any(|one| &*one.name == name)
                || self.module.functions.iter().any(|one| one.name == name)
                || self.used_names.contains(name)
        };
        if taken(&name) {
            name = format!("{name}${}", self.apart.len());
        }
        Ok(name.into())
    }

    /// Calls a function that isn't written out.
    pub(super) fn call_apart(
        &mut self,
        chosen: &Chosen,
        given: Vec<Any>,
        written: &[Expr],
        this: Option<(Value, QualifiedType)>,
        span: Span,
    ) -> Lowered<Any> {
        let own = this.as_ref().map_or(0, |(_, ty)| number_of(ty));
        let number = match self.apart(chosen, own) {
            Some(number) => number,
            None => {
                let ty = this.as_ref().map(|(_, ty)| ty.clone());
                let name = self.name_apart(chosen, ty.as_ref())?;
                self.apart.push(Apart { chosen: chosen.clone(), this: ty, name, is_made: false });
                self.apart.len() - 1
            }
        };
        let name = self.apart[number].name.clone();
        let function = chosen.function.clone();
        let mut values: Vec<Value> = this.iter().map(|(address, _)| *address).collect();
        let mut takes: Vec<Passed> = this.iter().map(|_| Passed::Value(Ty::I64)).collect();
        let (places, (result, reference)) = self.outside(chosen.template.clone(), |lowerer| {
            let places = lowerer.places(&function, given, written, span)?;
            Ok((places, lowerer.resolve(&function.result, function.span)?))
        })?;
        for (_, place, is_reference) in places {
            let passed = self.passed(&place.ty.ty, is_reference);
            let in_memory = is_reference || matches!(passed, Passed::Struct { .. });
            takes.push(passed);
            values.push(match in_memory {
                true => place.address,
                false => self.builder.load(memory_of(&place.ty.ty), false, place.address),
            });
        }
        self.stand(span);
        if result.ty == Type::Void {
            let callee = Callee { name, takes, gives: None };
            self.builder.op(Op::Call(callee.into()), Ty::None, values);
            return Ok(Any::Value(self.void()));
        }
        let gives = self.passed(&result.ty, reference);
        let callee = Op::Call(Callee { name, takes, gives: Some(gives.clone()) }.into());
        if reference {
            let address = self.builder.op(callee, Ty::I64, values);
            return Ok(Any::Lvalue(Lvalue { ty: result, address }));
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
        let ty = QualifiedType { is_const: false, ..result };
        Ok(Any::Value(self.read(Any::Lvalue(Lvalue { ty, address }))))
    }

    /// How something is given to a function, or comes back.
    fn passed(&mut self, ty: &Type, reference: bool) -> Passed {
        if reference {
            return Passed::Value(Ty::I64);
        }
        let ty = self.completed(&ty.clone().into()).ty;
        if !ty.is_aggregate() {
            return Passed::Value(memory_of(&ty).ty());
        }
        let pieces = self.whole(&ty.clone().into());
        let pieces = pieces.iter().map(|(offset, piece)| (*offset, memory_of(piece))).collect();
        Passed::Struct { size: ty.size(), align: ty.align(), pieces }
    }

    /// Makes all functions that something calls.
    pub(super) fn make_apart(&mut self) {
        while let Some(number) = self.apart.iter().position(|one| !one.is_made) {
            self.apart[number].is_made = true;
            let Apart { chosen, this, name, .. } = self.apart[number].clone();
            let span = chosen.function.span;
            let kernel = Kernel::new(name.to_string(), span);
            // A constant expression may need it while something else is made.
            let own = Builder { function: kernel, at: BlockId(0), span };
            let around = std::mem::replace(&mut self.builder, own);
            let (frames, depth) =
                (std::mem::take(&mut self.frames), std::mem::take(&mut self.depth));
            let result =
                self.outside(chosen.template.clone(), |lowerer| lowerer.body_apart(&chosen, this));
            (self.frames, self.depth) = (frames, depth);
            let built = std::mem::replace(&mut self.builder, around);
            if result.is_ok() {
                self.made += built.function.values.len();
                self.module.functions.push(built.function);
            }
        }
    }

    fn body_apart(&mut self, chosen: &Chosen, this: Option<QualifiedType>) -> Lowered<()> {
        let function: Rc<Function> = chosen.function.clone();
        let own = this.as_ref().map_or(0, number_of);
        if let Some(ty) = this {
            let pointer = QualifiedType::from(Type::pointer(ty));
            let address = self.taken(Memory::B64);
            let slot = self.builder.slot(8, 8);
            self.builder.store(Memory::B64, false, slot, address);
            self.bind(&Rc::from("this"), Symbol::Variable(Lvalue { ty: pointer, address: slot }));
        }
        for parameter in &function.parameters {
            let (ty, reference) = self.resolve(&parameter.ty, parameter.span)?;
            if reference {
                let address = self.taken(Memory::B64);
                self.bind(&parameter.name, Symbol::Variable(Lvalue { ty, address }));
                continue;
            }
            let address = self.temporary(&ty.ty);
            match self.passed(&ty.ty, false) {
                Passed::Value(_) => {
                    let memory = memory_of(&ty.ty);
                    let value = self.taken(memory);
                    self.builder.store(memory, false, address, value);
                }
                Passed::Struct { size, align, .. } => {
                    let open = QualifiedType { is_const: false, ..ty.clone() };
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
            let gives = self.passed(&result.ty, reference);
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

    /// One parameter more.
    fn taken(&mut self, memory: Memory) -> Value {
        let index = self.builder.function.params.len() as u32;
        // Numbers that are narrower than a register are given in one.
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

/// A parameter of which nothing more is known.
fn parameter_of(size: u64, align: u64, memory: Option<Memory>) -> Parameter {
    Parameter { size, align, memory, is_pointer: false, restrict: false, read_only: false }
}
