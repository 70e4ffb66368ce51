//! Parameters and labels of the fixtures that test the limits of single precision.

use crate::Parameters;
use crate::parameters::Layer;

/// A limit of single precision, at which a formula that is right on paper may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The last layer's weights are multiplied by 400, so that `exp(z)` overflows, and most `p` are 0 or 1 in single
    /// precision.
    LargeLogits,
    /// Every other unit of the first layer has weights and a bias of 0: its `z` is exactly 0, but not its
    /// `da`.
    Kink,
    /// Every other unit of the first layer is scaled by 2⁻¹³⁰, and the last layer's biases are reduced by 95, so that
    /// `z1` and `exp(zL)` are subnormal, or 0 where subnormal numbers are flushed to zero.
    Subnormal,
    /// Each output is exactly its target, so that every gradient is 0.
    ZeroGradient,
}

impl Edge {
    /// Changes random parameters and labels so that they reach the limit.
    pub(crate) fn apply(self, parameters: &mut Parameters, labels: &mut [u8]) {
        let [.., last] = &mut parameters.layers[..] else { return };
        match self {
            Self::LargeLogits => scale(last.w.data_mut(), 400.0),
            Self::Kink => scale_every_other_unit(&mut parameters.layers[0], 0.0),
            Self::Subnormal => {
                last.b.data_mut().iter_mut().for_each(|b| *b -= 95.0);
                scale_every_other_unit(&mut parameters.layers[0], (-130_f32).exp2());
            }
            Self::ZeroGradient => {
                labels.fill(0);
                scale(last.w.data_mut(), 0.0);
                scale(last.b.data_mut(), 0.0);
                last.b.data_mut()[0] = 1.0;
            }
        }
    }
}

fn scale(values: &mut [f32], factor: f32) {
    values.iter_mut().for_each(|value| *value *= factor);
}

/// Scales the weights and the bias of every other unit, starting with the first.
fn scale_every_other_unit(layer: &mut Layer, factor: f32) {
    let inputs = layer.w.shape()[1];
    layer.w.data_mut().chunks_mut(inputs).step_by(2).for_each(|row| scale(row, factor));
    layer.b.data_mut().iter_mut().step_by(2).for_each(|b| *b *= factor);
}
