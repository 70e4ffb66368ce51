//! A neuron of single numbers: its loss, and its automatic gradients.
//!
//!     cargo run -p autograd --example scalars

#[allow(unreachable_pub, reason = "the book shows it without `pub(crate)`")]
mod engine;

use engine::Value;
use host::println;

fn main() {
    // ANCHOR: neuron
    let (w, b) = (Value::new(2.0), Value::new(-0.5));
    let (x, y) = (Value::new(3.0), Value::new(4.0));
    let error = &(&(&w * &x) + &b).relu() + &(&y * &Value::new(-1.0));
    let loss = &(&error * &error) * &Value::new(0.5);
    loss.backward();
    println!("loss {}, dw {}, db {}", loss.data(), w.grad(), b.grad());
    // ANCHOR_END: neuron
}
