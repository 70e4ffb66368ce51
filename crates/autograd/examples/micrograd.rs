//! Twenty training steps of the example network of micrograd-cuda; on a GPU with
//! `--device auto`, `cuda` or `emulated`.

#[allow(dead_code, unreachable_pub, reason = "each example uses its part")]
mod original;

use autograd::Result;
use autograd::level::AutogradOptions;
use clap::Parser;
use host::println;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: AutogradOptions,
}

fn main() -> Result<()> {
    let device = Arguments::parse().options.open()?;
    // The name without details: `cpu`, `emulated`, or the card's name.
    println!("device {}", device.to_string().split(" (").next().unwrap_or_default());
    let network = original::network::<f32>(&device);
    for (step, loss) in original::train(&network, 20)?.iter().enumerate() {
        println!("step {step:>2}   loss {loss:.6}");
    }
    Ok(())
}
