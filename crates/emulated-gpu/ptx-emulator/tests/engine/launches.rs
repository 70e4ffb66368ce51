//! Launches: shapes, parameters, cooperative grids, seeds, statistics.

use emulated_gpu_test_support::record;
use ptx_emulator::{Emulator, FaultKind, Launch, RunOptions};

use crate::ptx::{emulator, kernel, kernel_with, launch, load, read, run, words};

#[test]
fn the_timer_never_runs_backwards() {
    // Each block waits for a while, and stores the times that it reads.
    let body = "
        .reg .b32 %i, %lane; .reg .b64 %a, %t, %until; .reg .pred %q;
        mov.u32 %i, %ctaid.x; mul.wide.u32 %a, %i, 8; add.u64 %a, %a, %p0;
        mov.u64 %t, %globaltimer; st.global.u64 [%a], %t;
        setp.ne.u32 %q, %i, 1; @%q bra END; add.u64 %until, %t, 1000000;
        WAIT: mov.u64 %t, %globaltimer; setp.lt.u64 %q, %t, %until; @%q bra WAIT;
        st.global.u64 [%a], %t;
        END: ret;";
    let text = kernel(1, body);
    for deterministic in [true, false] {
        let options =
            RunOptions { deterministic, instruction_limit: Some(1 << 30), ..RunOptions::default() };
        let emulator = Emulator::new(options);
        let out = words(&emulator, &[0; 8]);
        let mut last = 0;
        for _ in 0..3 {
            launch(&emulator, &text, ([4, 1, 1], [1, 1, 1]), &[out]).unwrap();
            let words = read(&emulator, out, 8);
            let times: Vec<u64> =
                words.chunks(2).map(|word| u64::from(word[0]) | u64::from(word[1]) << 32).collect();
            assert!(times.iter().all(|time| *time >= last), "{times:?} after {last}");
            // In deterministic mode, one block runs after the other.
            assert!(!deterministic || times.is_sorted(), "{times:?}");
            last = times.into_iter().max().unwrap();
        }
    }
}

#[test]
fn threads_have_the_right_indices() {
    // The linear index ((ctaid.z * 3 + ctaid.y) * 2 + ctaid.x) * 24 + (tid.z * 3 + tid.y) * 4 + tid.x, each
    // exactly once.
    let text = kernel(
        1,
        ".reg .b32 %i, %a, %v;\n.reg .b64 %o;\nmov.u32 %i, %ctaid.z;\nmov.u32 %a, %ctaid.y;\n\
         mov.u32 %v, %nctaid.y;\nmad.lo.u32 %i, %i, %v, %a;\nmov.u32 %v, %nctaid.x;\n\
         mov.u32 %a, %ctaid.x;\nmad.lo.u32 %i, %i, %v, %a;\nmov.u32 %v, %ntid.z;\n\
         mov.u32 %a, %tid.z;\nmad.lo.u32 %i, %i, %v, %a;\nmov.u32 %v, %ntid.y;\n\
         mov.u32 %a, %tid.y;\nmad.lo.u32 %i, %i, %v, %a;\nmov.u32 %v, %ntid.x;\n\
         mov.u32 %a, %tid.x;\nmad.lo.u32 %i, %i, %v, %a;\nmul.wide.u32 %o, %i, 4;\n\
         add.u64 %o, %o, %p0;\nadd.u32 %i, %i, 1;\nred.global.add.u32 [%o], %i;\nret;",
    );
    let [out] = run(&text, ([2, 3, 2], [4, 3, 2]), [&[0; 2 * 3 * 2 * 24]]).unwrap();
    assert_eq!(out, (1..=288).collect::<Vec<u32>>());
}

#[test]
fn a_grid_barrier_works_with_more_blocks_than_cores() {
    // Each block adds 1, waits for all others, and copies the sum that it then reads.
    let blocks = 64;
    for threads in [0, 1, 3] {
        let emulator = Emulator::new(RunOptions { threads, ..RunOptions::default() });
        let (count, out) = (words(&emulator, &[0]), words(&emulator, &vec![0; blocks]));
        let text = kernel(
            2,
            ".reg .b32 %t, %n, %b;\n.reg .b64 %o;\n.reg .pred %q;\nmov.u32 %t, %tid.x;\n\
             setp.ne.u32 %q, %t, 0;\n@%q bra WAIT;\nmembar.gl;\nred.global.add.u32 [%p0], 1;\n\
             SPIN: ld.acquire.gpu.global.u32 %n, [%p0];\nmov.u32 %t, %nctaid.x;\n\
             setp.lt.u32 %q, %n, %t;\n@%q bra SPIN;\nWAIT: bar.sync 0;\n\
             ld.volatile.global.u32 %n, [%p0];\nmov.u32 %b, %ctaid.x;\nmul.wide.u32 %o, %b, 4;\n\
             add.u64 %o, %o, %p1;\nst.global.u32 [%o], %n;\nret;",
        );
        let kernel = load(&emulator, &text).kernel("k").unwrap();
        let parameters = [count, out].iter().flat_map(|p| p.to_le_bytes()).collect();
        let launch = Launch {
            grid: [blocks as u32, 1, 1],
            block: [64, 1, 1],
            parameters,
            cooperative: true,
            ..Launch::default()
        };
        record::launch(&emulator, &text, &kernel, &launch).unwrap();
        assert_eq!(read(&emulator, out, blocks), vec![blocks as u32; blocks]);
    }
}

/// The code that `grid.sync()` compiles to. It traps if the launch has no workspace.
#[test]
fn a_trap_of_cooperative_groups_is_explained() {
    let emulator = emulator();
    let body = ".reg .b32 %h, %l;\n.reg .pred %q;\nmov.u32 %h, %envreg1;\nmov.u32 %l, %envreg2;\n\
                or.b32 %h, %h, %l;\nsetp.ne.u32 %q, %h, 0;\n@%q bra END;\ntrap;\nEND: ret;";
    let text = kernel(0, body);
    let kernel = load(&emulator, &text).kernel("k").unwrap();
    let plain = Launch { grid: [2, 1, 1], block: [32, 1, 1], ..Launch::default() };
    let fault = emulator.launch(&kernel, &plain).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Trap);
    assert!(fault.notes.iter().any(|note| note.contains("is not cooperative")), "{fault}");
    emulator.launch(&kernel, &Launch { cooperative: true, ..plain }).unwrap();
    // Any other trap has no explanation.
    let fault = launch(&emulator, &crate::ptx::kernel(0, "trap;"), ([1; 3], [1; 3]), &[]);
    assert!(fault.unwrap_err().notes.is_empty());
}

#[test]
fn dynamic_shared_memory_follows_static_shared_memory() {
    let emulator = emulator();
    let out = words(&emulator, &[0; 3]);
    let text = kernel_with(
        ".extern .shared .align 16 .b8 more[];\n",
        1,
        ".shared .align 4 .b8 fixed[12];\n.reg .b32 %a, %b, %c;\nmov.u32 %a, fixed;\nmov.u32 %b, more;\n\
         mov.u32 %c, %dynamic_smem_size;\nst.global.u32 [%p0], %a;\nst.global.u32 [%p0+4], %b;\n\
         st.global.u32 [%p0+8], %c;\nst.shared.u32 [more+28], %a;\nret;",
    );
    let kernel = load(&emulator, &text).kernel("k").unwrap();
    assert_eq!(kernel.static_shared(), 12);
    let mut launch = Launch {
        grid: [1; 3],
        block: [1; 3],
        dynamic_shared: 32,
        parameters: out.to_le_bytes().into(),
        ..Launch::default()
    };
    record::launch(&emulator, &text, &kernel, &launch).unwrap();
    assert_eq!(read(&emulator, out, 3), [0, 16, 32]);
    launch.dynamic_shared = 28;
    let fault = emulator.launch(&kernel, &launch).unwrap_err();
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
}

#[test]
fn invalid_launches_are_rejected() {
    let emulator = emulator();
    let text = kernel(1, "ret;").replace("\n{\n", "\n.maxntid 64, 1, 1\n{\n");
    let kernel = load(&emulator, &text).kernel("k").unwrap();
    let good =
        Launch { grid: [1; 3], block: [64, 1, 1], parameters: vec![0; 8], ..Launch::default() };
    emulator.launch(&kernel, &good).unwrap();
    let bad = [
        (Launch { grid: [0, 1, 1], ..good.clone() }, "may be 0"),
        (Launch { block: [65, 1, 1], ..good.clone() }, ".maxntid"),
        (Launch { block: [1, 1, 65], ..good.clone() }, "at most [1024, 1024, 64] threads along"),
        (Launch { grid: [1, 65_536, 1], ..good.clone() }, "along the axes"),
        (Launch { dynamic_shared: 1 << 20, ..good.clone() }, "shared memory"),
        (Launch { parameters: vec![0; 7], ..good }, "7 bytes of parameters"),
    ];
    for (launch, why) in bad {
        let fault = emulator.launch(&kernel, &launch).unwrap_err();
        assert_eq!(fault.kind, FaultKind::InvalidLaunch);
        assert!(fault.message.contains(why), "{fault}");
    }
}

#[test]
fn only_a_seed_changes_the_order_of_warps() {
    // Each warp appends its index to a list.
    let order = |seed| {
        let emulator =
            Emulator::new(RunOptions { seed, deterministic: true, ..RunOptions::default() });
        let (count, list) = (words(&emulator, &[0]), words(&emulator, &[99; 16]));
        let text = kernel(
            2,
            ".reg .b32 %t, %n;\n.reg .b64 %o;\n.reg .pred %q;\nmov.u32 %t, %tid.x;\n\
             and.b32 %n, %t, 31;\nsetp.ne.u32 %q, %n, 0;\n@%q exit;\n\
             atom.global.add.u32 %n, [%p0], 1;\nmul.wide.u32 %o, %n, 4;\nadd.u64 %o, %o, %p1;\n\
             shr.u32 %t, %t, 5;\nst.global.u32 [%o], %t;\nret;",
        );
        launch(&emulator, &text, ([1, 1, 1], [512, 1, 1]), &[count, list]).unwrap();
        read(&emulator, list, 16)
    };
    let plain = order(None);
    assert_eq!(plain, (0..16).collect::<Vec<u32>>());
    assert_eq!(order(Some(3)), order(Some(3)));
    let shuffled: Vec<Vec<u32>> = (0..8).map(|seed| order(Some(seed))).collect();
    assert!(shuffled.iter().any(|list| *list != plain));
    for mut list in shuffled {
        list.sort_unstable();
        assert_eq!(list, plain);
    }
}

#[test]
fn statistics_count_sectors_and_bank_conflicts() {
    let emulator = Emulator::new(RunOptions { statistics: true, ..RunOptions::default() });
    let array = words(&emulator, &[0; 1024]);
    let text = kernel(
        1,
        ".shared .align 4 .b32 box[1024];\n.reg .b32 %t, %a, %v;\n.reg .b64 %o, %q;\n.reg .pred %s;\n\
         mov.u32 %t, %tid.x;\nmul.wide.u32 %o, %t, 4;\nadd.u64 %q, %p0, %o;\n\
         ld.global.u32 %v, [%q];\nmul.wide.u32 %o, %t, 128;\nadd.u64 %q, %p0, %o;\n\
         ld.global.u32 %v, [%q];\nmov.u32 %a, box;\nmad.lo.u32 %a, %t, 128, %a;\n\
         st.shared.u32 [%a], %v;\nsetp.lt.u32 %s, %t, 8;\n@%s bra END;\nadd.u32 %v, %v, 1;\nEND: ret;",
    );
    let statistics = launch(&emulator, &text, ([1, 1, 1], [32, 1, 1]), &[array]).unwrap();
    let find = |what: &str, nth: usize| {
        let lines: Vec<usize> = text
            .lines()
            .enumerate()
            .filter(|(_, l)| l.contains(what))
            .map(|(i, _)| i + 1)
            .collect();
        statistics.lines.iter().find(|line| line.line == lines[nth]).cloned().unwrap()
    };
    assert_eq!((find("ld.global", 0).global_requests, find("ld.global", 0).global_sectors), (1, 4));
    assert_eq!(find("ld.global", 1).global_sectors, 32);
    assert_eq!((find("st.shared", 0).shared_requests, find("st.shared", 0).shared_passes), (1, 32));
    assert_eq!(find("bra END", 0).splits, 1);
    let add = find("add.u32 %v", 0);
    assert_eq!((add.executions, add.active_lanes, add.divergent), (1, 24, 1));
    assert_eq!(find("END: ret", 0).active_lanes, 32);
}

#[test]
fn nvrtcs_matrix_products_are_right() {
    const PTX: &str = include_str!("../../benches/kernels/matmul.ptx");
    let (m, n, k) = (35usize, 21, 50);
    let emulator = emulator();
    let values = |count: usize, step: usize| -> Vec<f32> {
        (0..count).map(|i| (i * step % 13) as f32 - 6.0).collect()
    };
    let (a, b) = (values(m * k, 5), values(k * n, 7));
    let upload =
        |values: &[f32]| words(&emulator, &values.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
    let pointers = [upload(&a), upload(&b), words(&emulator, &vec![0; m * n])];
    let loaded = load(&emulator, PTX);
    // Small integers, so that every order of summation has the same result.
    let expected: Vec<f32> =
        (0..m * n).map(|i| (0..k).map(|j| a[i / n * k + j] * b[j * n + i % n]).sum()).collect();
    for (name, grid, block) in [
        ("naive", [2, 3, 1], [16, 16, 1]),
        ("flat", [3, 1, 1], [256, 1, 1]),
        ("tiled", [2, 3, 1], [16, 16, 1]),
    ] {
        let mut parameters: Vec<u8> = pointers.iter().flat_map(|p| p.to_le_bytes()).collect();
        parameters.extend([m, n, k].iter().flat_map(|&x| (x as u32).to_le_bytes()));
        emulator.memory().fill(pointers[2], &[0xff], (m * n * 4) as u64).unwrap();
        let launch = Launch { grid, block, parameters, ..Launch::default() };
        record::launch(&emulator, PTX, &loaded.kernel(name).unwrap(), &launch).unwrap();
        let got: Vec<f32> =
            read(&emulator, pointers[2], m * n).into_iter().map(f32::from_bits).collect();
        assert_eq!(got, expected, "{name}");
    }
}
