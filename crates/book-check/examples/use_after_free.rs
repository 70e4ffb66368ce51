//! A host program that uses the emulator's library and frees a buffer one launch too early.

use std::error::Error;

use host::println;
use ptx_emulator::source::Source;
use ptx_emulator::{Emulator, Launch, RunOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let path = format!("{}/../../book/kernels/saxpy.ptx", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path)?;
    // ANCHOR: launches
    let emulator = Emulator::new(RunOptions::default());
    let memory = emulator.memory();
    let (x, y) = (memory.allocate(32, 4)?, memory.allocate(32, 4)?);
    let source = Source { name: "saxpy.ptx".into(), text };
    let loaded = emulator.load(source).map_err(|diagnostics| format!("{diagnostics:?}"))?;
    let saxpy = loaded.kernel("saxpy").ok_or("the file has a kernel saxpy")?;

    // The kernel's arguments: n and a with 4 bytes each, then the addresses of
    // the two buffers.
    let mut parameters = Vec::new();
    parameters.extend(8_u32.to_le_bytes());
    parameters.extend(2_f32.to_le_bytes());
    parameters.extend(x.to_le_bytes());
    parameters.extend(y.to_le_bytes());
    let launch = Launch { grid: [1; 3], block: [32, 1, 1], parameters, ..Launch::default() };

    emulator.launch(&saxpy, &launch)?;
    println!("the first launch: fine");
    memory.free(x)?;
    match emulator.launch(&saxpy, &launch) {
        Ok(_) => println!("the second launch: fine"),
        Err(fault) => println!("the second launch: {fault}"),
    }
    // ANCHOR_END: launches
    Ok(())
}
