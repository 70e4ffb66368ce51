//! Loads whose value is a guess: it goes into a compare-and-swap of the same address, which checks it.
//! racecheck lets them read beside atomic operations.

use std::collections::{HashMap, HashSet};

use crate::program::{
    Address, Atomic, Instruction, IntBinary, Op, Operand, Ordering, Register, Symbol,
};

/// The one instruction that writes a register, where there is one only.
type Writers<'b> = HashMap<Register, Option<&'b Op>>;

/// Where an address comes from, as far as it can be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    Register(Register),
    Symbol(Symbol),
}

/// The indices of such loads.
pub(super) fn guesses(body: &[Instruction]) -> HashSet<usize> {
    let swaps: Vec<(Address, Register, u64)> = body
        .iter()
        .filter_map(|instruction| match instruction.op {
            Op::Atomic {
                op: Atomic::CompareAndSwap, ty, address, b: Operand::Register(b), ..
            } => Some((address, b, ty.bytes())),
            _ => None,
        })
        .collect();
    if swaps.is_empty() {
        return HashSet::new();
    }
    let mut writers: Writers<'_> = HashMap::new();
    // What is copied into each register.
    let mut copies: HashMap<Register, Vec<Register>> = HashMap::new();
    for instruction in body {
        for (register, _) in instruction.op.writes() {
            writers.entry(register).and_modify(|op| *op = None).or_insert(Some(&instruction.op));
        }
        if let Op::Mov { d: Some(d), a: Operand::Register(a), .. } = instruction.op {
            copies.entry(d).or_default().push(a);
        }
    }
    let mut found = HashSet::new();
    for (address, compared, bytes) in swaps {
        let mut values = HashSet::from([compared]);
        let mut open = vec![compared];
        while let Some(register) = open.pop() {
            let from = copies.get(&register).into_iter().flatten();
            open.extend(from.copied().filter(|register| values.insert(*register)));
        }
        let place = root(&writers, address);
        for (index, instruction) in body.iter().enumerate() {
            let Op::Load { ordering: Ordering::Weak, ty, d, address, .. } = &instruction.op else {
                continue;
            };
            if let [Some(d)] = d[..]
                && values.contains(&d)
                && ty.bytes() == bytes
                && root(&writers, *address) == place
            {
                found.insert(index);
            }
        }
    }
    found
}

/// Follows an address through copies, conversions and constant sums.
fn root(writers: &Writers<'_>, address: Address) -> Option<(Root, i64)> {
    let (mut base, mut offset) = (address.base, address.offset);
    // A chain is never longer than the registers that it goes through.
    for _ in 0..=writers.len() {
        let register = match base {
            Operand::Register(register) => register,
            Operand::Address(symbol, extra) => {
                return Some((Root::Symbol(symbol), offset.wrapping_add(extra)));
            }
            _ => return None,
        };
        let next = match writers.get(&register).copied().flatten() {
            Some(Op::Mov { a, .. } | Op::ConvertAddress { a, .. }) => (*a, 0),
            Some(Op::IntBinary {
                op: IntBinary::Add { saturate: false },
                a,
                b: Operand::Immediate(b),
                ..
            }) => (*a, *b as i64),
            _ => return Some((Root::Register(register), offset)),
        };
        if !matches!(next.0, Operand::Register(_) | Operand::Address(..)) {
            return Some((Root::Register(register), offset));
        }
        base = next.0;
        offset = offset.wrapping_add(next.1);
    }
    None
}
