//! Signatures: the parameters and results of functions.

use crate::program::{Function, FunctionId, Parameter, Type, Variable};

/// What a function takes and returns: the width, and whether it is an array, of each.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::check) struct Signature {
    pub results: Vec<Shape>,
    pub parameters: Vec<Shape>,
    /// Only a declaration of nothing but the name, such as `.func f;`.
    pub functions: Vec<FunctionId>,
}

/// What one parameter looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::check) enum Shape {
    /// In `.param` space: bytes.
    Memory {
        size: u64,
        align: u64,
        /// Its type where it is a scalar, which may be passed in a register too.
        scalar: Option<Type>,
    },
    /// In a register.
    Register(Type),
    /// In a register that is an element of a vector of this many.
    Element(Type, u32),
}

impl Shape {
    pub(super) fn in_memory(variable: &Variable) -> Self {
        let Variable { size, align, element, .. } = *variable;
        Self::Memory { size, align, scalar: (size == element.bytes()).then_some(element) }
    }

    pub(super) fn of(parameter: Parameter, function: &Function) -> Self {
        match parameter {
            Parameter::Variable(id) => Self::in_memory(&function.variables[id.0 as usize]),
            Parameter::Register(id) => {
                let register = &function.registers[id.0 as usize];
                Self::in_register(register.ty, register.lanes)
            }
        }
    }

    pub(super) fn in_register(ty: Type, lanes: u32) -> Self {
        if lanes == 1 { Self::Register(ty) } else { Self::Element(ty, lanes) }
    }

    /// How a value is passed: bytes, alignment, and elements of the vector that it is part of. Which
    /// type it has, and whether it is declared `.reg` or `.param`, makes no difference to a call.
    fn passed(self) -> (u64, u64, u32) {
        match self {
            Self::Memory { size, align, .. } => (size, align, 1),
            Self::Register(ty) => (ty.bytes(), ty.bytes(), 1),
            Self::Element(ty, lanes) => (ty.bytes(), ty.bytes(), lanes),
        }
    }
}

impl Signature {
    pub(in crate::check) fn of(function: &Function) -> Self {
        let shape = |parameter: &Parameter| Shape::of(*parameter, function);
        Self {
            results: function.results.iter().map(shape).collect(),
            parameters: function.parameters.iter().map(shape).collect(),
            functions: Vec::new(),
        }
    }

    /// The functions that a call through a register may mean, which expects this.
    pub(in crate::check) fn meant(&self, functions: &[Function]) -> Vec<FunctionId> {
        let listed = |id: FunctionId| self.functions.is_empty() || self.functions.contains(&id);
        let same = |one: &[Shape], other: &[Shape]| {
            one.iter().map(|shape| shape.passed()).eq(other.iter().map(|shape| shape.passed()))
        };
        let all =
            functions.iter().enumerate().map(|(id, function)| (FunctionId(id as u32), function));
        all.filter(|(id, function)| {
            let found = Self::of(function);
            listed(*id)
                && !function.entry
                && same(&found.results, &self.results)
                && same(&found.parameters, &self.parameters)
        })
        .map(|(id, _)| id)
        .collect()
    }
}
