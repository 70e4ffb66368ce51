//! How fast kernels run, in thread-instructions per second (`items/s` in the report).
//!
//! `benches/kernels/matmul.ptx` is what NVRTC 12.9 makes of `matmul.cu` for compute_75. Every access
//! is checked for bounds and alignment, as always.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use ptx_emulator::source::Source;
use ptx_emulator::{Emulator, Kernel, Launch, Options};

const PTX: &str = include_str!("kernels/matmul.ptx");
const M: usize = 64;
const K: usize = 784;
const N: usize = 128;

fn main() {
    divan::main();
}

fn floats(emulator: &Emulator, count: usize) -> u64 {
    let address = emulator.memory().allocate(count as u64 * 4, 4).expect("memory");
    let bytes: Vec<u8> =
        (0..count).flat_map(|i| ((i % 17) as f32 * 0.25 - 2.0).to_le_bytes()).collect();
    emulator.memory().write(address, &bytes).expect("inside");
    address
}

fn kernel(threads: usize, name: &str) -> (Emulator, Kernel) {
    let emulator = Emulator::new(Options { threads, ..Options::default() });
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

fn matmul(bencher: Bencher<'_, '_>, threads: usize, name: &str, grid: [u32; 3], block: [u32; 3]) {
    let (emulator, kernel) = kernel(threads, name);
    let pointers = [floats(&emulator, M * K), floats(&emulator, K * N), floats(&emulator, M * N)];
    let mut parameters: Vec<u8> = pointers.iter().flat_map(|p| p.to_le_bytes()).collect();
    parameters.extend([M, N, K].iter().flat_map(|&n| (n as u32).to_le_bytes()));
    let launch = Launch { grid, block, parameters, ..Launch::default() };
    run(bencher, &emulator, &kernel, &launch);
}

#[divan::bench(args = [1, 2])]
fn naive_16x16(bencher: Bencher<'_, '_>, threads: usize) {
    matmul(bencher, threads, "naive", [8, 4, 1], [16, 16, 1]);
}

#[divan::bench(args = [1, 2])]
fn flat_256(bencher: Bencher<'_, '_>, threads: usize) {
    matmul(bencher, threads, "flat", [32, 1, 1], [256, 1, 1]);
}

#[divan::bench(args = [1, 2])]
fn tiled_16x16(bencher: Bencher<'_, '_>, threads: usize) {
    matmul(bencher, threads, "tiled", [8, 4, 1], [16, 16, 1]);
}

#[divan::bench(args = [1, 2])]
fn shuffle_reduction(bencher: Bencher<'_, '_>, threads: usize) {
    let (emulator, kernel) = kernel(threads, "reduce");
    let count = 1 << 16;
    let pointers = [floats(&emulator, count), floats(&emulator, 64)];
    let mut parameters: Vec<u8> = pointers.iter().flat_map(|p| p.to_le_bytes()).collect();
    parameters.extend((count as u32).to_le_bytes());
    let launch = Launch { grid: [64, 1, 1], block: [256, 1, 1], parameters, ..Launch::default() };
    run(bencher, &emulator, &kernel, &launch);
}
