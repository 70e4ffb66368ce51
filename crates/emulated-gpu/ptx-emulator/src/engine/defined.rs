//! Initialisation of registers, for initcheck.
//!
//! A copy (`mov`, `selp`) of an uninitialised register is not yet a fault, because compilers insert
//! copies whose value doesn't matter; the copy is uninitialised too. Every other use is a fault,
//! with these exceptions: a value that a lane contributes to a shuffle only counts as read, and as
//! copied, in the lanes that read it. A value packed from several registers is initialised if one
//! of them is. Setting a bit field in such a register is allowed, and so is storing it to local
//! memory, which is then uninitialised (`lower/carried.rs`).

use std::iter;

use super::core::{Outcome, Problem};
use super::lower::carried::Carried;
use super::registers::{LANES, Registers, Slot};
use super::state_space::{LOCAL_WINDOW, in_window};
use crate::fault::FaultKind;
use crate::program::{
    Function, Instruction, IntBinary, Op, Operand, Register, Space, Symbol, Type,
};

/// The effects of an instruction on the initialisation of registers; applied before it runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    /// The predicate that guards the instruction: slot, flip, name.
    guard: Option<(Slot, u32, String)>,
    /// Registers that have to be initialised.
    reads: Vec<(Slot, String)>,
    /// Registers that have to be initialised unless the store is to local memory.
    stored: Option<StoredValues>,
    flow: Flow,
    writes: Vec<Slot>,
}

/// Stored registers that may be uninitialised.
#[derive(Clone, Debug)]
struct StoredValues {
    /// The generic address that is stored to.
    address: Slot,
    offset: u64,
    values: Vec<(Slot, String)>,
}

/// The condition under which the results are initialised.
#[derive(Clone, Debug, Default)]
enum Flow {
    /// The results are always initialised.
    #[default]
    Always,
    /// Initialised if any of these registers is.
    Any(Vec<Slot>),
    /// Initialised if the register that the predicate selects is initialised; `None` counts as
    /// initialised.
    Selected { a: Option<Slot>, b: Option<Slot>, chosen: Slot, negated: bool },
}

impl Uses {
    /// The effects of an instruction of a function with these register slots.
    pub(super) fn new(
        instruction: &Instruction,
        function: &Function,
        slots: &[Slot],
        carried: &Carried,
    ) -> Self {
        let slot = |register: Register| slots.get(register.0 as usize).copied();
        let name = |register: Register| {
            let info = function.registers.get(register.0 as usize);
            info.map_or_else(String::new, |info| info.name.clone())
        };
        let register_of = |operand: Operand| match operand {
            Operand::Register(register) | Operand::Not(register) => Some(register),
            _ => None,
        };
        let named = |register: Register| Some((slot(register)?, name(register)));
        let read = |operand: Operand| register_of(operand).and_then(named);
        let source = |operand: Operand| register_of(operand).and_then(slot);
        let carries = |operand: Operand| match operand {
            Operand::Register(register) => carried.may_be_uninitialised(register),
            _ => false,
        };
        let mut stored = None;
        let (reads, flow) = match &instruction.op {
            Op::Mov { a, .. } | Op::Unpack { a, .. } => {
                (Vec::new(), source(*a).map_or(Flow::Always, |a| Flow::Any(vec![a])))
            }
            Op::Pack { parts, .. } => {
                let known = parts.iter().any(|&part| source(part).is_none());
                let sources = parts.iter().filter_map(|&part| source(part)).collect();
                (Vec::new(), if known { Flow::Always } else { Flow::Any(sources) })
            }
            Op::Select { a, b, c, .. } => {
                let flow = source(*c).map_or(Flow::Always, |chosen| Flow::Selected {
                    a: source(*a),
                    b: source(*b),
                    chosen,
                    negated: matches!(c, Operand::Not(_)),
                });
                (read(*c).into_iter().collect(), flow)
            }
            // Setting a bit field initialises the word; clearing one doesn't.
            Op::IntBinary { op: op @ (IntBinary::And | IntBinary::Or), ty, a, b, .. }
                if *ty != Type::Pred && (carries(*a) || carries(*b)) =>
            {
                let (carried, others): (Vec<_>, Vec<_>) =
                    [*a, *b].into_iter().partition(|&a| carries(a));
                let known = *op == IntBinary::Or && !others.is_empty();
                let carried = carried.into_iter().filter_map(source).collect();
                let flow = if known { Flow::Always } else { Flow::Any(carried) };
                (others.into_iter().filter_map(read).collect(), flow)
            }
            Op::Store { space, address, a, .. } if a.iter().any(|&a| carries(a)) => {
                let (carried, others): (Vec<_>, Vec<_>) = a.iter().partition(|&&a| carries(a));
                let carried = carried.into_iter().filter_map(read);
                let mut reads: Vec<_> =
                    iter::once(address.base).chain(others).filter_map(read).collect();
                match (space, address.base) {
                    (Space::Local, _) | (Space::Param, Operand::Address(Symbol::Local(_), _)) => {}
                    (Space::Generic, Operand::Register(base)) => {
                        stored = slot(base).map(|slot| StoredValues {
                            address: slot,
                            offset: address.offset as u64,
                            values: carried.collect(),
                        });
                    }
                    _ => reads.extend(carried),
                }
                (reads, Flow::Always)
            }
            // A lane may contribute an uninitialised value: the shuffle itself tracks which of its
            // results are initialised.
            Op::Shuffle { lane, clamp, mask, .. } => {
                let operands = [Some(*lane), Some(*clamp), *mask];
                (operands.into_iter().flatten().filter_map(read).collect(), Flow::Always)
            }
            op => {
                let reads = op.reads().into_iter().filter_map(|(operand, _)| read(operand));
                (reads.collect(), Flow::Always)
            }
        };
        let guard = instruction.guard.and_then(|guard| {
            let flip = if guard.negated { u32::MAX } else { 0 };
            Some((slot(guard.register)?, flip, name(guard.register)))
        });
        let mut writes = instruction.op.writes();
        if let Op::Shuffle { d, .. } = instruction.op {
            writes.retain(|(register, _)| Some(*register) != d);
        }
        let writes = writes.into_iter().filter_map(|(register, _)| slot(register)).collect();
        Self { guard, reads, stored, flow, writes }
    }

    /// The effects of a step that only writes a register.
    pub(super) fn writes(slot: Slot) -> Self {
        Self { writes: vec![slot], ..Self::default() }
    }

    /// Whether there are no effects.
    pub(super) fn is_empty(&self) -> bool {
        self.guard.is_none()
            && self.reads.is_empty()
            && self.stored.is_none()
            && self.writes.is_empty()
    }

    /// Checks and updates the registers for the active lanes.
    pub(super) fn run(&self, registers: &mut Registers, mask: u32) -> Outcome {
        let mut active = mask;
        if let Some((slot, flip, name)) = &self.guard {
            require(registers, *slot, mask, || unwritten_message(name))?;
            active &= registers.predicates[slot.index as usize] ^ flip;
        }
        for (slot, name) in &self.reads {
            require(registers, *slot, active, || unwritten_message(name))?;
        }
        if let Some(stored) = &self.stored {
            let leaves = active & !stored.lanes_with_local_address(registers);
            for (slot, name) in &stored.values {
                let what = || format!("{name} is stored, but its value has not been written");
                require(registers, *slot, leaves, what)?;
            }
        }
        let known = match &self.flow {
            Flow::Always => u32::MAX,
            Flow::Any(sources) => {
                sources.iter().fold(0, |known, &slot| known | registers.defined(slot))
            }
            Flow::Selected { a, b, chosen, negated } => {
                let flip = if *negated { u32::MAX } else { 0 };
                let chosen = registers.predicates[chosen.index as usize] ^ flip;
                let known = |slot: &Option<Slot>| slot.map_or(u32::MAX, |s| registers.defined(s));
                known(a) & chosen | known(b) & !chosen
            }
        };
        for &slot in &self.writes {
            registers.define(slot, active, known);
        }
        Ok(())
    }
}

impl StoredValues {
    /// The lanes that store to local memory.
    fn lanes_with_local_address(&self, registers: &Registers) -> u32 {
        let own = |&lane: &usize| {
            let address = registers.get(self.address, lane).wrapping_add(self.offset);
            in_window(address, LOCAL_WINDOW)
        };
        (0..LANES).filter(own).fold(0, |mask, lane| mask | 1 << lane)
    }
}

fn unwritten_message(name: &str) -> String {
    format!("{name} is read, but this thread has not written it")
}

fn require(registers: &Registers, slot: Slot, mask: u32, message: impl Fn() -> String) -> Outcome {
    let unknown = mask & !registers.defined(slot);
    if unknown == 0 {
        return Ok(());
    }
    let lane = unknown.trailing_zeros() as usize;
    let problem = Problem::new(FaultKind::Uninitialised, message()).lane(lane);
    Err(problem.note(match unknown.count_ones() {
        1 => "its value is undefined: write it first, on every path that leads here".to_owned(),
        n => format!(
            "the same in {} other lanes of the warp; its value is undefined: write it first, on every \
             path that leads here",
            n - 1
        ),
    }))
}
