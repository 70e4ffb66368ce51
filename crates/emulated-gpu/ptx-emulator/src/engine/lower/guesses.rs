//! Loads whose value is a guess: a compare-and-swap at the same address checks it later. racecheck
//! allows them to race with atomic operations. The compare-and-swap may be in a function that gets
//! the address and the value as arguments, as in unoptimised code of NVRTC.

use std::collections::{HashMap, HashSet};

use crate::program::{
    Address, Atomic, CallArgument, Function, FunctionId, Instruction, IntBinary, LocalId, Module,
    Op, Operand, Ordering, Parameter, Register, Space, Symbol,
};

/// The instruction that writes each register, or `None` if there are several.
type Writers<'b> = HashMap<Register, Option<&'b Op>>;

/// The origin of an address, as far as it can be traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    Register(Register),
    Symbol(Symbol),
    /// The argument that the function receives in this parameter variable.
    Argument(LocalId),
}

/// A compare-and-swap, or a call to a function that performs one.
struct Swap {
    place: Option<(Root, i64)>,
    compared: Register,
    bytes: u64,
}

/// A compare-and-swap on arguments of a function: the indices of the parameters with the address
/// and the compared value, and the size of that value in bytes.
#[derive(Clone, Copy, Debug)]
struct ArgumentSwap {
    address: usize,
    compared: usize,
    bytes: u64,
}

/// The compare-and-swaps on arguments of each function of a module, computed on demand.
#[derive(Debug, Default)]
pub(super) struct Guesses {
    functions: HashMap<FunctionId, Vec<ArgumentSwap>>,
}

impl Guesses {
    /// The indices of the loads in a function whose value is a guess.
    pub(super) fn find(&mut self, module: &Module, id: FunctionId) -> HashSet<usize> {
        let body = module.functions[id.0 as usize].body.as_deref().unwrap_or(&[]);
        let registers = Registers::analyse(body);
        let mut candidates = HashSet::new();
        for swap in self.compare_and_swaps(module, body, &registers) {
            let values = registers.copied_into(swap.compared);
            for (index, instruction) in body.iter().enumerate() {
                let Op::Load { ordering: Ordering::Weak, ty, d, address, .. } = &instruction.op
                else {
                    continue;
                };
                if let [Some(d)] = d[..]
                    && values.contains(&d)
                    && ty.bytes() == swap.bytes
                    && registers.trace_to_root(*address) == swap.place
                {
                    candidates.insert(index);
                }
            }
        }
        candidates
    }

    fn compare_and_swaps(
        &mut self,
        module: &Module,
        body: &[Instruction],
        registers: &Registers<'_>,
    ) -> Vec<Swap> {
        let mut swaps = Vec::new();
        for instruction in body {
            match &instruction.op {
                Op::Atomic {
                    op: Atomic::CompareAndSwap,
                    ty,
                    address,
                    b: Operand::Register(compared),
                    ..
                } => swaps.push(Swap {
                    place: registers.trace_to_root(*address),
                    compared: *compared,
                    bytes: ty.bytes(),
                }),
                Op::Call { callee: Operand::Function(id), arguments, .. } => {
                    for swap in self.argument_swaps(module, *id) {
                        let argument =
                            |index: usize| registers.argument(body, *arguments.get(index)?);
                        if let (Some(address), Some(compared)) =
                            (argument(swap.address), argument(swap.compared))
                        {
                            let address = Address { base: Operand::Register(address), offset: 0 };
                            let place = registers.trace_to_root(address);
                            swaps.push(Swap { place, compared, bytes: swap.bytes });
                        }
                    }
                }
                _ => {}
            }
        }
        swaps
    }

    /// The compare-and-swaps that a function performs on its arguments.
    fn argument_swaps(&mut self, module: &Module, id: FunctionId) -> Vec<ArgumentSwap> {
        if let Some(known) = self.functions.get(&id) {
            return known.clone();
        }
        // A recursive function is only visited once.
        self.functions.insert(id, Vec::new());
        let function = &module.functions[id.0 as usize];
        let body = function.body.as_deref().unwrap_or(&[]);
        let registers = Registers::analyse(body);
        let found: Vec<ArgumentSwap> = self
            .compare_and_swaps(module, body, &registers)
            .into_iter()
            .filter_map(|swap| {
                let values = registers.copied_into(swap.compared);
                let (root, 0) = swap.place? else { return None };
                let address = parameter_index(function, root)?;
                let compared = values
                    .iter()
                    .find_map(|&value| parameter_index(function, registers.origin(value)))?;
                Some(ArgumentSwap { address, compared, bytes: swap.bytes })
            })
            .collect();
        self.functions.insert(id, found.clone());
        found
    }
}

/// The index of the parameter that a value comes from.
fn parameter_index(function: &Function, root: Root) -> Option<usize> {
    function.parameters.iter().position(|&parameter| match (parameter, root) {
        (Parameter::Register(parameter), Root::Register(register)) => parameter == register,
        (Parameter::Variable(parameter), Root::Argument(local)) => parameter == local,
        _ => false,
    })
}

/// Data flow between the registers of a function.
struct Registers<'b> {
    writers: Writers<'b>,
    /// The registers that are copied into each register.
    copies: HashMap<Register, Vec<Register>>,
}

impl<'b> Registers<'b> {
    fn analyse(body: &'b [Instruction]) -> Self {
        let mut writers: Writers<'b> = HashMap::new();
        let mut copies: HashMap<Register, Vec<Register>> = HashMap::new();
        for instruction in body {
            for (register, _) in instruction.op.writes() {
                writers
                    .entry(register)
                    .and_modify(|op| *op = None)
                    .or_insert(Some(&instruction.op));
            }
            if let Op::Mov { d: Some(d), a: Operand::Register(a), .. } = instruction.op {
                copies.entry(d).or_default().push(a);
            }
        }
        Self { writers, copies }
    }

    /// The register itself, and all registers whose value may have been copied into it.
    fn copied_into(&self, register: Register) -> HashSet<Register> {
        let mut values = HashSet::from([register]);
        let mut open = vec![register];
        while let Some(register) = open.pop() {
            let from = self.copies.get(&register).into_iter().flatten();
            open.extend(from.copied().filter(|register| values.insert(*register)));
        }
        values
    }

    /// The origin of a register's value: the register itself, or the parameter variable that it is
    /// loaded from.
    fn origin(&self, register: Register) -> Root {
        match self.writers.get(&register).copied().flatten() {
            Some(Op::Load {
                space: Space::Param,
                address: Address { base: Operand::Address(Symbol::Local(local), 0), offset: 0 },
                ..
            }) => Root::Argument(*local),
            _ => Root::Register(register),
        }
    }

    /// The register whose value a call passes in an argument.
    fn argument(&self, body: &[Instruction], argument: CallArgument) -> Option<Register> {
        let variable = match argument {
            CallArgument::Operand(Operand::Register(register)) => return Some(register),
            CallArgument::Operand(_) => return None,
            CallArgument::Variable(variable) => variable,
        };
        body.iter().find_map(|instruction| match &instruction.op {
            Op::Store {
                address: Address { base: Operand::Address(Symbol::Local(local), 0), offset: 0 },
                a,
                ..
            } if *local == variable => match a[..] {
                [Operand::Register(register)] => Some(register),
                _ => None,
            },
            _ => None,
        })
    }

    /// Traces an address through copies, conversions and additions of constants.
    fn trace_to_root(&self, address: Address) -> Option<(Root, i64)> {
        let (mut base, mut offset) = (address.base, address.offset);
        // A chain without a cycle is not longer than the number of registers.
        for _ in 0..=self.writers.len() {
            let register = match base {
                Operand::Register(register) => register,
                Operand::Address(symbol, extra) => {
                    return Some((Root::Symbol(symbol), offset.wrapping_add(extra)));
                }
                _ => return None,
            };
            let next = match self.writers.get(&register).copied().flatten() {
                Some(Op::Mov { a, .. } | Op::ConvertAddress { a, .. }) => (*a, 0),
                Some(Op::IntBinary {
                    op: IntBinary::Add { saturate: false },
                    a,
                    b: Operand::Immediate(b),
                    ..
                }) => (*a, *b as i64),
                _ => return Some((self.origin(register), offset)),
            };
            if !matches!(next.0, Operand::Register(_) | Operand::Address(..)) {
                return Some((Root::Register(register), offset));
            }
            base = next.0;
            offset = offset.wrapping_add(next.1);
        }
        None
    }
}
