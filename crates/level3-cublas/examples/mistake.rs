//! A training step with one mistake in the library's description of the matrices, on the emulated
//! GPU: reports the library's error and exits with 1, or writes a dump if the library accepts it.
//!
//!     cargo run -p level3-cublas --example mistake -- MISTAKE OUT
//!
//! The mistakes are `transposition`, `square` (a wrong transposition of square matrices), `leading-dimension`
//! and `mask`.

use std::path::Path;
use std::process::ExitCode;

use gpu::{Choice, Gpu};
use level3_cublas::Setup;
use level3_cublas::library::Problem;
use training::Preset;
use training::dump::{Inputs, dump, header};

mod mistaken;

// ANCHOR: transposition
fn transposition(problem: &mut Problem) {
    problem.call.first.transposed = false;
}
// ANCHOR_END: transposition

// ANCHOR: leading-dimension
fn leading_dimension(problem: &mut Problem) {
    problem.call.result.ld = problem.shape[0];
}
// ANCHOR_END: leading-dimension

// ANCHOR: mask
fn mask(problem: &mut Problem) {
    let [_, units, _] = problem.shape;
    problem.mask_ld = units;
}
// ANCHOR_END: mask

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(mistake), Some(out)) = (arguments.next(), arguments.next()) else {
        return Err("usage: mistake transposition|square|leading-dimension|mask OUT".into());
    };
    let wrong = match mistake.as_str() {
        "transposition" | "square" => transposition as fn(&mut Problem),
        "leading-dimension" => leading_dimension,
        "mask" => mask,
        other => return Err(format!("there is no mistake {other}").into()),
    };
    let mut preset = Preset::find("softmax").ok_or("there is no preset softmax")?;
    if mistake == "square" {
        preset.network.sizes = vec![16, 16, 16];
        preset.batch_size = 16;
    }
    let gpu = Gpu::open(Choice::Emulated)?;
    let mut level = mistaken::level3(&gpu, &preset.network, Setup::default(), wrong)?;
    let header = header("level3-cublas with a mistake", gpu.device(), &preset, 0);
    match dump(&mut level, header, &preset, &Inputs::fixture(&preset), false) {
        Ok(found) => found.write(Path::new(&out))?,
        Err(error) => {
            host::complain(format_args!("error: {error}"));
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}
