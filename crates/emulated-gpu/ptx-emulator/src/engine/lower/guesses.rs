//! Loads whose value is a guess: it goes into a compare-and-swap of the same address, which checks it.
//! racecheck lets them read beside atomic operations. The compare-and-swap may be in a function that is
//! given both, as NVRTC without optimisation has it.

use std::collections::{HashMap, HashSet};

use crate::program::{
    Address, Atomic, CallArgument, Function, FunctionId, Instruction, IntBinary, LocalId, Module,
    Op, Operand, Ordering, Parameter, Register, Space, Symbol,
};

/// The one instruction that writes a register, where there is one only.
type Writers<'b> = HashMap<Register, Option<&'b Op>>;

/// Where an address comes from, as far as it can be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    Register(Register),
    Symbol(Symbol),
    /// What the function is given in this variable.
    Given(LocalId),
}

/// A compare-and-swap, or a call that does one.
struct Swap {
    place: Option<(Root, i64)>,
    compared: Register,
    bytes: u64,
}

/// A compare-and-swap of what a function is given: the indices of the parameters that are its address and
/// the value that it compares, and the bytes of that.
#[derive(Clone, Copy, Debug)]
struct Given {
    address: usize,
    compared: usize,
    bytes: u64,
}

/// The functions of a module that have been looked at.
#[derive(Debug, Default)]
pub(super) struct Guesses {
    functions: HashMap<FunctionId, Vec<Given>>,
}

impl Guesses {
    /// The indices of such loads in a function.
    pub(super) fn of(&mut self, module: &Module, id: FunctionId) -> HashSet<usize> {
        let body = module.functions[id.0 as usize].body.as_deref().unwrap_or(&[]);
        let registers = Registers::of(body);
        let mut found = HashSet::new();
        for swap in self.swaps(module, body, &registers) {
            let values = registers.copied_into(swap.compared);
            for (index, instruction) in body.iter().enumerate() {
                let Op::Load { ordering: Ordering::Weak, ty, d, address, .. } = &instruction.op
                else {
                    continue;
                };
                if let [Some(d)] = d[..]
                    && values.contains(&d)
                    && ty.bytes() == swap.bytes
                    && registers.root(*address) == swap.place
                {
                    found.insert(index);
                }
            }
        }
        found
    }

    fn swaps(
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
                    place: registers.root(*address),
                    compared: *compared,
                    bytes: ty.bytes(),
                }),
                Op::Call { callee: Operand::Function(id), arguments, .. } => {
                    for given in self.given(module, *id) {
                        let argument =
                            |index: usize| registers.argument(body, *arguments.get(index)?);
                        if let (Some(address), Some(compared)) =
                            (argument(given.address), argument(given.compared))
                        {
                            let address = Address { base: Operand::Register(address), offset: 0 };
                            let place = registers.root(address);
                            swaps.push(Swap { place, compared, bytes: given.bytes });
                        }
                    }
                }
                _ => {}
            }
        }
        swaps
    }

    /// What a function does to what it is given.
    fn given(&mut self, module: &Module, id: FunctionId) -> Vec<Given> {
        if let Some(known) = self.functions.get(&id) {
            return known.clone();
        }
        // One that calls itself is looked at once.
        self.functions.insert(id, Vec::new());
        let function = &module.functions[id.0 as usize];
        let body = function.body.as_deref().unwrap_or(&[]);
        let registers = Registers::of(body);
        let found: Vec<Given> = self
            .swaps(module, body, &registers)
            .into_iter()
            .filter_map(|swap| {
                let values = registers.copied_into(swap.compared);
                let (root, 0) = swap.place? else { return None };
                let address = parameter(function, root)?;
                let compared = values
                    .iter()
                    .find_map(|&value| parameter(function, registers.followed(value)))?;
                Some(Given { address, compared, bytes: swap.bytes })
            })
            .collect();
        self.functions.insert(id, found.clone());
        found
    }
}

/// Which parameter of a function a value is.
fn parameter(function: &Function, root: Root) -> Option<usize> {
    function.parameters.iter().position(|&parameter| match (parameter, root) {
        (Parameter::Register(parameter), Root::Register(register)) => parameter == register,
        (Parameter::Variable(parameter), Root::Given(local)) => parameter == local,
        _ => false,
    })
}

/// What is known of the registers of a function.
struct Registers<'b> {
    writers: Writers<'b>,
    /// What is copied into each.
    copies: HashMap<Register, Vec<Register>>,
}

impl<'b> Registers<'b> {
    fn of(body: &'b [Instruction]) -> Self {
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

    /// The registers whose value may have been copied into this one, and itself.
    fn copied_into(&self, register: Register) -> HashSet<Register> {
        let mut values = HashSet::from([register]);
        let mut open = vec![register];
        while let Some(register) = open.pop() {
            let from = self.copies.get(&register).into_iter().flatten();
            open.extend(from.copied().filter(|register| values.insert(*register)));
        }
        values
    }

    /// What a register holds, where that is what the function is given.
    fn followed(&self, register: Register) -> Root {
        match self.writers.get(&register).copied().flatten() {
            Some(Op::Load {
                space: Space::Param,
                address: Address { base: Operand::Address(Symbol::Local(local), 0), offset: 0 },
                ..
            }) => Root::Given(*local),
            _ => Root::Register(register),
        }
    }

    /// The register that a call passes.
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

    /// Follows an address through copies, conversions and constant sums.
    fn root(&self, address: Address) -> Option<(Root, i64)> {
        let (mut base, mut offset) = (address.base, address.offset);
        // A chain is never longer than the registers that it goes through.
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
                _ => return Some((self.followed(register), offset)),
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
