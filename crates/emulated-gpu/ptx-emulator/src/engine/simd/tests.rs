//! Tests that both versions of all operations give the bits of the general arithmetic.

use super::*;
use crate::arithmetic::tests::COMPARISONS;
use crate::engine::code::Operands;
use crate::engine::registers::Registers;

use crate::engine::registers::{FIRST_ROW, LANES, Slot, Width};
use crate::engine::vector::fast_host;

/// All operations of this module, in the given version.
fn all(fast: bool) -> Vec<Compute> {
    use FloatBinary as F;
    use IntBinary as I;
    let plain = FloatMode::NEAREST;
    let modes = [plain, FloatMode { flush: true, ..plain }];
    let types = [
        Type::B32,
        Type::U32,
        Type::S32,
        Type::B64,
        Type::U64,
        Type::S64,
        Type::F16,
        Type::F32,
        Type::F64,
    ];
    let integers = [
        I::Add { saturate: false },
        I::Sub { saturate: false },
        I::MulLow,
        I::MulHigh,
        I::MulWide,
        I::And,
        I::Or,
        I::Xor,
        I::ShiftLeft,
        I::ShiftRight,
        I::Min,
        I::Max,
        I::Div,
        I::Rem,
    ];
    let floats = [
        F::Add,
        F::Sub,
        F::Mul,
        F::Div { approximate: Approximate::No },
        F::Min { nan: false, xorsign_abs: false },
        F::Max { nan: false, xorsign_abs: false },
    ];
    let mut found =
        vec![copy(false, fast), copy(true, fast), select(false, fast), select(true, fast)];
    for ty in types {
        found.extend(integers.iter().filter_map(|&op| int_binary(op, ty, fast)));
        found.extend(integers.iter().filter_map(|&op| int_mad(op, ty, fast)));
        found.extend(
            [IntUnary::Not, IntUnary::Neg].iter().filter_map(|&op| int_unary(op, ty, fast)),
        );
        for mode in modes {
            found.extend(floats.iter().filter_map(|&op| float_binary(op, mode, ty, fast)));
            found.extend(fma(mode, ty, fast));
            found.extend(UNARY.iter().filter_map(|&op| float_unary(op, mode, ty, fast)));
            found.extend(COMPARISONS.iter().filter_map(|&op| compare(op, ty, mode.flush, fast)));
        }
        for from in types {
            for rounding in [None, Some(Rounding::NearestEven), Some(Rounding::TowardsZero)] {
                found.extend(convert((ty, from), rounding, plain, fast));
            }
        }
    }
    for rounding in [Rounding::NearestEven, Rounding::NearestAway, Rounding::TowardsZero] {
        found.extend(convert((Type::Tf32, Type::F32), Some(rounding), plain, fast));
    }
    for to in [Type::F16x2, Type::Bf16x2] {
        found.extend(convert_pair(to, Some(Rounding::NearestEven), plain, fast));
    }
    found
}

const UNARY: [FloatUnary; 10] = [
    FloatUnary::Neg,
    FloatUnary::Abs,
    FloatUnary::Rcp { approximate: true },
    FloatUnary::Rcp { approximate: false },
    FloatUnary::Sqrt { approximate: true },
    FloatUnary::Sqrt { approximate: false },
    FloatUnary::Rsqrt,
    FloatUnary::Lg2,
    FloatUnary::Ex2,
    FloatUnary::Tanh,
];

#[test]
fn unary_operations_equal_the_general_arithmetic() {
    let mut values: Vec<u32> = (0..64).map(|i: u32| i.wrapping_mul(0x9e37_79b9)).collect();
    values.extend([0, 1, 0x8000_0000, 0x8000_0001, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000]);
    values.extend([0xffc0_0001, 0x0080_0000, 0x007f_ffff, 0x3f80_0000, 0xbf80_0000, 0x7f7f_ffff]);
    let mut compared = 0;
    for (op, flush) in UNARY.into_iter().flat_map(|op| [(op, false), (op, true)]) {
        let rounding = Rounding::NearestEven;
        let mode = FloatMode { rounding, flush, saturate: false, relu: false };
        let Some(compute) = float_unary(op, mode, Type::F32, false) else { continue };
        for &value in &values {
            let mut registers = Registers::new(FIRST_ROW + 2, 3).unwrap();
            registers.narrow_mut(FIRST_ROW)[0] = value;
            let operands = Operands { d: FIRST_ROW + 1, a: FIRST_ROW, b: 0, c: 0 };
            // SAFETY: this is the portable version.
            unsafe { compute(&mut registers, &operands, 1) };
            let general = crate::arithmetic::float_unary(op, mode, Type::F32, u64::from(value));
            let own = u64::from(registers.narrow(FIRST_ROW + 1)[0]);
            assert_eq!(own, general, "{op:?} {mode:?} of {value:#x}");
            compared += 1;
        }
    }
    assert!(compared > 1000);
}

#[test]
fn both_versions_of_all_operations_give_the_same_bits() {
    let fast = all(fast_host());
    let portable = all(false);
    assert!(fast.len() > 200 && fast.len() == portable.len());
    let special = [
        0u32,
        1,
        31,
        32,
        64,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x3f80_0000,
        0x0000_0001,
        0x007f_ffff,
        0x0080_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x7fa0_0001,
    ];
    let mut state = 7u32;
    let mut word = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 30 == 0 { special[(state >> 8) as usize % special.len()] } else { state }
    };
    // Destination, then three operands of two rows each; predicates 3 to 5.
    let rows: [u32; 4] = std::array::from_fn(|index| FIRST_ROW + 2 * index as u32);
    for round in 0..40 {
        let mut registers = Registers::new(FIRST_ROW + 8, 16).unwrap();
        for &index in &rows {
            for lane in 0..LANES {
                let value = u64::from(word()) | u64::from(word()) << 32;
                registers.set(Slot { index, width: Width::Wide }, lane, value);
            }
        }
        // A select reads its predicate where other operations have their third operand.
        registers.predicates[rows[3] as usize] = word();
        let mask = match round % 4 {
            0 => u32::MAX,
            // A single lane, as in a block with one thread.
            1 => 1 << (round % 32),
            _ => word(),
        };
        let operands = Operands { d: rows[0], a: rows[1], b: rows[2], c: rows[3] };
        for (index, (fast, portable)) in fast.iter().zip(&portable).enumerate() {
            let (mut one, mut other) = (registers.clone(), registers.clone());
            // SAFETY: the fast versions were selected for a host that has AVX2 and FMA.
            unsafe {
                fast(&mut one, &operands, mask);
                portable(&mut other, &operands, mask);
            }
            assert_eq!(one.predicates, other.predicates, "operation {index}");
            assert_eq!(one.wide(rows[0]), other.wide(rows[0]), "operation {index}");
        }
    }
}
