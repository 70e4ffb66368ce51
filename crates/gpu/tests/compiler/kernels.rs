//! Tests that every kernel of the levels and of autograd gives the same results whether cuda-c or NVRTC compiled
//! it, on the emulator: equal bits, or two units in the last place if it uses transcendental functions.

use cuda_c::CompileOptions;
use emulated_gpu_test_support::kernel::{
    Argument, as_floats, compile_with, drawn, float, floats, longs, run, size, word,
};

use crate::text;

type Grid = ([u32; 3], [u32; 3]);

/// Runs both versions; `loose` is the allowed relative difference of their results.
fn compare(file: &str, kernel: &str, grid: Grid, arguments: &[Argument], loose: f32) {
    let source = text(&format!("kernels/{file}.cu"));
    let name = format!("kernels/{file}.cu");
    let theirs = text(&format!("kernels/{file}.ptx"));
    let arch = if theirs.contains(".target sm_80") { 80 } else { 50 };
    let options = CompileOptions { name: &name, arch, ..CompileOptions::default() };
    let own = compile_with(&source, &options);
    let (mine, counted) = run(&own, kernel, grid, arguments);
    let (expected, usual) = run(&theirs, kernel, grid, arguments);
    for (index, (a, b)) in mine.iter().zip(&expected).enumerate() {
        if loose == 0.0 || a == b {
            assert_eq!(a, b, "{kernel}, argument {index}\n{own}");
            continue;
        }
        for (place, (a, b)) in as_floats(a).iter().zip(as_floats(b)).enumerate() {
            let near = (a - b).abs() <= loose * b.abs().max(1e-6) || a.to_bits() == b.to_bits();
            assert!(near, "{kernel}, argument {index}, element {place}: {a} and {b}");
        }
    }
    let ratio = counted.thread_instructions as f64 / usual.thread_instructions as f64;
    let shown =
        if file.contains("products/") { format!("{kernel} of {file}") } else { kernel.into() };
    println!(
        "{shown:<40} {:>8} {:>8} {ratio:.2}",
        counted.thread_instructions, usual.thread_instructions
    );
    assert!(ratio <= 1.5, "{shown}: {ratio:.2} times NVRTC's instructions\n{own}");
}

const TILES: Grid = ([2, 3, 1], [8, 4, 1]);
const LINE: Grid = ([3, 1, 1], [32, 1, 1]);

#[test]
fn products_and_sums() {
    let (m, n, k) = (11u64, 14u64, 23u64);
    let (a, b) = (floats(&drawn(23 * 14, 1)), floats(&drawn(23 * 14, 2)));
    for kernel in ["matmul_a_b", "matmul_a_bt", "matmul_at_b"] {
        let c = floats(&vec![0.0; 11 * 14]);
        let arguments = [a.clone(), b.clone(), c, size(m), size(n), size(k)];
        compare(kernel, kernel, TILES, &arguments, 0.0);
    }
    let b = floats(&drawn(14, 3));
    compare("add_bias", "add_bias", TILES, &[a.clone(), b, size(m), size(n)], 0.0);
    compare(
        "sum_batch",
        "sum_batch",
        LINE,
        &[a.clone(), floats(&[0.0; 14]), size(23), size(14)],
        0.0,
    );
    let rows = longs(&[3, 0, 22, 7, 7]);
    let arguments = [a, rows, floats(&[0.0; 70]), size(5), size(14)];
    compare("gather_rows", "gather_rows", TILES, &arguments, 0.0);
}

/// Runs the ladder of products, with rows that begin at multiples of 16 bytes, and with rows that don't.
#[test]
fn the_ladder_of_products() {
    for (m, n, k) in [(68u64, 72u64, 36u64), (33, 65, 19)] {
        let count = |rows: u64, columns: u64| (rows * columns) as usize;
        let (a, b) = (floats(&drawn(count(m, k), 1)), floats(&drawn(count(k, n), 2)));
        let arguments = [a, b, floats(&vec![0.0; count(m, n)]), size(m), size(n), size(k)];
        let blocks = |tile: u64| [n.div_ceil(tile) as u32, m.div_ceil(tile) as u32, 1];
        for kernel in ["matmul_a_b", "matmul_a_bt", "matmul_at_b"] {
            // This grid has a warp for each element of a · bᵀ, with the warp's lanes along x.
            let by_warps = ([n as u32, m.div_ceil(4) as u32, 1], [32, 4, 1]);
            let plain = (blocks(16), [16, 16, 1]);
            let coalesced = if kernel == "matmul_a_bt" { by_warps } else { plain };
            compare("products/coalesced", kernel, coalesced, &arguments, 0.0);
            compare("products/shared_tile", kernel, plain, &arguments, 0.0);
            let tiles = (blocks(64), [16, 16, 1]);
            compare("products/register_tile", kernel, tiles, &arguments, 0.0);
            compare("products/vectorised", kernel, tiles, &arguments, 0.0);
            compare("products/wmma", kernel, tiles, &arguments, 0.0);
        }
    }
}

#[test]
fn element_by_element() {
    let (a, b) = (floats(&drawn(90, 4)), floats(&drawn(90, 5)));
    let out = floats(&[0.0; 90]);
    compare("relu", "relu", LINE, &[a.clone(), out.clone(), size(90)], 0.0);
    compare(
        "relu_backward",
        "relu_backward",
        LINE,
        &[a.clone(), b.clone(), out.clone(), size(90)],
        0.0,
    );
    compare(
        "output_gradient",
        "output_gradient",
        LINE,
        &[a.clone(), b.clone(), out.clone(), size(9), size(10)],
        0.0,
    );
    compare(
        "output_gradient_of_share",
        "output_gradient_of_share",
        LINE,
        &[a.clone(), b.clone(), out.clone(), size(9), size(10), size(23)],
        0.0,
    );
    compare("update", "update", LINE, &[a.clone(), b.clone(), float(0.125), size(90)], 0.0);
    let gradients = floats(&drawn(90 * 7, 6));
    compare(
        "update_weights",
        "update_weights",
        LINE,
        &[a.clone(), gradients, float(0.3), size(7), size(90)],
        0.0,
    );
    compare("sigmoid", "sigmoid", LINE, &[a, out, size(90)], 3e-7);
}

#[test]
fn losses() {
    let (z, y) = (floats(&drawn(90, 7)), floats(&drawn(90, 8)));
    let out = floats(&[0.0; 9]);
    for (kernel, loose) in [("squared_error", 0.0), ("cross_entropy", 2e-6), ("bce", 2e-6)] {
        compare(
            kernel,
            kernel,
            LINE,
            &[z.clone(), y.clone(), out.clone(), size(9), size(10)],
            loose,
        );
    }
    let p = floats(&[0.0; 90]);
    compare("softmax", "softmax", ([2, 3, 1], [8, 4, 1]), &[z, p, size(9), size(10)], 1e-6);
}

#[test]
fn the_kernels_with_a_thread_for_each_sample() {
    // Layers of 5, 7 and 3 units; the grid has two threads without a sample.
    let (batch, count) = (30usize, 5 * 7 + 7 + 7 * 3 + 3);
    for loss in 0..3 {
        let arguments = [
            longs(&[5, 7, 3]),
            size(2),
            word(loss),
            size(batch as u64),
            floats(&drawn(batch * 5, 9)),
            floats(&drawn(batch * 3, 10)),
            floats(&drawn(count, 11)),
            size(count as u64),
            floats(&vec![0.0; batch * 10]),
            floats(&vec![0.0; batch * 10]),
            floats(&vec![0.0; batch * 10]),
            floats(&vec![0.0; batch * count]),
        ];
        let loose = if loss == 2 { 0.0 } else { 2e-5 };
        compare("train_step", "train_step", ([1, 1, 1], [32, 1, 1]), &arguments, loose);
    }
}

#[test]
fn the_kernels_of_autograd() {
    let (a, b) = (floats(&drawn(96, 12)), floats(&drawn(96, 13)));
    let out = floats(&[0.0; 96]);
    for (kernel, loose) in [
        ("neg", 0.0),
        ("exp_", 3e-7),
        ("log_", 1e-6),
        ("tanh_", 6e-7),
        ("softplus", 6e-7),
        ("pow_", 6e-7),
        ("scale", 0.0),
        ("shift", 0.0),
    ] {
        compare(
            "autograd/map",
            kernel,
            LINE,
            &[a.clone(), out.clone(), float(2.0), size(90)],
            loose,
        );
    }
    for kernel in ["add", "sub", "mul", "div_", "equal", "tanh_backward", "sigmoid_backward"] {
        compare("autograd/zip", kernel, LINE, &[a.clone(), b.clone(), out.clone(), size(90)], 0.0);
    }
    let view: Vec<Argument> = [2u64, 3, 4, 4, 1, 24, 2, 8].iter().map(|n| size(*n)).collect();
    let arguments: Vec<Argument> = [a.clone(), out.clone()].into_iter().chain(view).collect();
    compare("autograd/move", "copy_strided", LINE, &arguments, 0.0);
    let whole = floats(&vec![0.0; 3 * 9 * 4]);
    let numbers: Vec<Argument> = [3u64, 5, 4, 2, 9].iter().map(|n| size(*n)).collect();
    let arguments: Vec<Argument> = [a.clone(), whole].into_iter().chain(numbers).collect();
    compare("autograd/move", "place", LINE, &arguments, 0.0);
    let rows: Grid = ([3, 1, 1], [32, 1, 1]);
    for kernel in ["sum_rows", "max_rows"] {
        compare(
            "autograd/rows",
            kernel,
            rows,
            &[floats(&drawn(3 * 70, 14)), floats(&[0.0; 3]), size(70)],
            0.0,
        );
    }
    let arguments = [a, longs(&[1, 1, 0]), floats(&drawn(60, 15)), size(3), size(30)];
    compare("autograd/rows", "add_rows", LINE, &arguments, 0.0);
}
