//! Arithmetic that the instruction tables don't cover: guards, carries, old architectures.

use crate::ptx::{each_thread, kernel, run};

#[test]
fn a_guarded_instruction_does_not_change_the_other_lanes() {
    for (guard, wanted) in [("@%q", true), ("@!%q", false)] {
        let found = each_thread(
            1024,
            ".reg .b32 %a, %b;\n.reg .pred %q;",
            &format!(
                "mov.u32 %a, %tid.x; mul.lo.u32 %b, %a, 0x9e3779b1; shr.u32 %b, %b, 22;\n\
                 setp.lt.u32 %q, %a, %b; mov.u32 %r0, 5; {guard} add.u32 %r0, %r0, %b;"
            ),
        );
        for (a, found) in (0..1024).zip(found) {
            let b = 0x9e37_79b1_u32.wrapping_mul(a) >> 22;
            assert_eq!(found, if (a < b) == wanted { b + 5 } else { 5 }, "{guard} in lane {a}");
        }
    }
}

/// Additions and subtractions share the carry flag, as in ptxas's machine code (sm_75 to sm_90): after a
/// subtraction, the flag means that nothing was borrowed.
#[test]
fn additions_and_subtractions_share_one_carry_flag() {
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
    let [_, to] = run(&text, ([1; 3], [1; 3]), [&[5, 3], &[0; 6]]).unwrap();
    assert_eq!(to, [1, 0, 9, 10, 10, 9]);
}

/// Below sm_20, single precision has no subnormal numbers, and `mad.f32` has no rounding.
#[test]
fn old_architectures_flush() {
    let (tiny, one) = (0x0040_0000, 1f32.to_bits());
    let run = |target: &str| {
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
        let [_, to] =
            run(&text, ([1; 3], [1; 3]), [&[tiny, one, 3f32.to_bits()], &[9; 6]]).unwrap();
        to
    };
    let (three, four) = (3f32.to_bits(), 4f32.to_bits());
    // The expected values are the results of an H100.
    assert_eq!(run("sm_13"), [four, 0, 0, three, 0, 0]);
    assert_eq!(run("sm_20"), [four, 2 * tiny, 2 * tiny, one, tiny, tiny]);
}
