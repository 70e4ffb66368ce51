//! A comparison of the rungs by the emulated GPU's counts for a training step, and a drawing of all rungs in a card's
//! roofline, as SVG:
//!
//!     EMULATED_GPU_DETERMINISTIC=1 cargo run -p level4-ptx --example rungs -- target/level4-roofline.svg

use std::path::Path;

use data::{Batch, Dataset, Epoch};
use gpu::{Choice, Gpu};
use host::file::write_atomically;
use host::println;
use level4_ptx::{Level4, Rung};
use profile::roofline::{self, NoPosition, Point};
use profile::{Card, Counts, Recording};
use tensor::{Loss, Network};
use training::{Error, Initialisation, Level, MultiStep, Parameters, Result};

/// The number of inputs, then the number of units of each layer.
const SIZES: [usize; 3] = [784, 128, 10];
/// The number of samples in a batch.
const BATCH: usize = 64;
/// The number of training steps; `whole-epoch` runs all of them in one launch.
const STEPS: usize = 8;
/// The card whose roofline is drawn.
const CARD: Card = Card::H100;

fn main() -> Result<()> {
    let svg = std::env::args().nth(1);
    let gpu = Gpu::open(Choice::Emulated).map_err(Error::level)?;
    println!("for one of {STEPS} training steps of 784-128-10 with batches of {BATCH}:");
    println!();
    println!(
        "                              instr.,  MB at      MB      MB   FMA,  tensor,  FLOP/   TFLOP/s\n\
         \x20                   launches        M  least  global  shared      M        M   byte   at most"
    );
    let mut points = Vec::new();
    for rung in Rung::ALL {
        let (launches, least, counts) = count(&gpu, rung)?;
        let millions = |amount: u64| 1e-6 * amount as f64 / STEPS as f64;
        // bf16 is left out, because the roofline's peak for tensor cores is the peak of TF32.
        let point = match Point::new(rung.row().name, &counts, least) {
            Ok(point) => Some(point),
            Err(NoPosition::OtherTypes) => None,
            Err(outside) => return Err(Error::Usage(format!("{rung} {}", outside.why()))),
        };
        let rates = point.as_ref().map_or_else(
            || "–".into(),
            |point| {
                let [asked, kept] = [point.without_caches(CARD), point.with_perfect_caches(CARD)]
                    .map(|mark| 1e-12 * mark.rate);
                format!("{asked:.1}–{kept:.0}")
            },
        );
        println!(
            "{:<17}  {:>9}  {:>7.1}  {:>5.2}  {:>6.1}  {:>6.1}  {:>5.1}  {:>7.1}  {:>5.2}  {:>8}",
            rung.row().name,
            launches as f64 / STEPS as f64,
            millions(counts.thread_instructions),
            millions(least),
            millions(counts.global_bytes()),
            millions(counts.shared_bytes()),
            millions(counts.fma_multiply_adds),
            millions(counts.tensor_multiply_adds),
            counts.intensity().unwrap_or(0.0),
            rates,
        );
        points.extend(point);
    }
    if let Some(path) = svg {
        let path = Path::new(&path);
        let drawn = roofline::svg(CARD, &points).map_err(Error::Usage)?;
        write_atomically(path, |file| file.write_all(drawn.as_bytes()))
            .map_err(|source| Error::Write { path: path.into(), source })?;
    }
    Ok(())
}

/// The number of launches of all steps, the minimum number of bytes that their kernels have to load and store, and
/// the emulator's counts.
fn count(gpu: &Gpu, rung: Rung) -> Result<(usize, u64, Counts)> {
    let network = Network { sizes: SIZES.to_vec(), loss: Loss::CrossEntropy };
    let samples = STEPS * BATCH;
    let x = (0..samples * SIZES[0]).map(|i| (i * 7 % 255) as f32 / 255.0).collect();
    let labels = (0..samples).map(|sample| (sample % 10) as u8).collect();
    let set = Dataset::from_rows(x, labels, SIZES[0], SIZES[2])?;
    let recording = Recording::start(gpu);
    let mut level = Level4::new(gpu, &network, rung, recording.profile())?;
    level.dataset(&set)?;
    level.set_parameters(&Parameters::new(&network, Initialisation::UniformFanIn, 1))?;
    let epoch = Epoch::in_order(samples, BATCH, false);
    let batches: Vec<Batch<'_>> = (0..STEPS).map(|k| epoch.batch(&set, k)).collect();
    level.steps(&batches, 0.01)?;
    let counted = recording.operations_with_counts().map_err(Error::level)?;
    let launches = counted.iter().map(|(total, _)| total.launches).sum();
    let least = counted.iter().map(|(total, _)| total.bytes as u64).sum();
    Ok((launches, least, counted.into_iter().map(|(_, counts)| counts).sum()))
}
