//! Counts of memory traffic and arithmetic, compared with counts by hand.

use ptx_emulator::statistics::LineStatistics;
use ptx_emulator::{Emulator, RunOptions};

use crate::ptx::{kernel, launch, words};

/// Launches a kernel with two buffers of `buffer` words, and returns the counts of all its lines.
fn launch_counts((grid, block): ([u32; 3], [u32; 3]), buffer: usize, body: &str) -> LineStatistics {
    let emulator = Emulator::new(RunOptions { statistics: true, ..RunOptions::default() });
    let buffers = [(); 2].map(|()| words(&emulator, &vec![0; buffer]));
    let statistics = launch(&emulator, &kernel(2, body), (grid, block), &buffers).unwrap();
    let mut sum = LineStatistics::default();
    for line in &statistics.lines {
        sum.global_requests += line.global_requests;
        sum.global_sectors += line.global_sectors;
        sum.global_written_sectors += line.global_written_sectors;
        sum.shared_requests += line.shared_requests;
        sum.shared_passes += line.shared_passes;
        sum.fma_multiply_adds += line.fma_multiply_adds;
        sum.tensor_multiply_adds += line.tensor_multiply_adds;
        sum.other_multiply_adds += line.other_multiply_adds;
        sum.single_operations += line.single_operations;
    }
    sum
}

/// The counts of a body without memory accesses that one warp executes: multiply-adds of FMA units and of tensor cores,
/// multiply-adds of other types, and single operations.
fn arithmetic_counts(body: &str) -> [u64; 4] {
    let registers = ".reg .f32 %f<8>; .reg .f64 %d<4>; .reg .b32 %r<16>; .reg .b16 %h<4>;
         .reg .pred %q; .reg .b32 %t; mov.u32 %t, %tid.x; setp.lt.u32 %q, %t, 10;\n";
    let sum = launch_counts(([1; 3], [32, 1, 1]), 1, &format!("{registers}{body}\nret;"));
    assert_eq!((sum.global_requests, sum.shared_requests), (0, 0));
    [
        sum.fma_multiply_adds,
        sum.tensor_multiply_adds,
        sum.other_multiply_adds,
        sum.single_operations,
    ]
}

/// `c = a · b` for matrices of 32 × 32, in blocks of 16 × 16, with tiles in shared memory.
const TILED: &str = "
    .shared .align 4 .f32 as[256]; .shared .align 4 .f32 bs[256];
    .reg .b32 %x, %y, %i, %j, %k, %n, %at, %a, %b, %sa, %sb; .reg .b64 %o; .reg .f32 %u, %v, %s;
    .reg .pred %p;
    mov.u32 %x, %tid.x; mov.u32 %y, %tid.y;
    mov.u32 %i, %ctaid.y; mad.lo.u32 %i, %i, 16, %y;
    mov.u32 %j, %ctaid.x; mad.lo.u32 %j, %j, 16, %x;
    mov.f32 %s, 0f00000000; mov.u32 %k, 0;
    mad.lo.u32 %at, %y, 16, %x; shl.b32 %at, %at, 2;
    mov.u32 %sa, as; mov.u32 %sb, bs;
    TILE:
    mad.lo.u32 %a, %i, 32, %k; add.u32 %a, %a, %x; mad.wide.u32 %o, %a, 4, %p0;
    ld.global.f32 %u, [%o];
    add.u32 %b, %k, %y; mad.lo.u32 %b, %b, 32, %j; mad.wide.u32 %o, %b, 4, %p0;
    ld.global.f32 %v, [%o];
    add.u32 %a, %sa, %at; st.shared.f32 [%a], %u; add.u32 %b, %sb, %at; st.shared.f32 [%b], %v;
    bar.sync 0;
    mad.lo.u32 %a, %y, 64, %sa; mad.lo.u32 %b, %x, 4, %sb; mov.u32 %n, 0;
    TERM:
    ld.shared.f32 %u, [%a]; ld.shared.f32 %v, [%b]; fma.rn.f32 %s, %u, %v, %s;
    add.u32 %a, %a, 4; add.u32 %b, %b, 64; add.u32 %n, %n, 1; setp.lt.u32 %p, %n, 16;
    @%p bra TERM;
    bar.sync 0; add.u32 %k, %k, 16; setp.lt.u32 %p, %k, 32;
    @%p bra TILE;
    mad.lo.u32 %a, %i, 32, %j; mad.wide.u32 %o, %a, 4, %p1; st.global.f32 [%o], %s;
    ret;";

#[test]
fn the_counts_of_a_tiled_product_are_right() {
    let sum = launch_counts(([2, 2, 1], [16, 16, 1]), 32 * 32, TILED);
    assert_eq!(sum.fma_multiply_adds, 32 * 32 * 32);
    let actual = (sum.tensor_multiply_adds, sum.other_multiply_adds, sum.single_operations);
    assert_eq!(actual, (0, 0, 0));
    // Four blocks load two pairs of tiles of 1,024 bytes each. The results have 4,096 bytes.
    let (loaded, stored) = (4 * 2 * 2 * 1024, 32 * 32 * 4);
    assert_eq!(32 * sum.global_sectors, loaded + stored);
    assert_eq!(32 * sum.global_written_sectors, stored);
    // Eight warps store twice for each pair of tiles, and load twice for each of 16 terms. There are no
    // conflicts: a warp accesses two rows of a tile, which are 16 banks apart.
    let of_a_pair = 8 * (2 + 16 * 2);
    assert_eq!((sum.shared_requests, sum.shared_passes), (4 * 2 * of_a_pair, 4 * 2 * of_a_pair));
}

#[test]
fn inactive_lanes_are_not_counted() {
    assert_eq!(arithmetic_counts("fma.rn.f32 %f0, %f1, %f2, %f3;"), [32, 0, 0, 0]);
    assert_eq!(arithmetic_counts("@%q fma.rn.f32 %f0, %f1, 0f40000000, %f3;"), [10, 0, 0, 0]);
    let expected = [22, 0, 0, 0];
    assert_eq!(arithmetic_counts("@%q bra END; mad.rn.f32 %f0, %f1, %f2, %f3; END:"), expected);
    assert_eq!(arithmetic_counts("@!%q add.rn.f32 %f0, %f1, %f2;"), [0, 0, 0, 22]);
}

#[test]
fn types_are_counted_by_unit() {
    for (instruction, expected) in [
        ("fma.rn.f64 %d0, %d1, %d2, %d3;", [32, 0, 32, 0]),
        ("fma.rn.f16 %h0, %h1, %h2, %h3;", [32, 0, 32, 0]),
        ("fma.rn.f16x2 %r0, %r1, %r2, %r3;", [64, 0, 64, 0]),
        ("fma.rn.bf16x2 %r0, %r1, %r2, %r3;", [64, 0, 64, 0]),
        ("add.f32 %f0, %f1, %f2; sub.f32 %f0, %f1, %f2; mul.f32 %f0, %f1, %f2;", [0, 0, 0, 96]),
        ("add.f16x2 %r0, %r1, %r2;", [0, 0, 0, 64]),
        ("div.rn.f32 %f0, %f1, %f2; ex2.approx.f32 %f0, %f1; max.f32 %f0, %f1, %f2;", [0; 4]),
        ("mad.lo.s32 %r0, %r1, %r2, %r3; dp4a.s32.s32 %r0, %r1, %r2, %r3;", [0; 4]),
    ] {
        assert_eq!(arithmetic_counts(instruction), expected, "{instruction}");
    }
}

/// m·n·k for each product, including the sparse products.
#[test]
fn matrix_units_count_by_their_shape() {
    let list = |prefix: &str, from: usize, count: usize| {
        let names: Vec<String> = (from..from + count).map(|n| format!("%{prefix}{n}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let (f4, r4, r2, r1) = (list("f", 0, 4), list("r", 0, 4), list("r", 4, 2), list("r", 4, 1));
    for (instruction, product, tf32) in [
        (format!("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {f4}, {r4}, {r2}, {f4};"), 1_024, true),
        (format!("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {f4}, {r4}, {r2}, {f4};"), 2_048, false),
        (
            format!(
                "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {}, {}, {r2}, {};",
                list("f", 0, 8), list("r", 0, 2), list("f", 0, 8)
            ),
            4 * 8 * 8 * 4,
            false,
        ),
        (
            format!(
                "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {}, {{%d0}}, {{%d1}}, {};",
                list("d", 2, 2), list("d", 2, 2)
            ),
            256,
            false,
        ),
        (
            format!("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {r2}, {r1}, {r1}, {r2};"),
            1_024,
            false,
        ),
        (
            format!(
                "mov.u32 %r8, 0x44444444;
                 mma.sp::ordered_metadata.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {f4}, {}, {r2}, {f4}, %r8, 0x0;",
                list("r", 0, 2)
            ),
            1_024,
            true,
        ),
        (
            format!(
                "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32 {}, {r4}, {r4}, {};",
                list("f", 0, 8), list("f", 0, 8)
            ),
            16 * 16 * 8,
            true,
        ),
    ] {
        let other = if tf32 { 0 } else { product };
        assert_eq!(arithmetic_counts(&instruction), [0, product, other, 0], "{instruction}");
        // The counts are also right in a loop, after a branch at which lanes diverged and
        // reconverged.
        let body = format!(
            ".reg .b32 %n; mov.u32 %n, 0; LOOP: @%q bra ON; add.u32 %t, %t, 0; ON: bar.warp.sync -1;
             {instruction} add.u32 %n, %n, 1; setp.lt.u32 %q, %n, 3; @%q bra LOOP;"
        );
        assert_eq!(arithmetic_counts(&body), [0, 3 * product, 3 * other, 0], "{body}");
    }
}

#[test]
fn asynchronous_copies_are_counted() {
    let count = |instruction: &str| {
        let body = format!(
            ".shared .align 16 .b8 box[1024]; .shared .align 8 .b64 object;
             .reg .b32 %t, %a, %b, %w; .reg .b64 %o; .reg .pred %q, %z;
             mov.u32 %t, %tid.x; mov.u32 %b, box; mad.lo.u32 %a, %t, 16, %b;
             mad.wide.u32 %o, %t, 16, %p0; setp.lt.u32 %q, %t, 8; setp.eq.u32 %z, %t, 0;
             {instruction}\nret;"
        );
        let sum = launch_counts(([1; 3], [32, 1, 1]), 1024, &body);
        let global = (sum.global_requests, sum.global_sectors, sum.global_written_sectors);
        (global, (sum.shared_requests, sum.shared_passes))
    };
    // 32 lanes copy 512 bytes: 16 sectors, and four passes through the banks.
    let plain = "cp.async.cg.shared.global [%a], [%o], 16;";
    assert_eq!(count(plain), ((1, 16, 0), (1, 4)));
    // Only eight lanes perform the copy.
    assert_eq!(count(&format!("@%q {plain}")), ((1, 4, 0), (1, 1)));
    // Zeros are written without a read, in lanes with a size of 0 or an ignored source.
    let sized = "selp.u32 %w, 16, 0, %q; cp.async.cg.shared.global [%a], [%o], 16, %w;";
    assert_eq!(count(sized), ((1, 4, 0), (1, 4)));
    let ignored = "cp.async.cg.shared.global [%a], [%o], 16, %q;";
    assert_eq!(count(ignored), ((1, 12, 0), (1, 4)));
    let none = "cp.async.cg.shared.global [%a], [%o], 16, 0;";
    assert_eq!(count(none), ((0, 0, 0), (1, 4)));
    // Words of a column in one bank: 32 passes. Each lane reads from a different sector.
    let column = "mad.lo.u32 %a, %t, 28, %a; and.b32 %a, %a, 1020; mad.wide.u32 %o, %t, 16, %o;
         mov.u32 %w, %t; shl.b32 %w, %w, 7; and.b32 %w, %w, 896; add.u32 %a, %b, %w;
         cp.async.ca.shared.global [%a], [%o], 4;";
    assert_eq!(count(column), ((1, 32, 0), (1, 8)));
    // A thread's bulk copy to shared memory: 512 bytes, and one access of the barrier object for each
    // instruction.
    let begin = "mov.u32 %t, object; @%z mbarrier.init.shared.b64 [%t], 1;";
    let (global, shared) = count(&format!(
        "{begin} @%z mbarrier.expect_tx.shared.b64 [%t], 512;
         @%z cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%b], [%p0], 512, [%t];"
    ));
    assert_eq!((global, shared), ((1, 16, 0), (4, 3 + 4)));
    // Copies of two lanes with different sizes, to global memory.
    let stored = "setp.lt.u32 %q, %t, 2; mad.lo.u32 %w, %t, 64, 32; mad.wide.u32 %o, %t, 496, %o;
         @%q cp.async.bulk.global.shared::cta.bulk_group [%o], [%b], %w;";
    assert_eq!(count(stored), ((1, 1 + 3, 1 + 3), (1, 2)));
}

/// The results are the same, and nothing is counted unless it is enabled.
#[test]
fn nothing_is_counted_unless_it_is_enabled() {
    let emulator = Emulator::new(RunOptions::default());
    let buffers = [(); 2].map(|()| words(&emulator, &[0; 1024]));
    let text = kernel(2, TILED);
    let statistics = launch(&emulator, &text, ([2, 2, 1], [16, 16, 1]), &buffers).unwrap();
    assert_eq!(statistics.lines, []);
}
