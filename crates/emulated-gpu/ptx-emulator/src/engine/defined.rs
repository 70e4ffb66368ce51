//! Which registers something has written: initcheck's part that is not memory.
//!
//! A copy (`mov`, `selp`) of a register that nothing has written is no fault yet, since compilers
//! make them where the value does not matter; the copy is as unknown as the original. Every other
//! use of it is one, but that a lane brings it to a shuffle: then it is one in the lanes that read it
//! there, as it is copied to them. What is packed from several registers is known when one of them is.

use super::core::{Outcome, Problem};
use super::registers::{Registers, Slot};
use crate::fault::FaultKind;
use crate::program::{Function, Instruction, Op, Operand, Register};

/// What an instruction does to what is known; run before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    /// The predicate that guards it: slot, flip, name.
    guard: Option<(Slot, u32, String)>,
    /// What has to be known.
    reads: Vec<(Slot, String)>,
    flow: Flow,
    writes: Vec<Slot>,
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
    pub(super) fn of(instruction: &Instruction, function: &Function, slots: &[Slot]) -> Self {
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
        Self { guard, reads, flow, writes }
    }

    /// Of something that only writes.
    pub(super) fn writes(slot: Slot) -> Self {
        Self { writes: vec![slot], ..Self::default() }
    }

    /// Whether there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.guard.is_none() && self.reads.is_empty() && self.writes.is_empty()
    }

    /// For the lanes of a mask.
    pub(super) fn run(&self, registers: &mut Registers, mask: u32) -> Outcome {
        let mut active = mask;
        if let Some((slot, flip, name)) = &self.guard {
            require(registers, *slot, name, mask)?;
            active &= registers.predicates[slot.index as usize] ^ flip;
        }
        for (slot, name) in &self.reads {
            require(registers, *slot, name, active)?;
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

fn require(registers: &Registers, slot: Slot, name: &str, mask: u32) -> Outcome {
    let unknown = mask & !registers.defined(slot);
    if unknown == 0 {
        return Ok(());
    }
    let message = format!("{name} is read, and this thread has not written it");
    let lane = unknown.trailing_zeros() as usize;
    let problem = Problem::new(FaultKind::Uninitialised, message).lane(lane);
    Err(problem.note(match unknown.count_ones() {
        1 => "it holds any value: write it first, on every way that leads here".to_owned(),
        n => format!(
            "so have {} other lanes of the warp; it holds any value: write it first, on every way \
             that leads here",
            n - 1
        ),
    }))
}
