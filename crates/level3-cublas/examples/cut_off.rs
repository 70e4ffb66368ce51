//! The errors of sums of 784 positive products: with rounding to nearest, and by cuBLAS on tensor cores.
//!
//!     cargo run -p level3-cublas --example cut_off
//!
//! All factors are TF32 numbers, so that only the sums round. `EMULATED_GPU_CAPABILITY` selects the card whose
//! tensor cores are emulated; a real GPU is used if there is one.

use gpu::{Choice, Gpu};
use host::println;
use level3_cublas::{Gemm, Level3, Setup};
use profile::Profile;
use tensor::TensorName;
use training::Preset;
use training::dump::{Inputs, dump, header};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // ANCHOR: factors
    // A network of one layer with a bias of 0, whose z is therefore just a
    // matrix product.
    let mut preset = Preset::find("softmax").ok_or("there is no preset softmax")?;
    preset.network.sizes = vec![784, 16];
    preset.batch_size = 64;
    let mut inputs = Inputs::fixture(&preset);
    let mut state = 1_u32;
    // Runs through all TF32 numbers from 1 up to 2, in steps of 1/1024.
    let mut factor = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        1.0 + (state >> 22) as f32 / 1024.0
    };
    // ANCHOR_END: factors
    let x: Vec<f32> = (0..64 * 784).map(|_| factor()).collect();
    inputs.set = data::Dataset::from_rows(x, vec![0; 64], 784, 16)?;
    let layer = &mut inputs.parameters.layers[0];
    layer.w.data_mut().fill_with(&mut factor);
    layer.b.data_mut().fill(0.0);
    let gpu = Gpu::open(Choice::Auto)?;
    println!("{}", gpu.device());
    let setup = Setup { gemm: Gemm::Cublas, tf32: true, ..Setup::default() };
    let mut level = Level3::new(&gpu, &preset.network, setup, Profile::default())?;
    let header = header("level3-cublas", gpu.device(), &preset, 0);
    let found = dump(&mut level, header, &preset, &inputs, false)?;
    let data = |name| found.get(name).map(|tensor| &tensor.data).ok_or("a tensor is missing");
    let (x, w, z) = (data(TensorName::X)?, data(TensorName::W(1))?, data(TensorName::Z(1))?);
    // ANCHOR: units
    let (mut nearest, mut tensor_cores) = (Vec::new(), Vec::new());
    for (i, &z) in z.iter().enumerate() {
        let (row, column) = (i / 16 * 784, i % 16 * 784);
        let factors = (0..784).map(|k| (x[row + k], w[column + k]));
        // This sum in double precision is exact: the products have 22 bits, and
        // their sum has 32.
        let exact: f64 = factors.clone().map(|(x, w)| x * w).sum();
        let units = |sum: f64| (sum - exact) / exact * 2_f64.powi(24);
        tensor_cores.push(units(z));
        // The sum in single precision, one fused multiply-add after another.
        let sum = factors.fold(0.0_f32, |sum, (x, w)| (x as f32).mul_add(w as f32, sum));
        nearest.push(units(sum.into()));
    }
    // ANCHOR_END: units
    println!("off by, in units of 2⁻²⁴ Σ|ab|:       mean      least   greatest");
    for (name, units) in [("rounded to nearest", nearest), ("tensor cores", tensor_cores)] {
        let mean = units.iter().sum::<f64>() / units.len() as f64;
        let least = units.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = units.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        println!("{name:<30} {mean:>10.1} {least:>10.1} {greatest:>10.1}");
    }
    Ok(())
}
