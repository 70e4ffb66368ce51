//! Operations on 32 lanes give what the general functions give, lane by lane, and the ISA's values.

use ptx_emulator::arithmetic;
use ptx_emulator::program::{FloatBinary, FloatMode, Rounding, Type};

use super::bench::{emulator, kernel, launch, read, words};

const NEAREST: FloatMode =
    FloatMode { rounding: Rounding::NearestEven, flush: false, saturate: false, relu: false };
const FLUSH: FloatMode = FloatMode { flush: true, ..NEAREST };

/// Words that matter: zeros, ones, extremes, subnormals, infinities, NaN, and some noise.
fn interesting() -> Vec<u32> {
    let mut words = vec![
        0,
        1,
        2,
        31,
        32,
        33,
        63,
        64,
        0x7fff_ffff,
        0x8000_0000,
        0x8000_0001,
        0xffff_ffff,
        0x3f80_0000,
        0xbf80_0000,
        0x0000_0001,
        0x007f_ffff,
        0x0080_0000,
        0x807f_ffff,
        0x7f7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x7fa0_0001,
        0xffc0_1234,
        0x4f00_0000,
        0x5f00_0000,
    ];
    let mut state = 12345u32;
    while words.len() < 64 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        words.push(state);
    }
    words
}

/// Runs `instruction %d, %a, %b, %c` (as 32-bit registers) on pairs of interesting words.
fn ternary(instruction: &str) -> Vec<([u32; 3], u32)> {
    let values = interesting();
    let cases: Vec<[u32; 3]> = (0..1024)
        .map(|i| [values[i % 64], values[i / 16 % 64], values[(i * 7 + i / 64) % 64]])
        .collect();
    let emulator = emulator();
    let columns: Vec<u64> = (0..3)
        .map(|column| words(&emulator, &cases.iter().map(|case| case[column]).collect::<Vec<_>>()))
        .collect();
    let out = words(&emulator, &vec![0; 1024]);
    let text = kernel(
        4,
        &format!(
            ".reg .b32 %a, %b, %c, %d, %t;\n.reg .b64 %o, %q;\n.reg .f32 %fa, %fb, %fc, %fd;\n\
             .reg .pred %pp;\nmov.u32 %t, %tid.x;\nmul.wide.u32 %o, %t, 4;\n\
             add.u64 %q, %p0, %o;\nld.global.b32 %a, [%q];\nadd.u64 %q, %p1, %o;\n\
             ld.global.b32 %b, [%q];\nadd.u64 %q, %p2, %o;\nld.global.b32 %c, [%q];\n\
             mov.b32 %fa, %a;\nmov.b32 %fb, %b;\nmov.b32 %fc, %c;\nmov.b32 %d, 0;\n\
             {instruction}\nadd.u64 %q, %p3, %o;\nst.global.b32 [%q], %d;\nret;"
        ),
    );
    let pointers = [columns[0], columns[1], columns[2], out];
    if let Err(fault) = launch(&emulator, &text, ([1, 1, 1], [1024, 1, 1]), &pointers) {
        panic!("{fault}");
    }
    cases.into_iter().zip(read(&emulator, out, 1024)).collect()
}

fn agrees(instruction: &str, expected: impl Fn(u64, u64, u64) -> u64) {
    for ([a, b, c], got) in ternary(instruction) {
        let want = expected(a.into(), b.into(), c.into()) as u32;
        assert_eq!(got, want, "{instruction} of {a:#x}, {b:#x}, {c:#x}: {got:#x}, not {want:#x}");
    }
}

#[test]
fn single_precision() {
    let min = FloatBinary::Min { nan: false, xorsign_abs: false };
    let max = FloatBinary::Max { nan: false, xorsign_abs: false };
    let cases: &[(&str, FloatBinary, FloatMode)] = &[
        ("add.rn.f32", FloatBinary::Add, NEAREST),
        ("sub.rn.f32", FloatBinary::Sub, NEAREST),
        ("mul.rn.f32", FloatBinary::Mul, NEAREST),
        ("add.rn.ftz.f32", FloatBinary::Add, FLUSH),
        ("sub.rn.ftz.f32", FloatBinary::Sub, FLUSH),
        ("mul.rn.ftz.f32", FloatBinary::Mul, FLUSH),
        ("mul.rz.f32", FloatBinary::Mul, FloatMode { rounding: Rounding::TowardsZero, ..NEAREST }),
        ("add.rn.sat.f32", FloatBinary::Add, FloatMode { saturate: true, ..NEAREST }),
        ("min.f32", min, NEAREST),
        ("max.f32", max, NEAREST),
        ("min.ftz.f32", min, FLUSH),
        ("max.ftz.f32", max, FLUSH),
    ];
    for &(name, op, mode) in cases {
        agrees(&format!("{name} %fd, %fa, %fb; mov.b32 %d, %fd;"), |a, b, _| {
            arithmetic::float_binary(op, mode, Type::F32, a, b)
        });
    }
    for (name, mode) in [("fma.rn.f32", NEAREST), ("fma.rn.ftz.f32", FLUSH)] {
        agrees(&format!("{name} %fd, %fa, %fb, %fc; mov.b32 %d, %fd;"), |a, b, c| {
            arithmetic::fma(mode, Type::F32, a, b, c)
        });
    }
    // In numbers: the one NaN, and a product that only a fused operation keeps.
    agrees("sub.rn.f32 %fd, 0f7F800000, 0f7F800000; mov.b32 %d, %fd;", |_, _, _| 0x7fff_ffff);
    agrees("fma.rn.f32 %fd, 0f3F800001, 0f3F800001, 0fBF800002; mov.b32 %d, %fd;", |_, _, _| {
        0x2880_0000
    });
}

#[test]
fn a_guarded_instruction_leaves_the_other_lanes_as_they_were() {
    agrees("setp.lt.u32 %pp, %a, %b; mov.u32 %d, 5; @%pp add.u32 %d, %d, %c;", |a, b, c| {
        if a < b { c.wrapping_add(5) } else { 5 }
    });
    agrees("setp.lt.u32 %pp, %a, %b; mov.u32 %d, 5; @!%pp add.u32 %d, %d, %c;", |a, b, c| {
        if a < b { 5 } else { c.wrapping_add(5) }
    });
}

/// The carry flag between additions and subtractions, as ptxas's machine code has it (sm_75 to sm_90: one
/// flag, which after a subtraction says that nothing was borrowed).
#[test]
fn additions_and_subtractions_share_one_carry_flag() {
    let emulator = emulator();
    let (from, to) = (words(&emulator, &[5, 3]), words(&emulator, &[0; 6]));
    let text = kernel(
        2,
        ".reg .b32 %a, %b, %x, %r<6>;\nld.global.v2.u32 {%a, %b}, [%p0];\n\
         sub.cc.u32 %x, %a, %b; addc.u32 %r0, 0, 0;\nsub.cc.u32 %x, %b, %a; addc.u32 %r1, 0, 0;\n\
         add.cc.u32 %x, %a, %b; subc.u32 %r2, 10, 0;\n\
         add.cc.u32 %x, %a, 0xffffffff; subc.u32 %r3, 10, 0;\n\
         sub.cc.u32 %x, %a, %b; subc.u32 %r4, 10, 0;\nsub.cc.u32 %x, %b, %a; subc.u32 %r5, 10, 0;\n\
         st.global.v2.u32 [%p1], {%r0, %r1};\nst.global.v2.u32 [%p1+8], {%r2, %r3};\n\
         st.global.v2.u32 [%p1+16], {%r4, %r5};\nret;",
    );
    launch(&emulator, &text, ([1; 3], [1, 1, 1]), &[from, to]).unwrap();
    assert_eq!(read(&emulator, to, 6), [1, 0, 9, 10, 10, 9]);
}

/// Below sm_20 single precision knows no subnormal numbers, and `mad.f32` no rounding.
#[test]
fn old_architectures_flush() {
    let emulator = emulator();
    let (tiny, one) = (0x0040_0000, 1f32.to_bits());
    let from = words(&emulator, &[tiny, one, 3f32.to_bits()]);
    let run = |target: &str| {
        let to = words(&emulator, &[9; 6]);
        let text = format!(
            ".version 3.1\n.target {target}\n.entry k(.param .u64 a, .param .u64 b)\n{{\n\
             .reg .u64 %a, %b; .reg .f32 %t, %o, %h, %f<6>; .reg .f64 %d; .reg .pred %p;\n\
             ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.global.f32 %t, [%a];\n\
             ld.global.f32 %o, [%a+4]; ld.global.f32 %h, [%a+8];\n\
             mad.f32 %f0, %o, %h, %o; mad.f32 %f1, %t, %o, %t; add.f32 %f2, %t, %t;\n\
             setp.gt.f32 %p, %t, 0f00000000; selp.f32 %f3, %o, %h, %p;\n\
             cvt.f64.f32 %d, %t; cvt.rn.f32.f64 %f4, %d; min.f32 %f5, %t, %o;\n\
             st.global.f32 [%b], %f0; st.global.f32 [%b+4], %f1; st.global.f32 [%b+8], %f2;\n\
             st.global.f32 [%b+12], %f3; st.global.f32 [%b+16], %f4; st.global.f32 [%b+20], %f5;\n\
             exit;\n}}\n"
        );
        launch(&emulator, &text, ([1; 3], [1, 1, 1]), &[from, to]).unwrap();
        read(&emulator, to, 6)
    };
    let (three, four) = (3f32.to_bits(), 4f32.to_bits());
    assert_eq!(run("sm_13"), [four, 0, 0, three, tiny, 0]);
    assert_eq!(run("sm_20"), [four, 2 * tiny, 2 * tiny, one, tiny, tiny]);
}
