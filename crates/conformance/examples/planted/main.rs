//! Plants faults, one at a time, and writes what tensor-diff says of each as a table in Markdown:
//!
//!     cargo run -p conformance --example planted
//!
//! With `blind` at its end, the faults of the blind test in place of the others.
//!
//! What a faulty kernel reads may be what another block has not written yet. With
//! `EMULATED_GPU_DETERMINISTIC=1` the table is the same on every machine.

mod blind;
mod blind_more;
mod cuda_c;
mod cuda_c_more;
mod faults;
mod in_rust;
mod last;
mod network;
mod one_launch;
mod plant;
mod tiled;

use tensor::TensorName;
use training::Result;

fn main() -> Result<()> {
    let gpu = plant::device()?;
    println!("| planted in | fault | wrong tensor | found alone | against PyTorch | reading |");
    println!("|---|---|---|---|---|---|");
    let (mut found, mut read, mut told, mut all) = (0, 0, 0, 0);
    let blind = std::env::args().nth(1).is_some_and(|word| word == "blind");
    for fault in if blind { blind::faults() } else { faults::faults() } {
        let said = plant::plant(&fault, &gpu)?;
        let tick = |by: Option<(u64, TensorName)>| match by {
            Some(by) if by == (fault.step, fault.tensor) => "yes".into(),
            Some((step, tensor)) => format!("no: `{tensor}`, step {step}"),
            None => "no".to_owned(),
        };
        println!(
            "| {} | {} | `{}`, step {} | {} | {} | {} |",
            said.level,
            fault.what,
            fault.tensor,
            fault.step,
            tick(said.alone),
            tick(said.compared),
            said.told(&fault)
        );
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
