//! The interpreter for constant expressions that call functions: the expressions are lowered like
//! any other code, and then executed instruction by instruction.

use rustc_hash::FxHashMap as HashMap;

use super::Lowerer;
use crate::ir::{Access, BlockId, Function, Memory, Op, Passed, Target, Terminator, Ty, Value};
use crate::optimise::fold;

/// The maximum number of instructions that are interpreted for one source.
pub(super) const MAX_STEPS: u32 = 2_000_000;
/// The maximum number of bytes of memory that a constant expression uses.
const MAX_BYTES: usize = 1 << 20;
/// The maximum depth of nested calls.
const MAX_CALL_DEPTH: usize = 200;
/// A flag in the addresses of module variables. The bits from 32 on have the variable's number.
const GLOBAL_FLAG: u64 = 1 << 63;

/// The memory of the interpreter: bytes by address. The address of a variable is computed from the
/// numbers of its call and of its slot.
#[derive(Default)]
struct Machine {
    memory: HashMap<u64, u8>,
    calls: u64,
    depth: usize,
}

impl Machine {
    fn load(&self, address: u64, memory: Memory) -> Option<u64> {
        let mut bits = 0u64;
        for byte in 0..memory.bytes() {
            let known = *self.memory.get(&address.wrapping_add(byte))?;
            bits |= u64::from(known) << (8 * byte);
        }
        Some(match memory {
            Memory::S8 => u64::from(bits as u8 as i8 as i32 as u32),
            Memory::S16 => u64::from(bits as u16 as i16 as i32 as u32),
            _ => bits,
        })
    }

    fn store(&mut self, address: u64, memory: Memory, bits: u64) -> Option<()> {
        for byte in 0..memory.bytes() {
            self.memory.insert(address.wrapping_add(byte), (bits >> (8 * byte)) as u8);
        }
        (self.memory.len() <= MAX_BYTES).then_some(())
    }
}

impl Lowerer<'_> {
    /// The bits of a value that was lowered from block `start` to block `end`, both unreachable;
    /// `None` if it depends on something that isn't constant.
    pub(super) fn interpret_value(
        &mut self,
        start: BlockId,
        end: BlockId,
        value: Value,
    ) -> Option<u64> {
        let mut machine = Machine::default();
        self.interpret(&mut machine, None, start, Some((end, value)), &[])
    }

    /// The bytes at a place after block `end`, with zeros where nothing was stored.
    pub(super) fn interpret_bytes(
        &mut self,
        start: BlockId,
        end: BlockId,
        (address, size): (Value, u64),
    ) -> Option<Vec<u8>> {
        let mut machine = Machine::default();
        let address = self.interpret(&mut machine, None, start, Some((end, address)), &[])?;
        let byte = |place| machine.memory.get(&(address + place)).copied().unwrap_or(0);
        Some((0..size).map(byte).collect())
    }

    /// The value of a `constexpr` variable at an address.
    fn constant_at(&self, address: u64, memory: Memory) -> Option<u64> {
        let (bytes, place) = if address & GLOBAL_FLAG != 0 {
            let number = (address & !GLOBAL_FLAG) >> 32;
            let global = self.module.globals.get(number as usize)?;
            (global.init.as_deref().unwrap_or_default(), address & u64::from(u32::MAX))
        } else {
            let (frame, slot) = (address >> 40, (address >> 20) & 0xf_ffff);
            let slot = self.builder.function.slots.get(slot.checked_sub(1)? as usize)?;
            if frame != 1 {
                return None;
            }
            (slot.constant.as_deref()?, address & 0xf_ffff)
        };
        let mut machine = Machine::default();
        for at in 0..memory.bytes() {
            let byte = bytes.get((place + at) as usize).copied();
            machine.memory.insert(at, byte?);
        }
        machine.load(0, memory)
    }

    fn function_of(&self, number: Option<usize>) -> &Function {
        match number {
            Some(number) => &self.module.functions[number],
            None => &self.builder.function,
        }
    }

    /// Interprets a function until it returns, or until the end of a block that was passed; the
    /// result is the value there.
    fn interpret(
        &mut self,
        machine: &mut Machine,
        number: Option<usize>,
        start: BlockId,
        until: Option<(BlockId, Value)>,
        given: &[u64],
    ) -> Option<u64> {
        if machine.depth >= MAX_CALL_DEPTH {
            return None;
        }
        machine.depth += 1;
        machine.calls += 1;
        // Variables are 2^20 bytes apart, and calls 2^40, so their addresses can't overlap.
        let frame = machine.calls << 40;
        let mut known: HashMap<Value, u64> = HashMap::default();
        let mut result = None;
        let mut at = start;
        let found = loop {
            let block = self.function_of(number).block(at).clone();
            for own in block.insts {
                let inst = self.function_of(number).inst(own).clone();
                self.count_step()?;
                let args: Option<Vec<u64>> =
                    inst.args.iter().map(|arg| self.known_bits(number, &known, *arg)).collect();
                let types: Vec<Ty> =
                    inst.args.iter().map(|arg| self.function_of(number).inst(*arg).ty).collect();
                let bits = match (&inst.op, args) {
                    (Op::Slot(slot), _) => {
                        let size = self.function_of(number).slots[*slot as usize].size;
                        let place = u64::from(*slot) + 1;
                        if size > 1 << 19 || place >= 1 << 20 {
                            return None;
                        }
                        Some(frame | place << 20)
                    }
                    (Op::Global(global), _) => self.address_of(*global),
                    (Op::Param(index), _) => given.get(*index as usize).copied(),
                    (Op::Load(Access { memory, .. }), Some(args)) => machine
                        .load(args[0], *memory)
                        .or_else(|| self.constant_at(args[0], *memory)),
                    (Op::Store(access), Some(args)) => {
                        machine.store(args[0], access.memory, args[1])?;
                        None
                    }
                    // Storing an unknown value may invalidate any known value.
                    (Op::Store(_), None) => return None,
                    (Op::Result(passed), Some(args)) if matches!(**passed, Passed::Value(_)) => {
                        result = Some(args[0]);
                        None
                    }
                    (Op::Call(callee), Some(args)) => {
                        let name = callee.name.clone();
                        let plain = |passed: &Passed| matches!(passed, Passed::Value(_));
                        if !callee.parameters.iter().chain(&callee.result).all(plain) {
                            return None;
                        }
                        let own = |lowerer: &Self| {
                            lowerer
                                .module
                                .functions
                                .iter()
                                .position(|function| *function.name == *name)
                        };
                        if own(self).is_none() {
                            self.lower_out_of_line();
                        }
                        let called = own(self)?;
                        let start = Function::ENTRY;
                        Some(self.interpret(machine, Some(called), start, None, &args)?)
                    }
                    (Op::Call(_) | Op::Result(_), _) => return None,
                    (op, Some(args)) => {
                        let typed: Vec<(Ty, u64)> = types.into_iter().zip(args).collect();
                        if typed.is_empty() { None } else { fold(op, inst.ty, &typed) }
                    }
                    _ => None,
                };
                if let Some(bits) = bits {
                    known.insert(own, bits);
                }
            }
            if let Some((_, value)) = until.filter(|(end, _)| *end == at) {
                break self.known_bits(number, &known, value);
            }
            let target: Target = match block.end {
                Terminator::Jump(target) => target,
                Terminator::Branch { condition, yes, no } => {
                    match self.known_bits(number, &known, condition) {
                        Some(0) => no,
                        Some(_) => yes,
                        None => break None,
                    }
                }
                Terminator::Return => break result,
                Terminator::Unreachable => break None,
            };
            let params = self.function_of(number).block(target.block).params.clone();
            let values: Vec<Option<u64>> =
                target.args.iter().map(|arg| self.known_bits(number, &known, *arg)).collect();
            for (param, value) in params.into_iter().zip(values) {
                match value {
                    Some(bits) => known.insert(param, bits),
                    None => known.remove(&param),
                };
            }
            self.count_step()?;
            at = target.block;
        };
        machine.depth -= 1;
        found
    }

    fn count_step(&mut self) -> Option<()> {
        self.interpreted_steps += 1;
        (self.interpreted_steps <= MAX_STEPS).then_some(())
    }

    fn address_of(&self, global: u32) -> Option<u64> {
        self.constexpr_globals.contains(&global).then_some(GLOBAL_FLAG | u64::from(global) << 32)
    }

    fn known_bits(
        &self,
        number: Option<usize>,
        known: &HashMap<Value, u64>,
        value: Value,
    ) -> Option<u64> {
        let code = self.function_of(number);
        let constant = code.constant_of(value).or_else(|| known.get(&value).copied());
        constant.or_else(|| match code.inst(value).op {
            // A variable of the enclosing function, whose instructions aren't interpreted.
            Op::Slot(slot) if number.is_none() => {
                code.slots[slot as usize].constant.as_ref()?;
                Some(1 << 40 | (u64::from(slot) + 1) << 20)
            }
            Op::Global(global) => self.address_of(global),
            _ => None,
        })
    }
}
