//! Generator of a WebAssembly module with one function: `fma.rn.f32` for 32 lanes with
//! `f32x4.relaxed_madd`. A browser rejects a whole module if it contains an unknown instruction. So
//! this function has a separate module, created when a page requests it; if the browser rejects the
//! module, the emulator doesn't use it.
//!
//! Whether `relaxed_madd` rounds once or twice depends on the machine ([relaxed
//! SIMD](https://github.com/WebAssembly/relaxed-simd)), so [`super::use_slot`] tests it.

use std::mem::offset_of;

use wasm_encoder::{
    BlockType, CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection,
    ImportSection, InstructionSink, MemArg, MemArgTarget, MemoryType, Module, TypeSection, ValType,
};

use crate::engine::code::Operands;
use crate::engine::registers::{FIRST_ROW, LANES, Registers, Row};

/// The size of a vector in bytes, and its number of lanes.
const BYTES: usize = 16;
const GROUP: usize = 4;
/// The NaN that `fma` returns (PTX ISA, 9.7.3).
const NAN: i128 = 0x7fff_ffff_7fff_ffff_7fff_ffff_7fff_ffff;

/// The function's parameters and local variables: addresses of the operands' rows, and vectors.
const REGISTERS: u32 = 0;
const OPERANDS: u32 = 1;
const MASK: u32 = 2;
const D: u32 = 3;
const A: u32 = 4;
const B: u32 = 5;
const C: u32 = 6;
const SUM: u32 = 7;
const ACTIVE: u32 = 8;

/// The bytes of the module, which imports `emulator.memory` and exports `fma`. `None` if the host
/// is out of memory, or if the compiler's layout of registers is not the expected one.
#[must_use]
pub fn module() -> Option<Vec<u8>> {
    let rows = Registers::new(FIRST_ROW, 0).ok()?.offset_of_rows()?;
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32; 3], []);
    let memory = MemoryType {
        minimum: 1,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    };
    let mut imports = ImportSection::new();
    imports.import("emulator", "memory", EntityType::Memory(memory));
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut exports = ExportSection::new();
    exports.export("fma", ExportKind::Func, 0);
    let mut code = CodeSection::new();
    code.function(&fma(rows));
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&functions).section(&exports).section(&code);
    Some(module.finish())
}

fn fma(rows: usize) -> Function {
    let mut function = Function::new([(4, ValType::I32), (2, ValType::V128)]);
    let mut code = function.instructions();
    let operands = [
        (D, offset_of!(Operands, d)),
        (A, offset_of!(Operands, a)),
        (B, offset_of!(Operands, b)),
        (C, offset_of!(Operands, c)),
    ];
    for (row, operand) in operands {
        code.local_get(REGISTERS)
            .i32_load(at(rows, 2))
            .local_get(OPERANDS)
            .i32_load(at(operand, 2));
        code.i32_const(size_of::<Row>() as i32).i32_mul().i32_add().local_set(row);
    }
    code.local_get(MASK).i32_const(-1).i32_eq().if_(BlockType::Empty);
    for group in 0..LANES / GROUP {
        sum(&mut code, group);
        code.local_set(SUM).local_get(D).local_get(SUM).v128_store(at(group * BYTES, 4));
    }
    code.else_();
    for group in 0..LANES / GROUP {
        let bits: u128 = (0..GROUP).map(|lane| 1 << (32 * lane + GROUP * group + lane)).sum();
        code.local_get(MASK).i32x4_splat().v128_const(bits as i128).v128_and();
        code.v128_const(bits as i128).i32x4_eq().local_set(ACTIVE);
        sum(&mut code, group);
        code.local_set(SUM).local_get(D).local_get(SUM);
        code.local_get(D).v128_load(at(group * BYTES, 4)).local_get(ACTIVE).v128_bitselect();
        code.v128_store(at(group * BYTES, 4));
    }
    code.end().end();
    function
}

/// Computes four sums; NaNs are replaced by PTX's NaN.
fn sum(code: &mut InstructionSink<'_>, group: usize) {
    for row in [A, B, C] {
        code.local_get(row).v128_load(at(group * BYTES, 4));
    }
    code.f32x4_relaxed_madd().local_tee(SUM).v128_const(NAN);
    code.local_get(SUM).local_get(SUM).f32x4_eq().i32x4_relaxed_laneselect();
}

/// A memory operand at an offset, aligned to a power of two.
fn at(offset: usize, align: u32) -> MemArg {
    MemArg { offset: offset as u64, align, target: MemArgTarget::Memory(0), ordering: None }
}
