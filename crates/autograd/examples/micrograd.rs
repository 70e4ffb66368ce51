//! Twenty steps of the network that micrograd's descendant on CUDA was shown with.

#[allow(dead_code, unreachable_pub, reason = "each example uses its part")]
mod original;

use autograd::Result;

fn main() -> Result<()> {
    for (step, loss) in original::train(&original::network::<f32>(), 20)?.iter().enumerate() {
        println!("step {step:>2}   loss {loss:.6}");
    }
    Ok(())
}
