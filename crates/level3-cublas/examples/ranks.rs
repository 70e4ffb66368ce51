//! A training step of a batch of seven on three emulated GPUs, with one mistake in the factor 1/B of the gradients:
//! writes a dump for each rank.
//!
//!     cargo run -p level3-cublas --example ranks -- MISTAKE OUT
//!
//! The mistakes are `sum-of-means`, `mean-of-means` and `mean-of-sums`.

use std::path::Path;

use data_parallel::{DataParallel, Rank, Reduction, on_gpus};
use gpu::{Choice, Gpu};
use level3_cublas::Level3;
use profile::Profile;
use training::dump::{Inputs, dump, header};
use training::{Error, Preset, Runner};

const RANKS: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(mistake), Some(out)) = (arguments.next(), arguments.next()) else {
        return Err("usage: ranks sum-of-means|mean-of-means|mean-of-sums OUT".into());
    };
    // ANCHOR: rules
    let right = Reduction::default();
    let reduction = match mistake.as_str() {
        // Each rank divides by the size of its share, and the all-reduce
        // adds.
        "sum-of-means" => Reduction { divisor: |share, _| share, ..right },
        // Each rank divides by the size of its share, and the all-reduce
        // averages.
        "mean-of-means" => Reduction { divisor: |share, _| share, averages: true, ..right },
        // Each rank divides by the size of the whole batch, and the all-reduce
        // averages.
        "mean-of-sums" => Reduction { averages: true, ..right },
        // ANCHOR_END: rules
        other => return Err(format!("there is no mistake {other}").into()),
    };
    let preset = Preset::find("bce").ok_or("there is no preset bce")?;
    let inputs = Inputs::fixture(&preset);
    let gpu = Gpu::open_one(Choice::Emulated, 0, RANKS)?;
    let make = |place: Rank| {
        let gpu = Gpu::open_one(Choice::Emulated, place.rank, RANKS).map_err(Error::level)?;
        let level = Level3::new(&gpu, &preset.network, Default::default(), Profile::default());
        level.map_err(Error::level)
    };
    let work = |level: &mut DataParallel<Level3>| {
        let mut header = header("level3-cublas with a mistake", gpu.device(), &preset, 0);
        let out = level.dump_file(&mut header, Path::new(&out));
        Ok(dump(level, header, &preset, &inputs, false)?.write(&out)?)
    };
    Ok(on_gpus(&gpu, RANKS, reduction, &make, &work)?)
}
