//! Plants the faults of `faults.toml`, one at a time, and prints tensor-diff's verdicts as a table in
//! Markdown:
//!
//!     cargo run -p conformance --example planted
//!
//! With `-- --blind`, instead plants the faults for which no reading was written; with `-- --html FOLDER`, writes the
//! page of each to that folder.
//!
//! A faulty kernel may read values that another block writes at the same time. With
//! `EMULATED_GPU_DETERMINISTIC=1` the table is the same on every machine.

mod faults;

use std::path::PathBuf;

use clap::Parser;
use host::println;
use tensor::TensorName;
use training::{Error, Result};

use faults::{Table, plant};

/// The options of the command line.
#[derive(Parser)]
struct Options {
    /// Plant the faults of the blind test instead of those that the authors of readings knew.
    #[arg(long)]
    blind: bool,
    /// Write the page of each fault to this folder.
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
    let (mut found, mut read, mut explained, mut all) = (0, 0, 0, 0);
    let table = Table::read()?;
    for fault in if options.blind { table.blind } else { table.seen } {
        let verdicts = plant::plant(&fault, &gpu)?;
        let tick = |by: Option<(u64, TensorName)>| match by {
            Some(by) if by == (fault.step, fault.tensor) => "yes".into(),
            Some((step, tensor)) => format!("no: `{tensor}`, step {step}"),
            None => "no".to_owned(),
        };
        let reading = match &verdicts.reading {
            Some(reading) if verdicts.is_read(&fault) => reading.clone(),
            Some(reading) => format!("not the cause: {reading}"),
            None => "unexplained".into(),
        };
        println!(
            "| {} | {} | `{}`, step {} | {} | {} | {} |",
            verdicts.level,
            fault.what,
            fault.tensor,
            fault.step,
            tick(verdicts.alone),
            tick(verdicts.compared),
            reading
        );
        if let Some(folder) = &pages {
            let path = folder.join(format!("{all:03}.html"));
            wrote(&path, std::fs::write(&path, verdicts.page().0))?;
        }
        all += 1;
        found += usize::from(verdicts.is_found(&fault));
        read += usize::from(verdicts.is_read(&fault));
        explained += usize::from(verdicts.reading.is_some());
    }
    println!(
        "\n{found} of {all} are found by both; {explained} of {all} have a reading, and {read} of these are \
         right."
    );
    Ok(())
}
