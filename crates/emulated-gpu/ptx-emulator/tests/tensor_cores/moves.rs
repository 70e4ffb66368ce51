//! `ldmatrix`, `stmatrix` and `movmatrix`: the layout that the ISA defines, the sanitizers, and the counters.

use emulated_gpu_test_support::ptx::{HEADER, launch, read, words};
use ptx_emulator::{Checks, Emulator, Fault, FaultKind, RunOptions, Statistics};

use super::warp::{Row, Warps};

/// The value of an element of the test matrix, by row and column. Each lane holds a pair of elements of a row.
fn element(row: usize, column: usize) -> u64 {
    (row * 8 + column) as u64 + 1
}

fn element_value(which: usize, transposed: bool) -> Row {
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        let at = |row, column| {
            let (row, column) = if transposed { (column, row) } else { (row, column) };
            element(row, column) + 100 * which as u64
        };
        at(row, column) | at(row, column + 1) << 16
    })
}

fn run(body: &str, options: RunOptions) -> Result<(Vec<u32>, Statistics), Fault> {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 to)\n{{\n\
         .reg .b32 %r<20>; .reg .b64 %p<5>; .reg .pred %q; .reg .f32 %f<9>;\n\
         .shared .align 16 .b8 box[2048];\n\
         ld.param.u64 %p0, [to]; mov.u32 %r0, %tid.x; mul.wide.u32 %p1, %r0, 4; add.u64 %p0, %p0, %p1;\n\
         mov.u32 %r1, box;\n{body}\nret;\n}}\n"
    );
    let emulator = Emulator::new(RunOptions { threads: 1, statistics: true, ..options });
    let to = words(&emulator, &[0; 512]);
    let statistics = launch(&emulator, &text, ([1; 3], [32, 1, 1]), &[to])?;
    Ok((read(&emulator, to, 512), statistics))
}

/// Instructions that store the four matrices one after the other to shared memory, with rows `pitch` bytes
/// apart.
fn plain_stores(pitch: usize) -> String {
    let mut text = String::from("and.b32 %r2, %r0, 3; shr.u32 %r3, %r0, 2;\n");
    // The pair that a lane stores: row lane / 4, columns 2·(lane % 4) and the next.
    text += "mad.lo.u32 %r4, %r3, 8, 1; mad.lo.u32 %r4, %r2, 2, %r4; mad.lo.u32 %r4, %r4, 0x10001, 0x10000;\n";
    text += &format!("mad.lo.u32 %r5, %r3, {pitch}, %r1; mad.lo.u32 %r5, %r2, 4, %r5;\n");
    for which in 0..4 {
        let add = 100 * which + ((100 * which) << 16);
        text +=
            &format!("add.u32 %r6, %r4, {add}; st.shared.b32 [%r5+{}], %r6;\n", which * 8 * pitch);
    }
    text
}

/// Computes the address of row lane % 8 of matrix lane / 8.
fn addresses(pitch: usize) -> String {
    format!("mad.lo.u32 %r7, %r0, {pitch}, %r1;\n")
}

fn results(count: usize) -> String {
    (0..count)
        .map(|which| format!("st.global.b32 [%p0+{}], %r{};\n", which * 128, 10 + which))
        .collect()
}

fn registers(count: usize) -> String {
    let list: Vec<String> = (0..count).map(|which| format!("%r{}", 10 + which)).collect();
    list.join(",")
}

#[test]
fn ldmatrix_has_the_layout_of_the_isa() {
    for (count, number) in [(1, "x1"), (2, "x2"), (4, "x4")] {
        for transposed in [false, true] {
            let trans = if transposed { ".trans" } else { "" };
            let body = format!(
                "{}bar.warp.sync 0xffffffff;\n{}ldmatrix.sync.aligned.m8n8.{number}{trans}.shared.b16 {{{}}}, [%r7];\n{}",
                plain_stores(16),
                addresses(16),
                registers(count),
                results(count)
            );
            let checks = Checks { initialisation: true, races: true, synchronisation: true };
            for checks in [Checks::default(), checks] {
                let (words, _) =
                    run(&body, RunOptions { checks, ..RunOptions::default() }).unwrap();
                for which in 0..count {
                    let found: Vec<u64> =
                        words[which * 32..][..32].iter().map(|&word| u64::from(word)).collect();
                    assert_eq!(found, element_value(which, transposed), "{number}{trans} {which}");
                }
            }
        }
    }
}

#[test]
fn stmatrix_reverses_ldmatrix() {
    for transposed in [false, true] {
        let trans = if transposed { ".trans" } else { "" };
        // Loading and storing with the same layout results in the same matrix; the plain load reads rows.
        let body = format!(
            "{}bar.warp.sync -1;\n{}ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{{r}}}, [%r7];\n\
             add.u32 %r7, %r7, 1024;\nstmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 [%r7], {{{r}}};\n\
             bar.warp.sync -1;\nmad.lo.u32 %r5, %r0, 4, %r1;\n\
             ld.shared.b32 %r10, [%r5+1024]; ld.shared.b32 %r11, [%r5+1152];\n{}",
            plain_stores(16),
            addresses(16),
            results(2),
            r = registers(4),
        );
        let (words, _) = run(&body, RunOptions::default()).unwrap();
        for which in 0..2 {
            let found: Vec<u64> =
                words[which * 32..][..32].iter().map(|&word| u64::from(word)).collect();
            assert_eq!(found, element_value(which, false), "{trans} {which}");
        }
    }
}

#[test]
fn movmatrix_transposes() {
    let warps = Warps {
        text: "movmatrix.sync.aligned.m8n8.trans.b16 %d, %a".into(),
        written: (32, 1),
        read: vec![(32, 1)],
        options: RunOptions::default(),
    };
    assert_eq!(warps.run(&[vec![element_value(0, false)]]), [[element_value(0, true)]]);
}

#[test]
fn conflicts_of_banks_are_counted() {
    for (pitch, passes) in [(16, 4), (144, 4), (128, 32)] {
        let body = format!(
            "mad.lo.u32 %r7, %r0, {pitch}, 0; and.b32 %r7, %r7, 2032; add.u32 %r7, %r7, %r1;\n\
             ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{}}}, [%r7];",
            registers(4)
        );
        let (_, statistics) = run(&body, RunOptions::default()).unwrap();
        let counted = statistics.lines.iter().filter(|line| line.shared_requests > 0);
        let counted: Vec<_> =
            counted.map(|line| (line.shared_requests, line.shared_passes)).collect();
        assert_eq!(counted, [(1, passes)], "rows {pitch} bytes apart");
    }
}

fn fault(body: &str, checks: Checks) -> Fault {
    run(body, RunOptions { checks, ..RunOptions::default() }).unwrap_err()
}

#[test]
fn the_sanitizers_check_ldmatrix() {
    let all = Checks { initialisation: true, races: true, synchronisation: true };
    let load = format!("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{}}}, [%r7];", registers(4));
    // Other lanes have stored, and the load is not ordered after these stores.
    let racing = format!("{}{}{load}", plain_stores(16), addresses(16));
    assert_eq!(fault(&racing, all).kind, FaultKind::Race);
    let unwritten = format!("{}{load}", addresses(16));
    assert_eq!(fault(&unwritten, all).kind, FaultKind::Uninitialised);
    let misaligned = format!("{}{load}", addresses(8));
    assert_eq!(fault(&misaligned, Checks::default()).kind, FaultKind::Misaligned);
    let outside = format!("add.u32 %r1, %r1, 2032;\n{}{load}", addresses(16));
    assert_eq!(fault(&outside, Checks::default()).kind, FaultKind::IllegalAddress);
}

const PRODUCT: &str = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, {%r1,%r1,%r1,%r1}, \
     {%r1,%r1}, {%f1,%f2,%f3,%f4};";

#[test]
fn a_product_takes_the_whole_warp() {
    let absent = format!("setp.eq.u32 %q, %r0, 5; @%q exit;\n{PRODUCT}");
    let found = fault(&absent, Checks::default());
    assert_eq!(found.kind, FaultKind::InactiveLane);
    assert!(found.to_string().contains("0xffffffdf"), "{found}");
    let unwritten = fault(PRODUCT, Checks { initialisation: true, ..Checks::default() });
    assert_eq!(unwritten.kind, FaultKind::Uninitialised);
}

#[test]
fn diverged_lanes_wait_for_each_other() {
    // Half of the warp takes a longer path, and a barrier among its own lanes keeps it from reconverging
    // earlier.
    let body = format!(
        "mov.f32 %f1, 0f3F800000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1; mov.b32 %r1, 0;\n\
         setp.lt.u32 %q, %r0, 16; @%q bra LOW; bar.warp.sync 0xffff0000; bra.uni BOTH;\n\
         LOW: bar.warp.sync 0x0000ffff;\nBOTH: {PRODUCT}\n\
         st.global.f32 [%p0], %f4;"
    );
    let (words, _) = run(&body, RunOptions::default()).unwrap();
    assert!(words[..32].iter().all(|&word| word == 0x3f80_0000), "{words:x?}");
}
