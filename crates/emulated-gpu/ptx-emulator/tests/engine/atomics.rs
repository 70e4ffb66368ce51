//! Atomics and reductions under contention across lanes, warps and blocks.

use crate::ptx::{emulator, kernel, launch, read, run, words};

#[test]
fn every_thread_of_every_block_counts() {
    let text = kernel(
        1,
        ".reg .b32 %t, %old;\n.reg .f32 %one;\n.reg .b64 %w;\nmov.u32 %t, %tid.x;\n\
         mov.f32 %one, 0f3F800000;\nmov.u64 %w, 4294967297;\n\
         red.global.add.u32 [%p0], 1;\natom.global.add.f32 %one, [%p0+4], %one;\n\
         atom.max.u32 %old, [%p0+8], %t;\nred.global.min.u32 [%p0+12], %t;\n\
         red.global.inc.u32 [%p0+16], 9;\nred.global.or.b32 [%p0+20], 6;\n\
         red.global.add.u64 [%p0+24], %w;\nret;",
    );
    let [sums] = run(&text, ([40, 1, 1], [96, 1, 1]), [&[0, 0, 0, u32::MAX, 0, 0, 0, 0]]).unwrap();
    let n = 40 * 96;
    assert_eq!(sums, [n, (n as f32).to_bits(), 95, 0, n % 10, 6, n, n]);
}

#[test]
fn an_atomic_returns_a_different_value_to_each_lane() {
    let text = kernel(
        2,
        ".reg .b32 %old;\n.reg .b64 %o;\natom.global.add.u32 %old, [%p0], 1;\n\
         mul.wide.u32 %o, %old, 4;\nadd.u64 %o, %o, %p1;\nred.global.add.u32 [%o], 1;\nret;",
    );
    let [_, seen] = run(&text, ([4, 1, 1], [64, 1, 1]), [&[0], &[0; 256]]).unwrap();
    assert_eq!(seen, [1; 256]);
}

#[test]
fn only_one_thread_wins_a_compare_and_swap() {
    let out = crate::ptx::each_thread(
        64,
        ".shared .align 4 .b32 n;\n.reg .b32 %t;\n.reg .pred %q;",
        "mov.u32 %t, %tid.x;\nsetp.eq.u32 %q, %t, 0;\n@%q st.shared.u32 [n], 100;\nbar.sync 0;\n\
         red.shared.add.u32 [n], 2;\nbar.sync 0;\natom.shared.cas.b32 %r0, [n], 228, 5;\nbar.sync 0;\n\
         ld.shared.u32 %t, [n];\nadd.u32 %r0, %r0, %t;",
    );
    // One thread finds 228 and swaps; the others find 5.
    let mut sorted = out.clone();
    sorted.sort_unstable();
    assert_eq!(sorted[63], 233);
    assert!(sorted[..63].iter().all(|&value| value == 10), "{out:?}");
}

#[test]
fn a_contended_sum_in_shared_memory_counts_every_thread() {
    // 1.5 from each of 1024 threads at one address is exact in any order. Subnormal numbers stay subnormal,
    // because atomics in shared memory don't flush (PTX ISA, "atom").
    let text = kernel(
        1,
        ".shared .align 4 .f32 sum;\n.shared .align 4 .f32 tiny;\n.reg .b32 %t, %c;\n\
         .reg .f32 %old, %a, %b;\n.reg .pred %q;\n.reg .b64 %o;\n\
         mov.u32 %t, %tid.x;\nsetp.ne.u32 %q, %t, 0;\n@%q bra GO;\nst.shared.f32 [sum], 0f00000000;\n\
         st.shared.f32 [tiny], 0f00000000;\nGO: bar.sync 0;\n\
         atom.shared.add.f32 %old, [sum], 0f3FC00000;\nred.shared.add.f32 [tiny], 0f00000001;\n\
         bar.sync 0;\n@%q bra DONE;\nld.shared.f32 %a, [sum];\nld.shared.f32 %b, [tiny];\n\
         mov.u32 %c, %ctaid.x;\nmul.wide.u32 %o, %c, 8;\nadd.u64 %o, %o, %p0;\n\
         st.global.f32 [%o], %a;\nst.global.f32 [%o+4], %b;\nDONE: ret;",
    );
    for races in [false, true] {
        let checks = ptx_emulator::Checks { races, ..ptx_emulator::Checks::default() };
        let options = ptx_emulator::RunOptions { checks, ..ptx_emulator::RunOptions::default() };
        let emulator = ptx_emulator::Emulator::new(options);
        let sums = words(&emulator, &[0; 6]);
        launch(&emulator, &text, ([3, 1, 1], [1024, 1, 1]), &[sums]).unwrap();
        let expected = [1536.0_f32.to_bits(), 1024].repeat(3);
        assert_eq!(read(&emulator, sums, 6), expected);
    }
}

#[test]
fn lanes_update_one_word_in_ascending_order() {
    // The magnitudes differ so much that each order has a different sum. Tested for several masks, with and
    // without a check that handles each lane separately.
    let value = |lane: u32| if lane.is_multiple_of(3) { 1e8 } else { -33_333_333.0 + lane as f32 };
    for mask in [u32::MAX, 0x5555_5555, 0x0ff0_0ff1, 1 << 9] {
        let (mut sum, mut seen) = (0.25_f32, vec![7; 32]);
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            seen[lane as usize] = sum.to_bits();
            sum += value(lane);
        }
        let lanes: Vec<u32> = (0..32).map(|lane| value(lane).to_bits()).collect();
        for initialisation in [false, true] {
            let checks = ptx_emulator::Checks { initialisation, ..Default::default() };
            let options = ptx_emulator::RunOptions { checks, ..Default::default() };
            let emulator = ptx_emulator::Emulator::new(options);
            let word = words(&emulator, &[0.25_f32.to_bits(), 3]);
            let (values, old) = (words(&emulator, &lanes), words(&emulator, &[7; 32]));
            let text = kernel(
                3,
                &format!(
                    ".reg .b32 %t, %m;\n.reg .b64 %o;\n.reg .f32 %v;\n.reg .pred %q;\n\
                     mov.u32 %t, %tid.x;\nshr.u32 %m, {mask}, %t;\nand.b32 %m, %m, 1;\n\
                     setp.ne.u32 %q, %m, 0;\nmul.wide.u32 %o, %t, 4;\nadd.u64 %p1, %p1, %o;\n\
                     add.u64 %p2, %p2, %o;\nld.global.f32 %v, [%p1];\n\
                     @%q atom.global.add.f32 %v, [%p0], %v;\n@%q st.global.f32 [%p2], %v;\n\
                     @%q atom.global.exch.b32 %m, [%p0+4], %t;\nret;"
                ),
            );
            launch(&emulator, &text, ([1, 1, 1], [32, 1, 1]), &[word, values, old]).unwrap();
            assert_eq!(read(&emulator, old, 32), seen, "{mask:#010x}, {initialisation}");
            let last = 31 - mask.leading_zeros();
            assert_eq!(read(&emulator, word, 2), [sum.to_bits(), last]);
        }
    }
}

#[test]
fn a_vector_is_an_atomic_operation_for_each_element() {
    let emulator = emulator();
    let floats = |values: [f32; 4]| values.map(f32::to_bits);
    let sums = words(&emulator, &floats([1.0, 2.0, 3.0, 4.0]));
    let old = words(&emulator, &[0; 2]);
    let text = kernel(
        2,
        ".reg .f32 %f<4>;\n.reg .b16 %h<2>;\nmov.f32 %f2, 0f3F000000;\nmov.f32 %f3, 0f3E800000;\n\
         red.global.add.v4.f32 [%p0], {%f2, %f2, %f3, %f3};\n\
         atom.global.add.v2.f32 {%f0, %f1}, [%p0+8], {%f3, %f3};\n\
         st.global.v2.f32 [%p1], {%f0, %f1};\nret;",
    );
    launch(&emulator, &text, ([1; 3], [1; 3]), &[sums, old]).unwrap();
    assert_eq!(read(&emulator, sums, 4), floats([1.5, 2.5, 3.5, 4.5]));
    assert_eq!(read(&emulator, old, 2), [3.25f32.to_bits(), 4.25f32.to_bits()]);
    // 64 threads in two blocks, and eight half-precision elements that are updated separately.
    let halves = words(&emulator, &[0; 4]);
    let text = kernel(
        1,
        ".reg .b16 %h;\nmov.b16 %h, 0x3c00;\n\
         red.global.add.noftz.v8.f16 [%p0], {%h, %h, %h, %h, %h, %h, %h, %h};\n\
         red.global.max.noftz.v2.f16 [%p0], {%h, %h};\nret;",
    );
    launch(&emulator, &text, ([2, 1, 1], [64, 1, 1]), &[halves]).unwrap();
    // 128.0 is 0x5800.
    assert_eq!(read(&emulator, halves, 4), [0x5800_5800; 4]);
}

#[test]
fn sixteen_bytes_are_swapped_at_once() {
    // Each thread adds 1 to both halves of 16 bytes, with a compare-and-swap loop.
    let text = kernel(
        2,
        ".reg .b128 %old, %new, %seen;\n.reg .b64 %low, %high, %a, %b;\n.reg .pred %q, %u;\n\
         ld.global.v2.b64 {%low, %high}, [%p0];\n\
         AGAIN: mov.b128 %old, {%low, %high};\nadd.u64 %a, %low, 1;\nadd.u64 %b, %high, 1;\n\
         mov.b128 %new, {%a, %b};\natom.global.cas.b128 %seen, [%p0], %old, %new;\n\
         mov.b128 {%a, %b}, %seen;\nsetp.eq.u64 %q, %a, %low;\nsetp.eq.u64 %u, %b, %high;\n\
         and.pred %q, %q, %u;\nmov.u64 %low, %a;\nmov.u64 %high, %b;\n@!%q bra AGAIN;\n\
         atom.global.exch.b128 %seen, [%p1], %new;\nret;",
    );
    let [lock, log] = run(&text, ([4, 1, 1], [64, 1, 1]), [&[0, 0, 0, 0], &[0; 4]]).unwrap();
    assert_eq!(lock, [256, 0, 256, 0]);
    // The last value that was exchanged is not torn.
    assert!(log[0] > 0 && log[0] <= 256 && log[..2] == log[2..], "{log:?}");
}
