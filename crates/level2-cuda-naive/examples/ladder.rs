//! Prints the emulated GPU's counts for the ladder of products: one product of square matrices, computed by each of the
//! six variants.
//!
//!     cargo run -p level2-cuda-naive --example ladder

use gpu::{Choice, Gpu, Launcher};
use host::println;
use level2_cuda_naive::Products;
use level2_cuda_naive::operations::Operations;
use profile::{Counts, Recording};
use training::{Error, Result};

/// Rows and columns of all three matrices.
const N: usize = 256;

fn main() -> Result<()> {
    let gpu = Gpu::open(Choice::Emulated).map_err(Error::level)?;
    println!("c = a · bᵀ of {N} x {N} numbers, for each of its {} multiply-adds:", N * N * N);
    println!();
    println!("               instructions   global bytes   shared bytes   FLOP per global byte");
    for products in Products::ALL {
        let counts = count(&gpu, products).map_err(Error::level)?;
        // A sector of global memory has 32 bytes; in a pass, each of the 32 banks of shared memory transfers 4.
        let counted =
            [counts.thread_instructions, 32 * counts.global_sectors, 128 * counts.shared_passes];
        let [instructions, global, shared] = counted.map(|all| all as f64 / (N * N * N) as f64);
        let flops = 2.0 / global;
        println!(
            "{products:<13}   {instructions:>12.2}   {global:>12.2}   {shared:>12.2}   {flops:>20.2}"
        );
    }
    Ok(())
}

fn count(gpu: &Gpu, products: Products) -> gpu::Result<Counts> {
    let recording = Recording::start(gpu);
    let on = Operations::new(gpu, Launcher::new(gpu, &recording.profiler()), products)?;
    let numbers: Vec<f32> = (0..N * N).map(|i| (i % 17) as f32 / 17.0 - 0.5).collect();
    let a = on.stream().clone_htod(&numbers)?;
    let mut c = on.stream().alloc_zeros(N * N)?;
    on.matmul_a_bt(&a.as_view(), &a, &mut c, N, N, N)?;
    on.stream().synchronize()?;
    Ok(recording.counts("matmul_a_bt").unwrap_or_default())
}
