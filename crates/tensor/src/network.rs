//! The tensors of a network, in the order in which a training step computes them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::TensorName;

/// The loss, which also determines the function that turns the last `z` into `p`.
///
/// For each of the losses, the gradient that starts backpropagation is `dzL = (p − y) / B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// `p = softmax(z)`, loss `−Σ_c y·ln p`, mean over the batch.
    CrossEntropy,
    /// `p = sigmoid(z)`, binary cross-entropy, mean over the batch *and* the outputs. Training
    /// still uses `(p − y) / B`, which is `C` times the gradient of this loss, where `C` is the number of outputs.
    Bce,
    /// `p = z`, loss `½·Σ_c (z − y)²`, mean over the batch.
    SquaredError,
}

impl Loss {
    /// All losses.
    pub const ALL: [Self; 3] = [Self::CrossEntropy, Self::Bce, Self::SquaredError];

    /// The loss's name in dumps and on command lines.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CrossEntropy => "cross-entropy",
            Self::Bce => "bce",
            Self::SquaredError => "squared-error",
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A multilayer perceptron: the number of units of each layer, input first, and the loss. The activation of hidden
/// layers is `relu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// `[n0, n1, …, nL]`: inputs, hidden units, outputs; at least two.
    pub sizes: Vec<usize>,
    /// The loss.
    pub loss: Loss,
}

impl Network {
    /// `L`, the number of layers that have parameters.
    #[must_use]
    pub fn layers(&self) -> usize {
        self.sizes.len() - 1
    }

    /// `n0`, the number of inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.sizes[0]
    }

    /// `C`, the number of outputs, one for each class.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.sizes[self.layers()]
    }

    /// The number of parameters: all weights and biases. Saturates at `usize::MAX`.
    #[must_use]
    pub fn parameter_count(&self) -> usize {
        let of = |n: &[usize]| n[1].saturating_mul(n[0].saturating_add(1));
        self.sizes.windows(2).map(of).fold(0, usize::saturating_add)
    }

    /// Every tensor of one training step, in the order of computation: inputs and parameters, forward, loss, backward
    /// from the last layer to the first, parameters after the update. If a tensor is wrong and all before it are right,
    /// the bug is in the operation that computes it.
    #[must_use]
    pub fn tensor_names(&self) -> Vec<TensorName> {
        use TensorName::{A, B, BNext, Da, Db, Dw, Dz, Loss, P, W, WNext, X, Y, Z};
        let last = self.layers();
        let mut names = vec![X, Y];
        names.extend((1..=last).flat_map(|l| [W(l), B(l)]));
        names.extend((1..last).flat_map(|l| [Z(l), A(l)]));
        names.extend([Z(last), P, Loss]);
        for l in (1..=last).rev() {
            names.extend([Dz(l), Dw(l), Db(l)]);
            if l > 1 {
                names.push(Da(l - 1));
            }
        }
        names.extend((1..=last).flat_map(|l| [WNext(l), BNext(l)]));
        names
    }

    /// The shape of a tensor for a batch of `batch` samples; `None` if this network has
    /// no tensor of that name.
    #[must_use]
    pub fn shape(&self, name: TensorName, batch: usize) -> Option<Vec<usize>> {
        use TensorName::{A, B, BNext, Da, Db, Dw, Dz, Loss, P, W, WNext, X, Y, Z};
        let last = self.layers();
        let layer = |l: usize| (1..=last).contains(&l).then_some(l);
        let hidden = |l: usize| (1..last).contains(&l).then_some(l);
        Some(match name {
            X => vec![batch, self.inputs()],
            Y | P => vec![batch, self.outputs()],
            Loss => vec![],
            W(l) | Dw(l) | WNext(l) => vec![self.sizes[layer(l)?], self.sizes[l - 1]],
            B(l) | Db(l) | BNext(l) => vec![self.sizes[layer(l)?]],
            Z(l) | Dz(l) => vec![batch, self.sizes[layer(l)?]],
            A(l) | Da(l) => vec![batch, self.sizes[hidden(l)?]],
        })
    }
}

impl fmt::Display for Network {
    /// `784-30-10, bce`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.sizes.iter().map(ToString::to_string).collect();
        write!(f, "{}, {}", sizes.join("-"), self.loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_come_in_the_order_of_computation() {
        let network = Network { sizes: vec![784, 32, 17, 10], loss: Loss::CrossEntropy };
        let names: Vec<String> = network.tensor_names().iter().map(ToString::to_string).collect();
        assert_eq!(
            names.join(" "),
            "x y w1 b1 w2 b2 w3 b3 z1 a1 z2 a2 z3 p loss dz3 dw3 db3 da2 dz2 dw2 db2 da1 dz1 dw1 \
             db1 w1_next b1_next w2_next b2_next w3_next b3_next"
        );
        for name in network.tensor_names() {
            assert!(network.shape(name, 8).is_some(), "{name} has no shape");
        }
        assert_eq!(network.shape(TensorName::Dw(2), 8), Some(vec![17, 32]));
        assert_eq!(network.shape(TensorName::A(3), 8), None);
        assert_eq!(network.shape(TensorName::W(0), 8), None);
    }
}
