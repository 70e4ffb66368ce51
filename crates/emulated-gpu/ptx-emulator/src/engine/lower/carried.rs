//! Values that may be uninitialised and are only passed on: compilers copy the padding of
//! structures, and set bit fields in uninitialised words. initcheck allows such a value to go where
//! only its own thread can read it; memory to which it is stored becomes uninitialised.

use std::collections::HashSet;

use crate::program::{
    Address, Function, Instruction, IntBinary, Op, Operand, Ordering, Parameter, Register, Space,
    Type,
};

/// The possibly uninitialised values that a function passes on.
#[derive(Debug, Default)]
pub(in crate::engine) struct Carried {
    /// Registers that may be uninitialised.
    registers: HashSet<Register>,
    /// Indices of instructions that load such a value.
    loads: HashSet<usize>,
}

impl Carried {
    /// Analyses a function.
    pub(super) fn analyse(function: &Function) -> Self {
        let body = function.body.as_deref().unwrap_or(&[]);
        let loads = carried_loads(body);
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
        registers.extend(loads.iter().filter_map(|&index| load_destination(&body[index].op)));
        // Repeats until no copy adds a register; for most functions that is once.
        loop {
            let before = registers.len();
            for instruction in body {
                if let Some((sources, Some(d))) = passed_on_registers(&instruction.op)
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

    /// Whether a register may be uninitialised, so that it may only be passed on.
    pub(in crate::engine) fn may_be_uninitialised(&self, register: Register) -> bool {
        self.registers.contains(&register)
    }

    /// Whether this instruction loads or stores a value that is only passed on.
    pub(super) fn is_carried_by(&self, index: usize, instruction: &Instruction) -> bool {
        let stores = || match passed_on_registers(&instruction.op) {
            Some((sources, None)) => {
                sources.iter().any(|&source| self.may_be_uninitialised(source))
            }
            _ => false,
        };
        self.loads.contains(&index) || stores()
    }
}

/// The registers whose values an instruction passes on, and their destination: a register, or
/// `None` for local memory and other lanes.
fn passed_on_registers(op: &Op) -> Option<(Vec<Register>, Option<Register>)> {
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
        // A lane may contribute an uninitialised value: the shuffle itself tracks which of its
        // results are initialised.
        Op::Shuffle { a, .. } => Some((sources(&[*a]), None)),
        _ => None,
    }
}

/// The register that a plain load, possibly from local memory, writes.
fn load_destination(op: &Op) -> Option<Register> {
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

/// The loads whose value is only passed on or unused: if a bit field is a whole byte, compilers
/// load the old value and ignore it.
fn carried_loads(body: &[Instruction]) -> HashSet<usize> {
    let mut only: HashSet<Register> =
        body.iter().flat_map(|instruction| instruction.op.writes()).map(|(d, _)| d).collect();
    loop {
        let before = only.len();
        // In reverse order, so that the state of a copy is known before the state of its source.
        for instruction in body.iter().rev() {
            if let Some(guard) = instruction.guard {
                only.remove(&guard.register);
            }
            let carried = match passed_on_registers(&instruction.op) {
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
    let is = |instruction: &Instruction| {
        load_destination(&instruction.op).is_some_and(|d| only.contains(&d))
    };
    (0..body.len()).filter(|&index| is(&body[index])).collect()
}
