//! Modules: layers and networks with parameters, and their optimiser.

use data::Generator;

use crate::{Device, Element, Result, Tensor};

/// A function of a tensor, with parameters.
pub trait Module<T: Element> {
    /// The output for a batch of inputs.
    #[track_caller]
    fn forward(&self, x: &Tensor<T>) -> Tensor<T>;

    /// The parameters and their names, always in the same order.
    fn parameters(&self) -> Vec<(String, Tensor<T>)>;
}

// ANCHOR: linear
/// A layer: `z = x · wᵀ + b`.
#[derive(Clone, Debug)]
pub struct Linear<T: Element> {
    /// Weights, `[outputs, inputs]`: a row for each output, as in PyTorch.
    pub w: Tensor<T>,
    /// Biases, `[outputs]`.
    pub b: Tensor<T>,
}

impl<T: Element> Module<T> for Linear<T> {
    /// `x [B, inputs]` to `z [B, outputs]`.
    #[track_caller]
    fn forward(&self, x: &Tensor<T>) -> Tensor<T> {
        x.matmul(&self.w.transpose()) + &self.b
    }

    fn parameters(&self) -> Vec<(String, Tensor<T>)> {
        vec![("w".into(), self.w.clone()), ("b".into(), self.b.clone())]
    }
}
// ANCHOR_END: linear

impl<T: Element> Linear<T> {
    /// A layer with random parameters, uniform in ±1/√inputs, as in PyTorch.
    pub fn new(inputs: usize, outputs: usize, generator: &mut Generator) -> Self {
        let bound = 1.0 / (inputs as f32).sqrt();
        let mut draw = |shape: &[usize]| {
            let number = |_| T::from_f64(f64::from(generator.uniform(-bound, bound)));
            Tensor::new(shape, (0..shape.iter().product::<usize>()).map(number).collect())
        };
        Self {
            w: draw(&[outputs, inputs]).requires_grad().named("w"),
            b: draw(&[outputs]).requires_grad().named("b"),
        }
    }

    /// A layer with the same parameters on another device.
    #[track_caller]
    pub fn to(&self, device: &Device) -> Self {
        let moved = |x: &Tensor<T>| x.detach().to(device).requires_grad();
        Self { w: moved(&self.w).named("w"), b: moved(&self.b).named("b") }
    }
}

/// The function between the layers of an [`Mlp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `max(z, 0)`.
    Relu,
    /// The hyperbolic tangent.
    Tanh,
}

// ANCHOR: mlp
/// A multilayer perceptron: layers, with an activation after each except the last.
#[derive(Clone, Debug)]
pub struct Mlp<T: Element> {
    /// The layers, first to last.
    pub layers: Vec<Linear<T>>,
    /// The function after each layer except the last.
    pub activation: Activation,
}

impl<T: Element> Module<T> for Mlp<T> {
    #[track_caller]
    fn forward(&self, x: &Tensor<T>) -> Tensor<T> {
        let mut a = x.clone();
        for (l, layer) in (1..).zip(&self.layers) {
            let z = layer.forward(&a);
            a = match self.activation {
                _ if l == self.layers.len() => z,
                Activation::Relu => z.relu(),
                Activation::Tanh => z.tanh(),
            };
        }
        a
    }

    /// `w1 b1 … wL bL`.
    fn parameters(&self) -> Vec<(String, Tensor<T>)> {
        let of_layer = |(l, layer): (usize, &Linear<T>)| {
            let named = |(name, tensor): (String, _)| (format!("{name}{l}"), tensor);
            layer.parameters().into_iter().map(named).collect::<Vec<_>>()
        };
        (1..).zip(&self.layers).flat_map(of_layer).collect()
    }
}
// ANCHOR_END: mlp

impl<T: Element> Mlp<T> {
    /// A network with layers of these sizes, the inputs first.
    pub fn new(sizes: &[usize], activation: Activation, generator: &mut Generator) -> Self {
        let layer = |n: &[usize]| Linear::new(n[0], n[1], generator);
        Self { layers: sizes.windows(2).map(layer).collect(), activation }
    }

    /// A network with the same parameters on another device.
    #[track_caller]
    pub fn to(&self, device: &Device) -> Self {
        let layers = self.layers.iter().map(|layer| layer.to(device)).collect();
        Self { layers, activation: self.activation }
    }
}

// ANCHOR: sgd
/// Stochastic gradient descent: `w −= learning_rate · dw` for every parameter.
#[derive(Clone, Copy, Debug)]
pub struct Sgd<T> {
    /// The learning rate.
    pub learning_rate: T,
}

impl<T: Element> Sgd<T> {
    /// Updates every parameter of a module by its gradient.
    ///
    /// # Errors
    /// [`ErrorKind::NoGradient`](crate::ErrorKind::NoGradient) if a parameter has no gradient; an error of the
    /// device.
    #[track_caller]
    pub fn step(&self, module: &dyn Module<T>) -> Result<()> {
        for (_, parameter) in module.parameters() {
            parameter.update(self.learning_rate)?;
        }
        Ok(())
    }

    /// Removes every gradient, so that the next backward pass starts from zero.
    ///
    /// # Errors
    /// The error that a parameter holds.
    pub fn zero_grad(&self, module: &dyn Module<T>) -> Result<()> {
        module.parameters().iter().try_for_each(|(_, parameter)| parameter.zero_grad())
    }
}
// ANCHOR_END: sgd
