//! A training step with one mistake in what the library is told of the matrices, on the emulated
//! GPU: reports the library's error and exits with 1, or writes a dump if the library accepts it.
//!
//!     cargo run -p level3-cublas --example mistake -- MISTAKE OUT
//!
//! `transposition`, on a fixture; `square`, the same where all matrices are square;
//! `leading-dimension`; `mask`.
#![allow(unsafe_code, reason = "wrong rules are a promise that isn't kept")]

use std::path::Path;
use std::process::ExitCode;

use gpu::{Choice, Gpu};
use level3_cublas::column_major::{ColumnMajor, Matmul, Shape, column_major};
use level3_cublas::{Level3, Rules, Setup};
use training::Preset;
use training::dump::{Inputs, dump, header};

// ANCHOR: transposition
fn transposition(matmul: Matmul, shape: Shape) -> ColumnMajor {
    let mut call = column_major(matmul, shape);
    call.first.transposed = false;
    call
}
// ANCHOR_END: transposition

// ANCHOR: leading-dimension
fn leading_dimension(matmul: Matmul, shape: Shape) -> ColumnMajor {
    let mut call = column_major(matmul, shape);
    call.result.ld = shape[0];
    call
}
// ANCHOR_END: leading-dimension

// ANCHOR: mask
const fn mask(units: usize) -> usize {
    units
}
// ANCHOR_END: mask

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(mistake), Some(out)) = (arguments.next(), arguments.next()) else {
        return Err("usage: mistake transposition|square|leading-dimension|mask OUT".into());
    };
    let right = Rules::default();
    let rules = match mistake.as_str() {
        "transposition" | "square" => Rules { column_major: transposition, ..right },
        "leading-dimension" => Rules { column_major: leading_dimension, ..right },
        "mask" => Rules { mask_ld: mask, ..right },
        other => return Err(format!("there is no mistake {other}").into()),
    };
    let mut preset = Preset::find("softmax").ok_or("there is no preset softmax")?;
    if mistake == "square" {
        preset.network.sizes = vec![16, 16, 16];
        preset.batch_size = 16;
    }
    let gpu = Gpu::open(Choice::Emulated)?;
    // SAFETY: the emulated library checks what it is told before it reads or writes.
    let level = unsafe { Level3::with_rules(&gpu, &preset.network, Setup::default(), rules) };
    let header = header("level3-cublas with a mistake", gpu.device(), &preset, 0);
    match dump(&mut level?, header, &preset, &Inputs::fixture(&preset), false) {
        Ok(found) => found.write(Path::new(&out))?,
        Err(error) => {
            host::complain(format_args!("error: {error}"));
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}
