//! Compares the launches and the bytes of a training step: level 2, and level 3 without and with epilogues.
//!
//!     cargo run -p level3-cublas --example traffic
//!
//! For each of the three, the example counts the launches of one step, and the bytes of their arguments: the minimum
//! that a launch has to read and write. A kernel that reads an element twice moves more bytes.

use data::{Dataset, Epoch};
use gpu::{ActivityKind, Choice, Gpu};
use host::println;
use level2_cuda_naive::{Level2, Products};
use level3_cublas::{Gemm, Level3, Setup};
use profile::{Recording, Total};
use tensor::Network;
use training::{Error, Initialisation, Level, Parameters, Preset, Result};

/// The operations of one level's step.
struct Step {
    /// The name of the level, with its option.
    name: &'static str,
    /// The step's operations, in the order of their first launch.
    operations: Vec<Total>,
}

impl Step {
    /// The number of all launches.
    fn launches(&self) -> usize {
        self.operations.iter().map(|of| of.launches).sum()
    }

    /// The bytes of all launches.
    fn bytes(&self) -> usize {
        self.operations.iter().map(|of| of.bytes).sum()
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let preset = &Preset::presets()[0];
    let gpu = Gpu::open(Choice::Emulated)?;
    for line in table(&gpu, &preset.network, preset.batch_size)? {
        println!("{line}");
    }
    Ok(())
}

/// Counts one step of each of the three variants, with a batch of `batch` samples.
fn steps(gpu: &Gpu, network: &Network, batch: usize) -> Result<Vec<Step>> {
    let recording = Recording::start(gpu);
    let how = gpu::transfer::Strategy::default();
    let level2 = Level2::new(gpu, network, Products::Naive, how, recording.profile())
        .map_err(Error::level)?;
    let mut steps = vec![step("level 2", level2, &recording, network, batch)?];
    for (name, gemm) in [("--gemm cublas", Gemm::Cublas), ("--gemm cublaslt", Gemm::Cublaslt)] {
        let recording = Recording::start(gpu);
        let setup = Setup { gemm, ..Setup::default() };
        let level3 = Level3::new(gpu, network, setup, recording.profile()).map_err(Error::level)?;
        steps.push(step(name, level3, &recording, network, batch)?);
    }
    Ok(steps)
}

fn step(
    name: &'static str,
    mut level: impl Level,
    recording: &Recording,
    network: &Network,
    batch: usize,
) -> Result<Step> {
    let x = vec![0.5; batch * network.inputs()];
    let set = Dataset::from_rows(x, vec![0; batch], network.inputs(), network.outputs())?;
    level.set_parameters(&Parameters::new(network, Initialisation::UniformFanIn, 1))?;
    level.load(&Epoch::in_order(batch, batch, false).batch(&set, 0), None)?;
    level.step(0.1)?;
    let mut operations = recording.totals().map_err(Error::level)?;
    // Copies of the batch and the parameters are the same for all levels, so leave them out.
    operations.retain(|of| of.kind == ActivityKind::Kernel || of.name == "within the device");
    Ok(Step { name, operations })
}

/// The lines of the table.
fn table(gpu: &Gpu, network: &Network, batch: usize) -> Result<Vec<String>> {
    let steps = steps(gpu, network, batch)?;
    let mut operations: Vec<&str> = Vec::new();
    for name in steps.iter().flat_map(|step| &step.operations).map(|of| of.name) {
        if !operations.contains(&name) {
            operations.push(name);
        }
    }
    let cells = |launches: usize, bytes: usize| {
        [launches.to_string(), format!("{:.1}", 1e-3 * bytes as f64)]
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    let heading = steps.iter().flat_map(|_| ["launches".to_owned(), "kB".to_owned()]);
    rows.push([String::new()].into_iter().chain(heading).collect());
    for operation in operations {
        let counts = steps.iter().flat_map(|step| {
            let found = step.operations.iter().find(|of| of.name == operation);
            found.map_or_else(Default::default, |of| cells(of.launches, of.bytes))
        });
        rows.push([operation.to_owned()].into_iter().chain(counts).collect());
    }
    let sums = steps.iter().flat_map(|step| cells(step.launches(), step.bytes()));
    rows.push(["together".to_owned()].into_iter().chain(sums).collect());

    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    // Each level's name is above two columns.
    let over = steps.iter().enumerate().map(|(i, step)| {
        let width = widths[2 * i + 1] + 2 + widths[2 * i + 2];
        format!("  {:>width$}", step.name)
    });
    let over: String = [" ".repeat(widths[0])].into_iter().chain(over).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if column == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") }
        });
        cells.collect::<String>().trim_end().to_owned()
    };
    let title = format!(
        "one training step of {network} with a batch of {batch}: launches, and the bytes of their \
         arguments"
    );
    Ok([title, over].into_iter().chain(rows.iter().map(line)).collect())
}

#[cfg(test)]
mod tests {
    use tensor::Loss;
    use test_support::gpu;

    use super::*;

    #[test]
    fn epilogues_save_launches_and_bytes() {
        let network = Network { sizes: vec![784, 30, 10], loss: Loss::Bce };
        let steps = steps(&gpu(), &network, 256).unwrap();
        let [level2, cublas, cublaslt] = &steps[..] else { panic!("{} steps", steps.len()) };
        // Both variants launch the same operations, except that cuBLAS computes the products.
        let all = |step: &Step| -> Vec<_> {
            step.operations.iter().map(|of| (of.name, of.launches, of.bytes)).collect()
        };
        assert_eq!(all(level2), all(cublas));
        assert_eq!(level2.launches(), 17);
        // Epilogues replace six launches: two of add_bias, one each of relu and relu_backward, and two of sum_batch.
        assert_eq!(cublaslt.launches(), 11);
        let has = |step: &Step, name: &str| step.operations.iter().any(|of| of.name == name);
        for name in ["add_bias", "relu", "relu_backward", "sum_batch", "matmul_a_b"] {
            assert!(has(level2, name) && !has(cublaslt, name), "{name}");
        }
        // The elements whose traffic the epilogues save. Each layer's add_bias reads and writes z, and its sum_batch
        // reads dz. relu reads z and writes a, and relu_backward reads z and da and writes dz; a product writes a
        // instead of z, and dz instead of da. But epilogues write and read masks, with 128 bits per sample.
        let (hidden, output) = (256 * 30, 256 * 10);
        let numbers = (2 * hidden + 2 * output) // add_bias
            + 2 * hidden                        // relu
            + 3 * hidden                        // relu_backward
            + (hidden + output); // sum_batch
        let masks = 2 * 256 * 128 / 8;
        assert_eq!(level2.bytes() - cublaslt.bytes(), 4 * numbers - masks);
    }

    #[test]
    fn the_table_has_a_row_for_every_operation() {
        let network = Network { sizes: vec![20, 5, 3], loss: Loss::SquaredError };
        let lines = table(&gpu(), &network, 4).unwrap();
        assert!(lines[0].contains("20-5-3") && lines[0].contains("batch of 4"), "{}", lines[0]);
        assert!(lines[1].trim().starts_with("level 2") && lines[1].ends_with("--gemm cublaslt"));
        for name in ["add_bias", "matmul_a_b+DRELU_BGRAD", "within the device", "together"] {
            assert!(lines.iter().any(|line| line.starts_with(name)), "{name}: {lines:#?}");
        }
    }
}
