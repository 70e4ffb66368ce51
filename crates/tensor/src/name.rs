//! The names of tensors, the same in every language of this project.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The largest layer number. Names with a larger number are rejected, so arithmetic with a parsed number can't
/// overflow.
const MAX_LAYERS: usize = 1 << 20;

/// The name of one tensor of a training step. Layers are counted from 1: layer `l` computes `z(l)` from `a(l-1)`, and
/// `a0` is the input `x`.
///
/// With a batch of `B` samples, `n0` inputs and `C` classes, the shapes are those of
/// [`Network::shape`](crate::Network::shape). The name of a gradient is `d` followed by the tensor's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum TensorName {
    /// Input batch, `[B, n0]`.
    X,
    /// One-hot targets, `[B, C]`.
    Y,
    /// Weights of layer `l` before the step, `[n_l, n_(l-1)]`.
    W(usize),
    /// Biases of layer `l` before the step, `[n_l]`.
    B(usize),
    /// Pre-activation of layer `l`, `z = a_prev · wᵀ + b`, `[B, n_l]`.
    Z(usize),
    /// Activation of hidden layer `l`, `relu(z)`, `[B, n_l]`.
    A(usize),
    /// Output, `[B, C]`: softmax, sigmoid or identity of the last `z`, depending on the loss.
    P,
    /// The loss, a scalar, as training prints it.
    Loss,
    /// Gradient of `z(l)`, `[B, n_l]`.
    Dz(usize),
    /// Gradient of `w(l)`, `dzᵀ · a_prev`, `[n_l, n_(l-1)]`.
    Dw(usize),
    /// Gradient of `b(l)`, `Σ_batch dz`, `[n_l]`.
    Db(usize),
    /// Gradient of `a(l)`, `dz_next · w_next`, `[B, n_l]`.
    Da(usize),
    /// Weights of layer `l` after the step, `w − lr·dw`.
    WNext(usize),
    /// Biases of layer `l` after the step, `b − lr·db`.
    BNext(usize),
}

impl TensorName {
    /// Whether the tensor is an input of a training step rather than computed by it: the batch, and the parameters
    /// before the step.
    #[must_use]
    pub const fn is_given(&self) -> bool {
        matches!(self, Self::X | Self::Y | Self::W(_) | Self::B(_))
    }
}

impl fmt::Display for TensorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::X => "x".into(),
            Self::Y => "y".into(),
            Self::W(layer) => format!("w{layer}"),
            Self::B(layer) => format!("b{layer}"),
            Self::Z(layer) => format!("z{layer}"),
            Self::A(layer) => format!("a{layer}"),
            Self::P => "p".into(),
            Self::Loss => "loss".into(),
            Self::Dz(layer) => format!("dz{layer}"),
            Self::Dw(layer) => format!("dw{layer}"),
            Self::Db(layer) => format!("db{layer}"),
            Self::Da(layer) => format!("da{layer}"),
            Self::WNext(layer) => format!("w{layer}_next"),
            Self::BNext(layer) => format!("b{layer}_next"),
        };
        f.pad(&text)
    }
}

/// The text is not the name of a tensor.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "{0:?} is not the name of a tensor: expected x, y, p, loss, or one of w b z a dz dw db da \
     followed by a layer from 1, such as w1, dz2 or w1_next"
)]
pub struct ParseNameError(pub String);

impl FromStr for TensorName {
    type Err = ParseNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // An invalid layer number becomes 1. The resulting name then doesn't print as the text, so the text is rejected
        // below.
        let number =
            text.split(|c: char| !c.is_ascii_digit()).find_map(|digits| digits.parse().ok());
        let layer = number.filter(|layer| (1..=MAX_LAYERS).contains(layer)).unwrap_or(1);
        let of_layers: [fn(usize) -> Self; 10] = [
            Self::W,
            Self::B,
            Self::Z,
            Self::A,
            Self::Dz,
            Self::Dw,
            Self::Db,
            Self::Da,
            Self::WNext,
            Self::BNext,
        ];
        let of_layer = of_layers.into_iter().map(|name| name(layer));
        let names = [Self::X, Self::Y, Self::P, Self::Loss].into_iter().chain(of_layer);
        let found = names.into_iter().find(|name| name.to_string() == text);
        found.ok_or_else(|| ParseNameError(text.to_owned()))
    }
}

impl TryFrom<String> for TensorName {
    type Error = ParseNameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<TensorName> for String {
    fn from(name: TensorName) -> Self {
        name.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for text in ["x", "y", "w1", "b12", "z3", "a1", "p", "loss", "dz2", "dw1", "db1", "da1"] {
            assert_eq!(text.parse::<TensorName>().unwrap().to_string(), text);
        }
        assert_eq!("w2_next".parse(), Ok(TensorName::WNext(2)));
        assert_eq!("b2_next".parse(), Ok(TensorName::BNext(2)));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "w",
            "w0",
            "w01",
            "w1048577",
            "da18446744073709551615",
            "w1x",
            "dw1_next",
            "x_next",
            "W1",
            "q1",
            "1",
            "é1",
            "w１",
        ] {
            assert!(text.parse::<TensorName>().is_err(), "{text:?} was accepted");
        }
    }
}
