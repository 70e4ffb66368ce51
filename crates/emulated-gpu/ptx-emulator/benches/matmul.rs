//! Benchmarks of kernels in thread-instructions per second, which divan prints as `Gitem/s` (billions).
//!
//! `benches/kernels/matmul.ptx` is the output of NVRTC 12.9 for `matmul.cu` and compute_75. As in every run, each
//! access is checked for bounds, alignment and use after free. The matrix products are the ones in a layer of the
//! network: 64 × 784 · 784 × 128.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use ptx_emulator::source::Source;
use ptx_emulator::{Checks, Emulator, Kernel, Launch, RunOptions};

const PTX: &str = include_str!("kernels/matmul.ptx");
const M: usize = 64;
const K: usize = 784;
const N: usize = 128;

/// The numbers of host threads with which the benchmarks run.
const THREADS: [usize; 4] = [1, 2, 4, 8];

const PLAIN: Checks = Checks { initialisation: false, races: false, synchronisation: false };
const RACES: Checks = Checks { races: true, ..PLAIN };
const INITIALISATION: Checks = Checks { initialisation: true, ..PLAIN };

fn main() {
    divan::main();
}

/// The numbers of host threads that the machine can run at once.
fn threads() -> impl Iterator<Item = usize> {
    let most = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    THREADS.into_iter().filter(move |&threads| threads <= most)
}

fn floats(emulator: &Emulator, count: usize) -> u64 {
    let address = emulator.memory().allocate(count as u64 * 4, 4).expect("memory");
    let bytes: Vec<u8> =
        (0..count).flat_map(|i| ((i % 17) as f32 * 0.25 - 2.0).to_le_bytes()).collect();
    emulator.memory().write(address, &bytes).expect("inside");
    address
}

fn kernel(threads: usize, checks: Checks, name: &str) -> (Emulator, Kernel) {
    let emulator = Emulator::new(RunOptions { threads, checks, ..RunOptions::default() });
    let source = Source { name: "matmul.ptx".into(), text: PTX.into() };
    let loaded = emulator.load(source).expect("NVRTC's PTX");
    let kernel = loaded.kernel(name).expect("the kernel");
    (emulator, kernel)
}

fn run(bencher: Bencher<'_, '_>, emulator: &Emulator, kernel: &Kernel, launch: &Launch) {
    let statistics = emulator.launch(kernel, launch).expect("no fault");
    bencher
        .counter(ItemsCount::new(statistics.thread_instructions))
        .bench_local(|| emulator.launch(black_box(kernel), launch).expect("no fault"));
}

fn matmul(
    bencher: Bencher<'_, '_>,
    (threads, checks): (usize, Checks),
    name: &str,
    (grid, block): ([u32; 3], [u32; 3]),
) {
    let (emulator, kernel) = kernel(threads, checks, name);
    let pointers = [floats(&emulator, M * K), floats(&emulator, K * N), floats(&emulator, M * N)];
    let mut parameters: Vec<u8> = pointers.iter().flat_map(|p| p.to_le_bytes()).collect();
    parameters.extend([M, N, K].iter().flat_map(|&n| (n as u32).to_le_bytes()));
    let launch = Launch { grid, block, parameters, ..Launch::default() };
    run(bencher, &emulator, &kernel, &launch);
}

fn reduction(bencher: Bencher<'_, '_>, (threads, checks): (usize, Checks)) {
    let (emulator, kernel) = kernel(threads, checks, "reduce");
    let count = 1 << 20;
    let pointers = [floats(&emulator, count), floats(&emulator, 64)];
    let mut parameters: Vec<u8> = pointers.iter().flat_map(|p| p.to_le_bytes()).collect();
    parameters.extend((count as u32).to_le_bytes());
    let launch = Launch { grid: [64, 1, 1], block: [256, 1, 1], parameters, ..Launch::default() };
    run(bencher, &emulator, &kernel, &launch);
}

/// One thread for each element of the product, in blocks of 16 × 16.
#[divan::bench(args = threads())]
fn matmul_naive(bencher: Bencher<'_, '_>, threads: usize) {
    matmul(bencher, (threads, PLAIN), "naive", ([8, 4, 1], [16, 16, 1]));
}

/// One thread for each element of the product, in a one-dimensional grid.
#[divan::bench(args = threads())]
fn matmul_flat(bencher: Bencher<'_, '_>, threads: usize) {
    matmul(bencher, (threads, PLAIN), "flat", ([32, 1, 1], [256, 1, 1]));
}

/// The product through tiles of 16 × 16 in shared memory.
#[divan::bench(args = threads())]
fn matmul_tiled(bencher: Bencher<'_, '_>, threads: usize) {
    matmul(bencher, (threads, PLAIN), "tiled", ([8, 4, 1], [16, 16, 1]));
}

/// The sum of 2²⁰ numbers: each thread sums its own numbers, each warp adds the threads' sums by shuffles, and the
/// first warp adds the sums of all warps.
#[divan::bench(args = threads())]
fn reduction_by_shuffles(bencher: Bencher<'_, '_>, threads: usize) {
    reduction(bencher, (threads, PLAIN));
}

/// The matrix products and the reduction with racecheck.
mod racecheck {
    use super::*;

    #[divan::bench(args = threads())]
    fn matmul_naive(bencher: Bencher<'_, '_>, threads: usize) {
        matmul(bencher, (threads, RACES), "naive", ([8, 4, 1], [16, 16, 1]));
    }

    #[divan::bench(args = threads())]
    fn matmul_tiled(bencher: Bencher<'_, '_>, threads: usize) {
        matmul(bencher, (threads, RACES), "tiled", ([8, 4, 1], [16, 16, 1]));
    }

    #[divan::bench(args = threads())]
    fn reduction_by_shuffles(bencher: Bencher<'_, '_>, threads: usize) {
        reduction(bencher, (threads, RACES));
    }
}

/// The matrix products and the reduction with initcheck.
mod initcheck {
    use super::*;

    #[divan::bench(args = threads())]
    fn matmul_naive(bencher: Bencher<'_, '_>, threads: usize) {
        matmul(bencher, (threads, INITIALISATION), "naive", ([8, 4, 1], [16, 16, 1]));
    }
}
