//! The example network of micrograd-cuda: 100 inputs, two hidden layers of
//! 100, one output, all with tanh; it learns ten samples by heart.

use autograd::{Activation, Device, Element, Mlp, Module, Result, Sgd, Tensor};
use data::{Generator, Purpose};

/// Layer sizes, inputs first.
pub const SIZES: [usize; 4] = [100, 100, 100, 1];
/// Samples of the only batch.
pub const BATCH: usize = 10;
/// Learning rate.
pub const RATE: f64 = 0.1;

// ANCHOR: task
/// Ten random points and, for each, −1 or 1: `x [10, 100]`, `y [10, 1]`.
pub fn task<T: Element>() -> (Tensor<T>, Tensor<T>) {
    let mut generator = Generator::new(1, Purpose::Noise, 0);
    let mut number = || T::from_f64(f64::from(generator.uniform(-1.0, 1.0)));
    let x = (0..BATCH * SIZES[0]).map(|_| number()).collect();
    let y = (0..BATCH).map(|_| if number() < T::zero() { -T::one() } else { T::one() }).collect();
    (Tensor::new([BATCH, SIZES[0]], x).named("x"), Tensor::new([BATCH, 1], y).named("y"))
}

/// The network before training.
pub fn network<T: Element>(device: &Device) -> Mlp<T> {
    let mut generator = Generator::new(1, Purpose::Parameters, 0);
    Mlp::new(&SIZES, Activation::Tanh, &mut generator).to(device)
}
// ANCHOR_END: task

// ANCHOR: train
/// Trains, and returns the loss before each step.
pub fn train<T: Element>(network: &Mlp<T>, steps: usize) -> Result<Vec<T>> {
    let device = network.layers[0].w.device()?;
    let (x, y): (Tensor<T>, Tensor<T>) = task();
    let (x, y) = (x.to(&device), y.to(&device));
    let sgd = Sgd { learning_rate: T::from_f64(RATE) };
    let mut losses = Vec::new();
    for _ in 0..steps {
        let p = network.forward(&x).tanh();
        let loss = (p - &y).pow(T::from_f64(2.0)).mean();
        losses.push(loss.item()?);
        sgd.zero_grad(network)?;
        loss.backward()?;
        drop(loss);
        sgd.step(network)?;
    }
    Ok(losses)
}
// ANCHOR_END: train
