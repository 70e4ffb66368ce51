//! Constant expressions that call functions: lowered as any other, and carried out here, instruction by
//! instruction, with memory of their own.

use rustc_hash::FxHashMap as HashMap;

use super::Lowerer;
use crate::ir::{Access, BlockId, Function, Memory, Op, Passed, Target, Terminator, Ty, Value};
use crate::optimise::fold;

/// More instructions than that aren't carried out, of all of a source.
pub(super) const MAX_CARRIED_OUT: u32 = 2_000_000;
/// A constant expression has at most as many bytes of memory.
const MOST_BYTES: usize = 1 << 20;
/// Calls in each other.
const DEEPEST: usize = 200;
/// Set in the addresses of variables of the module; their number is in the bits from 32 on.
const GLOBALS: u64 = 1 << 63;

/// Bytes by their addresses: a variable begins where its call and its number say.
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
        (self.memory.len() <= MOST_BYTES).then_some(())
    }
}

impl Lowerer<'_> {
    /// The bits of a value that was lowered from block `start` to block `end`, both of which nothing gets
    /// to; nothing where it depends on what isn't known.
    pub(super) fn carried_out(
        &mut self,
        start: BlockId,
        end: BlockId,
        value: Value,
    ) -> Option<u64> {
        let mut machine = Machine::default();
        self.carry_out(&mut machine, None, start, Some((end, value)), &[])
    }

    /// The bytes that are at a place when block `end` is done, with zeros where nothing was written.
    pub(super) fn carried_out_bytes(
        &mut self,
        start: BlockId,
        end: BlockId,
        (address, size): (Value, u64),
    ) -> Option<Vec<u8>> {
        let mut machine = Machine::default();
        let address = self.carry_out(&mut machine, None, start, Some((end, address)), &[])?;
        let byte = |place| machine.memory.get(&(address + place)).copied().unwrap_or(0);
        Some((0..size).map(byte).collect())
    }

    /// What a `constexpr` variable holds at an address.
    fn constant_at(&self, address: u64, memory: Memory) -> Option<u64> {
        let (bytes, place) = if address & GLOBALS != 0 {
            let number = (address & !GLOBALS) >> 32;
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

    fn code(&self, number: Option<usize>) -> &Function {
        match number {
            Some(number) => &self.module.functions[number],
            None => &self.builder.function,
        }
    }

    /// Runs until the end of a block, whose value is wanted, or until a function returns.
    fn carry_out(
        &mut self,
        machine: &mut Machine,
        number: Option<usize>,
        start: BlockId,
        until: Option<(BlockId, Value)>,
        given: &[u64],
    ) -> Option<u64> {
        if machine.depth >= DEEPEST {
            return None;
        }
        machine.depth += 1;
        machine.calls += 1;
        // Variables lie 2^20 bytes apart, and calls 2^40: more of either than there can be.
        let frame = machine.calls << 40;
        let mut known: HashMap<Value, u64> = HashMap::default();
        let mut result = None;
        let mut at = start;
        let found = loop {
            let block = self.code(number).block(at).clone();
            for own in block.insts {
                let inst = self.code(number).inst(own).clone();
                self.one_more()?;
                let args: Option<Vec<u64>> =
                    inst.args.iter().map(|arg| self.known(number, &known, *arg)).collect();
                let types: Vec<Ty> =
                    inst.args.iter().map(|arg| self.code(number).inst(*arg).ty).collect();
                let bits = match (&inst.op, args) {
                    (Op::Slot(slot), _) => {
                        let size = self.code(number).slots[*slot as usize].size;
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
                    // What isn't known is written: then it isn't known who still knows what he has.
                    (Op::Store(_), None) => return None,
                    (Op::Result(passed), Some(args)) if matches!(**passed, Passed::Value(_)) => {
                        result = Some(args[0]);
                        None
                    }
                    (Op::Call(callee), Some(args)) => {
                        let name = callee.name.clone();
                        let plain = |passed: &Passed| matches!(passed, Passed::Value(_));
                        if !callee.takes.iter().chain(&callee.gives).all(plain) {
                            return None;
                        }
                        let own = |lowerer: &Self| {
                            lowerer.module.functions.iter().position(|one| *one.name == *name)
                        };
                        if own(self).is_none() {
                            self.make_apart();
                        }
                        let called = own(self)?;
                        let start = Function::ENTRY;
                        Some(self.carry_out(machine, Some(called), start, None, &args)?)
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
                break self.known(number, &known, value);
            }
            let target: Target = match block.end {
                Terminator::Jump(target) => target,
                Terminator::Branch { condition, yes, no } => {
                    match self.known(number, &known, condition) {
                        Some(0) => no,
                        Some(_) => yes,
                        None => break None,
                    }
                }
                Terminator::Return => break result,
                Terminator::Unreachable => break None,
            };
            let params = self.code(number).block(target.block).params.clone();
            let values: Vec<Option<u64>> =
                target.args.iter().map(|arg| self.known(number, &known, *arg)).collect();
            for (param, value) in params.into_iter().zip(values) {
                match value {
                    Some(bits) => known.insert(param, bits),
                    None => known.remove(&param),
                };
            }
            self.one_more()?;
            at = target.block;
        };
        machine.depth -= 1;
        found
    }

    fn one_more(&mut self) -> Option<()> {
        self.carried_out += 1;
        (self.carried_out <= MAX_CARRIED_OUT).then_some(())
    }

    fn address_of(&self, global: u32) -> Option<u64> {
        self.constexpr_globals.contains(&global).then_some(GLOBALS | u64::from(global) << 32)
    }

    fn known(
        &self,
        number: Option<usize>,
        known: &HashMap<Value, u64>,
        value: Value,
    ) -> Option<u64> {
        let code = self.code(number);
        let found = code.constant_of(value).or_else(|| known.get(&value).copied());
        found.or_else(|| match code.inst(value).op {
            // A variable of the function around, which is none of the instructions that are carried out.
            Op::Slot(slot) if number.is_none() => {
                code.slots[slot as usize].constant.as_ref()?;
                Some(1 << 40 | (u64::from(slot) + 1) << 20)
            }
            Op::Global(global) => self.address_of(global),
            _ => None,
        })
    }
}
