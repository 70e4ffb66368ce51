//! Writes a dump of a PyTorch step in which the output of a broken kernel of the gallery replaces the right tensor:
//!
//!     cargo run -p level4-ptx --example autopsy -- row-zero target/autopsy.json

#![allow(dead_code, reason = "the tests of the gallery use the rest of these files")]

#[path = "../tests/gallery/replaced.rs"]
mod replaced;
#[path = "../tests/gallery/run.rs"]
mod run;
#[path = "../tests/support/mod.rs"]
mod support;

use std::error::Error;
use std::path::Path;

use ptx_emulator::RunOptions;
use replaced::COMPARED;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, out] = &arguments[..] else { return Err(usage().into()) };
    let fault = COMPARED.iter().find(|fault| fault.name == name).ok_or_else(usage)?;
    // Blocks run one after the other, so that the output is reproducible.
    let step = (fault.run)(&run::new_bench(fault.kernel, run::in_order(RunOptions::default())))
        .map_err(|fault| fault.to_string())?;
    step.dump.write(Path::new(out))?;
    Ok(())
}

fn usage() -> String {
    let names: Vec<&str> = COMPARED.iter().map(|fault| fault.name).collect();
    format!("usage: autopsy FAULT OUT, with a fault of {}", names.join(", "))
}
