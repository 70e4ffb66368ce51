//! An example of a leak: it allocates two buffers and frees both, or only one with the argument `forget`.

use std::error::Error;

use gpu::{Choice, Gpu};

fn main() -> Result<(), Box<dyn Error>> {
    let forget = std::env::args().nth(1).is_some_and(|argument| argument == "forget");
    // ANCHOR: leak
    let gpu = Gpu::open(Choice::Emulated)?;
    let stream = gpu.stream();
    let weights = stream.alloc_zeros::<f32>(784 * 30)?;
    let biases = stream.alloc_zeros::<f32>(30)?;
    if forget {
        std::mem::forget(weights);
    } else {
        drop(weights);
    }
    drop(biases);
    stream.synchronize()?;
    // ANCHOR_END: leak
    Ok(())
}
