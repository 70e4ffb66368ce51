//! A neuron with two inputs and three samples, small enough to check on paper.

use autograd::{Tensor, loss};

/// The tensors of the example.
pub struct Neuron {
    pub w: Tensor<f64>,
    pub b: Tensor<f64>,
    pub x: Tensor<f64>,
    pub z: Tensor<f64>,
    pub loss: Tensor<f64>,
}

pub fn neuron() -> Neuron {
    // ANCHOR: neuron
    let w = Tensor::new([1, 2], vec![2.0, -3.0]).requires_grad().named("w");
    let b = Tensor::new([1], vec![1.0]).requires_grad().named("b");
    let x = Tensor::new([3, 2], vec![1.0, 0.5, 0.0, 1.0, 2.0, 1.0]).named("x");
    let y = Tensor::new([3, 1], vec![0.5, -1.0, 1.0]).named("y");

    let z = (x.matmul(&w.transpose()) + &b).named("z");
    let loss = loss::squared_error(&z.tanh(), &y).named("loss");
    // ANCHOR_END: neuron
    Neuron { w, b, x, z, loss }
}
