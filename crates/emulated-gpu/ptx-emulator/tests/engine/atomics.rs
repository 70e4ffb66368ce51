//! Atomics and reductions, contended across lanes, warps and blocks.

use super::bench::{emulator, kernel, launch, read, words};

#[test]
fn every_thread_of_every_block_counts() {
    let emulator = emulator();
    let sums = words(&emulator, &[0, 0, 0, u32::MAX, 0, 0, 0, 0]);
    let text = kernel(
        1,
        ".reg .b32 %t, %old;\n.reg .f32 %one;\n.reg .b64 %w;\nmov.u32 %t, %tid.x;\n\
         mov.f32 %one, 0f3F800000;\nmov.u64 %w, 4294967297;\n\
         red.global.add.u32 [%p0], 1;\natom.global.add.f32 %one, [%p0+4], %one;\n\
         atom.max.u32 %old, [%p0+8], %t;\nred.global.min.u32 [%p0+12], %t;\n\
         red.global.inc.u32 [%p0+16], 9;\nred.global.or.b32 [%p0+20], 6;\n\
         red.global.add.u64 [%p0+24], %w;\nret;",
    );
    launch(&emulator, &text, ([40, 1, 1], [96, 1, 1]), &[sums]).unwrap();
    let n = 40 * 96;
    let sums = read(&emulator, sums, 8);
    assert_eq!(sums, [n, (n as f32).to_bits(), 95, 0, n % 10, 6, n, n]);
}

#[test]
fn an_atomic_gives_each_lane_a_value_of_its_own() {
    let emulator = emulator();
    let (counter, seen) = (words(&emulator, &[0]), words(&emulator, &[0; 256]));
    let text = kernel(
        2,
        ".reg .b32 %old;\n.reg .b64 %o;\natom.global.add.u32 %old, [%p0], 1;\n\
         mul.wide.u32 %o, %old, 4;\nadd.u64 %o, %o, %p1;\nred.global.add.u32 [%o], 1;\nret;",
    );
    launch(&emulator, &text, ([4, 1, 1], [64, 1, 1]), &[counter, seen]).unwrap();
    assert_eq!(read(&emulator, seen, 256), [1; 256]);
}

#[test]
fn shared_atomics_and_compare_and_swap() {
    let out = super::bench::each_thread(
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
