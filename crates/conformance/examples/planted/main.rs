//! Plants the faults of `faults.toml`, one at a time, and prints tensor-diff's verdicts as a table in
//! Markdown:
//!
//!     cargo run -p conformance --example planted
//!
//! With `-- --blind`, the faults of the blind test in place of the others; with `-- --html FOLDER`,
//! the page of each goes there.
//!
//! What a faulty kernel reads may be what another block has not written yet. With
//! `EMULATED_GPU_DETERMINISTIC=1` the table is the same on every machine.

mod faults;

use std::path::PathBuf;

use clap::Parser;
use host::println;
use tensor::TensorName;
use training::{Error, Result};

use faults::{Table, plant};

/// Which faults, and where their pages go.
#[derive(Parser)]
struct Options {
    /// The faults of the blind test, in place of those that the readings were looked over with.
    #[arg(long)]
    blind: bool,
    /// A folder for the page of each fault.
    #[arg(long, value_name = "FOLDER")]
    html: Option<PathBuf>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let pages = options.html;
    let wrote = |path: &PathBuf, done: std::io::Result<()>| {
        done.map_err(|source| Error::Write { path: path.clone(), source })
    };
    if let Some(folder) = &pages {
        wrote(folder, std::fs::create_dir_all(folder))?;
    }
    let gpu = plant::device()?;
    println!("| planted in | fault | wrong tensor | found alone | against PyTorch | reading |");
    println!("|---|---|---|---|---|---|");
    let (mut found, mut read, mut told, mut all) = (0, 0, 0, 0);
    let table = Table::read()?;
    for fault in if options.blind { table.blind } else { table.seen } {
        let said = plant::plant(&fault, &gpu)?;
        let tick = |by: Option<(u64, TensorName)>| match by {
            Some(by) if by == (fault.step, fault.tensor) => "yes".into(),
            Some((step, tensor)) => format!("no: `{tensor}`, step {step}"),
            None => "no".to_owned(),
        };
        let reading = match &said.reading {
            Some(reading) if said.is_read(&fault) => reading.clone(),
            Some(reading) => format!("not the cause: {reading}"),
            None => "unexplained".into(),
        };
        println!(
            "| {} | {} | `{}`, step {} | {} | {} | {} |",
            said.level,
            fault.what,
            fault.tensor,
            fault.step,
            tick(said.alone),
            tick(said.compared),
            reading
        );
        if let Some(folder) = &pages {
            let path = folder.join(format!("{all:03}.html"));
            wrote(&path, std::fs::write(&path, said.page().0))?;
        }
        all += 1;
        found += usize::from(said.is_found(&fault));
        read += usize::from(said.is_read(&fault));
        told += usize::from(said.reading.is_some());
    }
    println!(
        "\n{found} of {all} are found by both; {told} of {all} have a reading, and {read} of these are \
         right."
    );
    Ok(())
}
