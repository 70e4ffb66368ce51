//! Signatures: the parameters and results of functions.

use crate::program::{Function, FunctionId, Parameter, Type, Variable};

/// The signature of a function: how each parameter and result is passed.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::check) struct Signature {
    pub results: Vec<ParameterShape>,
    pub parameters: Vec<ParameterShape>,
    /// The functions that a `.calltargets` list names; empty for a prototype.
    pub functions: Vec<FunctionId>,
}

/// How one parameter is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::check) enum ParameterShape {
    /// The parameter is in `.param` space, with this size in bytes.
    Memory {
        size: u64,
        align: u64,
        /// The type, if it is a scalar, which may also be passed in a register.
        scalar: Option<Type>,
    },
    /// The parameter is in a register.
    Register(Type),
    /// The parameter is in a register, as one element of a vector of the given length.
    Element(Type, u32),
}

impl ParameterShape {
    pub(super) fn in_memory(variable: &Variable) -> Self {
        let Variable { size, align, element, .. } = *variable;
        Self::Memory { size, align, scalar: (size == element.bytes()).then_some(element) }
    }

    pub(super) fn of_parameter(parameter: Parameter, function: &Function) -> Self {
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

    /// The size, the alignment and the number of elements of the vector that a value is part of. A call only
    /// compares these: the type, and whether it is declared `.reg` or `.param`, make no difference.
    fn layout(self) -> (u64, u64, u32) {
        match self {
            Self::Memory { size, align, .. } => (size, align, 1),
            Self::Register(ty) => (ty.bytes(), ty.bytes(), 1),
            Self::Element(ty, lanes) => (ty.bytes(), ty.bytes(), lanes),
        }
    }
}

impl Signature {
    pub(in crate::check) fn of_function(function: &Function) -> Self {
        let shape = |parameter: &Parameter| ParameterShape::of_parameter(*parameter, function);
        Self {
            results: function.results.iter().map(shape).collect(),
            parameters: function.parameters.iter().map(shape).collect(),
            functions: Vec::new(),
        }
    }

    /// The functions that a call through a register with this signature may call.
    pub(in crate::check) fn possible_callees(&self, functions: &[Function]) -> Vec<FunctionId> {
        let listed = |id: FunctionId| self.functions.is_empty() || self.functions.contains(&id);
        let same = |one: &[ParameterShape], other: &[ParameterShape]| {
            one.iter().map(|shape| shape.layout()).eq(other.iter().map(|shape| shape.layout()))
        };
        let all =
            functions.iter().enumerate().map(|(id, function)| (FunctionId(id as u32), function));
        all.filter(|(id, function)| {
            let signature = Self::of_function(function);
            listed(*id)
                && !function.entry
                && same(&signature.results, &self.results)
                && same(&signature.parameters, &self.parameters)
        })
        .map(|(id, _)| id)
        .collect()
    }
}
