//! Gradients of a small example that can be checked on paper, and the error messages of four mistakes.

#[allow(dead_code, unreachable_pub, reason = "each example uses its part")]
mod neuron;

use std::fs;
use std::path::Path;

use autograd::{Result, Tensor, graph, no_grad};
use host::file::write_atomically;
use host::println;
use neuron::{Neuron, neuron};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Neuron { w, b, x, z, loss } = neuron();
    loss.backward()?;
    println!("z    = {:?}", z.to_vec()?);
    println!("loss = {:.4}", loss.item()?);
    println!("dw   = {}", gradient(&w)?);
    println!("db   = {}", gradient(&b)?);

    // ANCHOR: mistakes
    let mistakes = [
        ("wrong shapes", (x.matmul(&w) + &b).sum().backward()),
        ("many numbers at once", z.backward()),
        ("nothing to derive", no_grad(|| (&z * &z).sum()).backward()),
        ("too late", w.update(0.1).and_then(|()| loss.backward())),
    ];
    // ANCHOR_END: mistakes
    for (what, outcome) in mistakes {
        match outcome {
            Ok(()) => println!("\n{what}: no error"),
            Err(error) => println!("\n{what}: {error}"),
        }
    }

    // ANCHOR: draw
    let files =
        [("target/neuron.dot", graph::dot(&loss)?), ("target/neuron.svg", graph::svg(&loss)?)];
    // ANCHOR_END: draw
    for (path, text) in files {
        fs::create_dir_all("target")?;
        write_atomically::<std::io::Error>(Path::new(path), |file| {
            file.write_all(text.as_bytes())
        })?;
    }
    Ok(())
}

fn gradient(parameter: &Tensor<f64>) -> Result<String> {
    let gradient = parameter.grad()?.map(|gradient| gradient.to_vec()).transpose()?;
    let numbers = gradient.unwrap_or_default();
    let numbers: Vec<String> = numbers.iter().map(|value| format!("{value:.4}")).collect();
    Ok(format!("[{}]", numbers.join(", ")))
}
