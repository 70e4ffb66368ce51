//! What a training step launches and moves: level 2, and this level without and with epilogues, one
//! beside the other.
//!
//! Each of them makes one step, and every launch of it is counted, with the bytes of its arguments:
//! the least that it has to read and write. A kernel that reads an element twice moves more.

use data::{Dataset, Epoch};
use gpu::{ActivityKind, Gpu};
use level2_cuda_naive::Level2;
use profile::Recording;
use tensor::Network;
use training::{Error, Initialisation, Level, Parameters, Result};

use crate::{Gemm, Level3, Setup};

/// The sums over the launches of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// The operation.
    pub operation: &'static str,
    /// How often it was launched.
    pub launches: usize,
    /// The bytes of its arguments.
    pub bytes: usize,
}

/// What one level does in a step.
#[derive(Clone, Debug)]
pub struct Step {
    /// The level, and how it computes.
    pub of: &'static str,
    /// Its operations, in the order in which they first come.
    pub operations: Vec<Launched>,
}

impl Step {
    /// All launches.
    #[must_use]
    pub fn launches(&self) -> usize {
        self.operations.iter().map(|of| of.launches).sum()
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.operations.iter().map(|of| of.bytes).sum()
    }
}

/// Counts one step of each, with a batch of this many samples.
///
/// # Errors
/// What the levels say.
pub fn steps(gpu: &Gpu, network: &Network, batch: usize) -> Result<Vec<Step>> {
    let recording = Recording::start(gpu);
    let how = gpu::transfer::Strategy::default();
    let level2 = Level2::new(gpu, network, how, recording.profile()).map_err(Error::level)?;
    let mut steps = vec![step("level 2", level2, &recording, network, batch)?];
    for (of, gemm) in [("--gemm cublas", Gemm::Cublas), ("--gemm cublaslt", Gemm::Cublaslt)] {
        let recording = Recording::start(gpu);
        let setup = Setup { gemm, ..Setup::default() };
        let level3 = Level3::new(gpu, network, setup, recording.profile()).map_err(Error::level)?;
        steps.push(step(of, level3, &recording, network, batch)?);
    }
    Ok(steps)
}

fn step(
    of: &'static str,
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
    let totals = recording.totals().map_err(Error::level)?;
    // Every level is brought its batch and its parameters alike.
    let counted = totals
        .into_iter()
        .filter(|of| of.kind == ActivityKind::Kernel || of.name == "within the device");
    let launched = counted.map(|total| Launched {
        operation: total.name,
        launches: total.launches,
        bytes: total.bytes,
    });
    Ok(Step { of, operations: launched.collect() })
}

/// The table, a line each.
///
/// # Errors
/// What the levels say.
pub fn table(gpu: &Gpu, network: &Network, batch: usize) -> Result<Vec<String>> {
    if batch == 0 {
        return Ok(Vec::new());
    }
    let steps = steps(gpu, network, batch)?;
    let mut operations: Vec<&str> = Vec::new();
    for name in steps.iter().flat_map(|step| &step.operations).map(|of| of.operation) {
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
            let found = step.operations.iter().find(|of| of.operation == operation);
            found.map_or_else(Default::default, |of| cells(of.launches, of.bytes))
        });
        rows.push([operation.to_owned()].into_iter().chain(counts).collect());
    }
    let sums = steps.iter().flat_map(|step| cells(step.launches(), step.bytes()));
    rows.push(["together".to_owned()].into_iter().chain(sums).collect());

    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    // The names of the levels stand over two columns each.
    let over = steps.iter().enumerate().map(|(i, step)| {
        let width = widths[2 * i + 1] + 2 + widths[2 * i + 2];
        format!("  {:>width$}", step.of)
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
