//! Plants faults, one at a time, and writes what tensor-diff says of each as a table in Markdown:
//!
//!     cargo run -p conformance --example planted

mod faults;
mod network;
mod plant;
mod tiled;

use training::Result;

fn main() -> Result<()> {
    let gpu = plant::device()?;
    println!("| planted in | fault | wrong tensor | found alone | against PyTorch | reading |");
    println!("|---|---|---|---|---|---|");
    let (mut found, mut read, mut all) = (0, 0, 0);
    for fault in faults::faults() {
        let said = plant::plant(&fault, &gpu)?;
        let tick = |by| if by == Some((fault.step, fault.tensor)) { "yes" } else { "no" };
        println!(
            "| {} | {} | `{}`, step {} | {} | {} | {} |",
            said.level,
            fault.what,
            fault.tensor,
            fault.step,
            tick(said.alone),
            tick(said.compared),
            said.reading.as_deref().unwrap_or("unexplained")
        );
        all += 1;
        found += usize::from(said.is_found(&fault));
        read += usize::from(said.reading.is_some());
    }
    println!("\n{found} of {all} are found by both, {read} of {all} have a reading.");
    Ok(())
}
