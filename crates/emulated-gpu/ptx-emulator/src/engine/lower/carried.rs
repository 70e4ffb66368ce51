//! Registers that a compiler carries around where their value does not matter, as it copies the padding
//! of a structure, and sets the bits of a field in a word that holds nothing yet. initcheck lets such
//! a value go where only its own thread reads: what it is stored to holds nothing, either.

use std::collections::HashSet;

use crate::program::{
    Address, Function, Instruction, IntBinary, Op, Operand, Ordering, Parameter, Register, Space,
    Type,
};

/// What a function carries.
#[derive(Debug, Default)]
pub(in crate::engine) struct Carried {
    /// Registers whose value nothing may have written.
    registers: HashSet<Register>,
    /// Instructions that load such a value.
    loads: HashSet<usize>,
}

impl Carried {
    /// Of a function.
    pub(super) fn of(function: &Function) -> Self {
        let body = function.body.as_deref().unwrap_or(&[]);
        let loads = loads(body);
        let mut registers: HashSet<Register> =
            (0..function.registers.len() as u32).map(Register).collect();
        for parameter in &function.parameters {
            if let Parameter::Register(register) = parameter {
                registers.remove(register);
            }
        }
        for register in body.iter().flat_map(|instruction| instruction.op.writes()) {
            registers.remove(&register.0);
        }
        registers.extend(loads.iter().filter_map(|&index| loaded(&body[index].op)));
        // As often as something is copied, which is once for most.
        loop {
            let before = registers.len();
            for instruction in body {
                if let Some((sources, Some(d))) = carries(&instruction.op)
                    && sources.iter().any(|source| registers.contains(source))
                {
                    registers.insert(d);
                }
            }
            if registers.len() == before {
                return Self { registers, loads };
            }
        }
    }

    /// Whether nothing may have written a register, and it may be carried on.
    pub(in crate::engine) fn holds(&self, register: Register) -> bool {
        self.registers.contains(&register)
    }

    /// Whether this instruction loads a value that is only carried, or stores one.
    pub(super) fn at(&self, index: usize, instruction: &Instruction) -> bool {
        let stores = || match carries(&instruction.op) {
            Some((sources, None)) => sources.iter().any(|&source| self.holds(source)),
            _ => false,
        };
        self.loads.contains(&index) || stores()
    }
}

/// What an instruction carries on, and where to: a register, or, without one, a thread's own memory or
/// other lanes.
fn carries(op: &Op) -> Option<(Vec<Register>, Option<Register>)> {
    let sources = |operands: &[Operand]| {
        let register = |&operand: &Operand| match operand {
            Operand::Register(register) => Some(register),
            _ => None,
        };
        operands.iter().filter_map(register).collect::<Vec<_>>()
    };
    match op {
        Op::Mov { d: Some(d), a, .. } => Some((sources(&[*a]), Some(*d))),
        Op::IntBinary { op: IntBinary::And | IntBinary::Or, ty, d: Some(d), a, b }
            if *ty != Type::Pred =>
        {
            Some((sources(&[*a, *b]), Some(*d)))
        }
        Op::Store {
            space: Space::Local | Space::Generic | Space::Param, ordering, a, ty, ..
        } if *ordering == Ordering::Weak && ty.bytes() <= 8 => Some((sources(a), None)),
        // Who reads the value that a lane brings, the shuffle itself finds out.
        Op::Shuffle { a, .. } => Some((sources(&[*a]), None)),
        _ => None,
    }
}

/// The register that a plain load of what may be a thread's own memory writes.
fn loaded(op: &Op) -> Option<Register> {
    match op {
        Op::Load {
            space: Space::Local | Space::Generic | Space::Param,
            ordering: Ordering::Weak,
            ty,
            d,
            ..
        } if ty.bytes() <= 8 => match d[..] {
            [Some(d)] => Some(d),
            _ => None,
        },
        _ => None,
    }
}

/// The loads of which all that is done with the value carries it on, if anything is: where a field of
/// bits is a whole byte, compilers load what it was and leave it there.
fn loads(body: &[Instruction]) -> HashSet<usize> {
    let mut only: HashSet<Register> =
        body.iter().flat_map(|instruction| instruction.op.writes()).map(|(d, _)| d).collect();
    loop {
        let before = only.len();
        // From the end, as what is said of a copy is said of its source.
        for instruction in body.iter().rev() {
            if let Some(guard) = instruction.guard {
                only.remove(&guard.register);
            }
            let carried = match carries(&instruction.op) {
                Some((sources, None)) => sources,
                Some((sources, Some(to))) if only.contains(&to) => sources,
                _ => Vec::new(),
            };
            for (operand, _) in instruction.op.reads() {
                let (Operand::Register(register) | Operand::Not(register)) = operand else {
                    continue;
                };
                if !carried.contains(&register) {
                    only.remove(&register);
                }
            }
            if let Op::Store { address: Address { base: Operand::Register(base), .. }, .. } =
                instruction.op
            {
                only.remove(&base);
            }
        }
        if only.len() == before {
            break;
        }
    }
    let is = |instruction: &Instruction| loaded(&instruction.op).is_some_and(|d| only.contains(&d));
    (0..body.len()).filter(|&index| is(&body[index])).collect()
}
