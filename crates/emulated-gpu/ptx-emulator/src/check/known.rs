//! Constant propagation of addresses: a register that is written by exactly one instruction holds the value
//! which that instruction computes.

use std::collections::HashMap;

use crate::diagnostic::{Problem, Problems};
use crate::program::{
    Address, Function, FunctionId, Instruction, Module, Op, Operand, Register, Space, Symbol,
};

/// A value that a register is known to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KnownValue {
    /// The address of a function.
    Function(FunctionId),
    /// An address in a read-only variable.
    Constant(Symbol),
}

/// Reports indirect calls of functions with a signature other than the prototype's, and stores to constants.
pub(super) fn check(module: &Module, problems: &mut Problems) {
    for function in &module.functions {
        let Some(body) = &function.body else { continue };
        let mut known = None;
        for instruction in body {
            let base = match &instruction.op {
                Op::Call { callee: Operand::Register(register), .. } => *register,
                Op::Store { address, .. } | Op::Atomic { address, .. } => match address.base {
                    Operand::Register(register) => register,
                    _ => continue,
                },
                _ => continue,
            };
            let known = known.get_or_insert_with(|| known_registers(module, body));
            let Some(Some(value)) = known.get(&base) else { continue };
            if let Some(problem) =
                misuse_of_known_value(module, function, instruction, (base, *value))
            {
                problems.push(problem);
            }
        }
    }
}

/// The registers of a body and their values. The value is `None` for a register that is written more than once.
fn known_registers(module: &Module, body: &[Instruction]) -> HashMap<Register, Option<KnownValue>> {
    let mut known: HashMap<Register, Option<KnownValue>> = HashMap::new();
    for instruction in body {
        let writes = instruction.op.writes();
        let value = match &instruction.op {
            Op::Mov { a: Operand::Function(id), .. } => Some(KnownValue::Function(*id)),
            Op::Mov { a: Operand::Address(symbol @ Symbol::Module(id), _), .. }
            | Op::ConvertAddress { a: Operand::Address(symbol @ Symbol::Module(id), _), .. }
                if module.variables[id.0 as usize].space == Space::Const =>
            {
                Some(KnownValue::Constant(*symbol))
            }
            // The generic address of a constant refers to the same constant.
            Op::Mov { a: Operand::Register(from), .. }
            | Op::ConvertAddress { a: Operand::Register(from), .. } => {
                known.get(from).copied().flatten()
            }
            _ => None,
        };
        for (register, _) in writes {
            known.entry(register).and_modify(|value| *value = None).or_insert(value);
        }
    }
    known
}

fn misuse_of_known_value(
    module: &Module,
    function: &Function,
    instruction: &Instruction,
    (register, value): (Register, KnownValue),
) -> Option<Problem> {
    let name = &function.registers[register.0 as usize].name;
    match (&instruction.op, value) {
        (Op::Call { prototype: Some(prototype), .. }, KnownValue::Function(id))
            if !module.prototypes[*prototype as usize].contains(&id) =>
        {
            let callee = &module.functions[id.0 as usize].name;
            let message = format!(
                "`{name}` holds `{callee}`, whose parameters or results differ from the prototype's"
            );
            let help = format!("make the prototype agree with the declaration of `{callee}`");
            Some(Problem::new(instruction.span, message).help(help))
        }
        (
            Op::Store { address: Address { .. }, .. } | Op::Atomic { .. },
            KnownValue::Constant(Symbol::Module(id)),
        ) => {
            let constant = &module.variables[id.0 as usize].name;
            let message = format!(
                "`{name}` holds the address of `{constant}`, which is .const and can't be written"
            );
            Some(Problem::new(instruction.span, message).help("declare it .global to write to it"))
        }
        _ => None,
    }
}
