//! Definedness of registers: initcheck's part that is not memory.
//!
//! A copy (`mov`, `selp`) of a register that nothing has written is no fault yet, since compilers
//! make them where the value does not matter; the copy is as unknown as the original. Every other
//! use of it is one, but that a lane brings it to a shuffle: then it is one in the lanes that read it
//! there, as it is copied to them. What is packed from several registers is known when one of them is.
//! Nor is it a fault to set a field of bits in such a register, or to store it to memory of the thread's
//! own, which then holds nothing (`lower/carried.rs`).

use std::iter;

use super::core::{Outcome, Problem};
use super::lower::carried::Carried;
use super::registers::{LANES, Registers, Slot};
use super::state_space::{LOCAL_WINDOW, in_window};
use crate::fault::FaultKind;
use crate::program::{
    Function, Instruction, IntBinary, Op, Operand, Register, Space, Symbol, Type,
};

/// What an instruction does to what is known; run before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    /// The predicate that guards it: slot, flip, name.
    guard: Option<(Slot, u32, String)>,
    /// What has to be known.
    reads: Vec<(Slot, String)>,
    /// What has to be known where the store leaves the thread's own memory.
    stored: Option<Stored>,
    flow: Flow,
    writes: Vec<Slot>,
}

/// Registers that are stored and only carried.
#[derive(Clone, Debug)]
struct Stored {
    /// Where to, by a generic address.
    address: Slot,
    offset: u64,
    values: Vec<(Slot, String)>,
}

/// What is known of the results.
#[derive(Clone, Debug, Default)]
enum Flow {
    /// Everything.
    #[default]
    Known,
    /// As much as of any of these.
    Any(Vec<Slot>),
    /// As much as of the one that the predicate selects; `None` is known.
    Selected { a: Option<Slot>, b: Option<Slot>, chosen: Slot, negated: bool },
}

impl Uses {
    /// Of an instruction of a function whose registers are in these slots.
    pub(super) fn of(
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
        let of_operand = |operand: Operand| match operand {
            Operand::Register(register) | Operand::Not(register) => Some(register),
            _ => None,
        };
        let named = |register: Register| Some((slot(register)?, name(register)));
        let read = |operand: Operand| of_operand(operand).and_then(named);
        let source = |operand: Operand| of_operand(operand).and_then(slot);
        let carries = |operand: Operand| match operand {
            Operand::Register(register) => carried.holds(register),
            _ => false,
        };
        let mut stored = None;
        let (reads, flow) = match &instruction.op {
            Op::Mov { a, .. } | Op::Unpack { a, .. } => {
                (Vec::new(), source(*a).map_or(Flow::Known, |a| Flow::Any(vec![a])))
            }
            Op::Pack { parts, .. } => {
                let known = parts.iter().any(|&part| source(part).is_none());
                let sources = parts.iter().filter_map(|&part| source(part)).collect();
                (Vec::new(), if known { Flow::Known } else { Flow::Any(sources) })
            }
            Op::Select { a, b, c, .. } => {
                let flow = source(*c).map_or(Flow::Known, |chosen| Flow::Selected {
                    a: source(*a),
                    b: source(*b),
                    chosen,
                    negated: matches!(c, Operand::Not(_)),
                });
                (read(*c).into_iter().collect(), flow)
            }
            // A field is cleared in a word, or set: that makes it known.
            Op::IntBinary { op: op @ (IntBinary::And | IntBinary::Or), ty, a, b, .. }
                if *ty != Type::Pred && (carries(*a) || carries(*b)) =>
            {
                let (carried, others): (Vec<_>, Vec<_>) =
                    [*a, *b].into_iter().partition(|&a| carries(a));
                let known = *op == IntBinary::Or && !others.is_empty();
                let carried = carried.into_iter().filter_map(source).collect();
                let flow = if known { Flow::Known } else { Flow::Any(carried) };
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
                        stored = slot(base).map(|slot| Stored {
                            address: slot,
                            offset: address.offset as u64,
                            values: carried.collect(),
                        });
                    }
                    _ => reads.extend(carried),
                }
                (reads, Flow::Known)
            }
            // Who reads the value that a lane brings, the shuffle itself finds out.
            Op::Shuffle { lane, clamp, mask, .. } => {
                let operands = [Some(*lane), Some(*clamp), *mask];
                (operands.into_iter().flatten().filter_map(read).collect(), Flow::Known)
            }
            op => {
                let reads = op.reads().into_iter().filter_map(|(operand, _)| read(operand));
                (reads.collect(), Flow::Known)
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

    /// Of something that only writes.
    pub(super) fn writes(slot: Slot) -> Self {
        Self { writes: vec![slot], ..Self::default() }
    }

    /// Whether there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.guard.is_none()
            && self.reads.is_empty()
            && self.stored.is_none()
            && self.writes.is_empty()
    }

    /// For the lanes of a mask.
    pub(super) fn run(&self, registers: &mut Registers, mask: u32) -> Outcome {
        let mut active = mask;
        if let Some((slot, flip, name)) = &self.guard {
            require(registers, *slot, mask, || unwritten(name))?;
            active &= registers.predicates[slot.index as usize] ^ flip;
        }
        for (slot, name) in &self.reads {
            require(registers, *slot, active, || unwritten(name))?;
        }
        if let Some(stored) = &self.stored {
            let leaves = active & !stored.own(registers);
            for (slot, name) in &stored.values {
                let what = || format!("{name} is stored, and nothing has written what it holds");
                require(registers, *slot, leaves, what)?;
            }
        }
        let known = match &self.flow {
            Flow::Known => u32::MAX,
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

impl Stored {
    /// The lanes that store to memory of their own.
    fn own(&self, registers: &Registers) -> u32 {
        let own = |&lane: &usize| {
            let address = registers.get(self.address, lane).wrapping_add(self.offset);
            in_window(address, LOCAL_WINDOW)
        };
        (0..LANES).filter(own).fold(0, |mask, lane| mask | 1 << lane)
    }
}

fn unwritten(name: &str) -> String {
    format!("{name} is read, and this thread has not written it")
}

fn require(registers: &Registers, slot: Slot, mask: u32, message: impl Fn() -> String) -> Outcome {
    let unknown = mask & !registers.defined(slot);
    if unknown == 0 {
        return Ok(());
    }
    let lane = unknown.trailing_zeros() as usize;
    let problem = Problem::new(FaultKind::Uninitialised, message()).lane(lane);
    Err(problem.note(match unknown.count_ones() {
        1 => "it holds any value: write it first, on every way that leads here".to_owned(),
        n => format!(
            "so have {} other lanes of the warp; it holds any value: write it first, on every way \
             that leads here",
            n - 1
        ),
    }))
}
