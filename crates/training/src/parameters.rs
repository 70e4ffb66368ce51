//! The parameters of a network: a weight matrix and a bias vector for each layer.

use data::{Generator, Purpose};
use tensor::{Dump, Network, Tensor, TensorName};

use crate::{Error, Initialisation, Result};

/// The parameters of one layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Weights, `[n_l, n_(l-1)]`: a row for each output, as in PyTorch's `Linear`.
    pub w: Tensor,
    /// Biases, `[n_l]`.
    pub b: Tensor,
}

/// All parameters of a network; `layers[0]` contains `w1` and `b1`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// The layers, first to last.
    pub layers: Vec<Layer>,
}

impl Parameters {
    // ANCHOR: new
    /// Draws random parameters. The same seed gives the same bits on every
    /// platform.
    #[must_use]
    pub fn new(network: &Network, initialisation: Initialisation, seed: u64) -> Self {
        let mut generator = Generator::new(seed, Purpose::Parameters, 0);
        let mut layers = Vec::new();
        for sizes in network.sizes.windows(2) {
            let (inputs, outputs) = (sizes[0], sizes[1]);
            let fan_in = inputs as f32;
            let mut draw = |bound: f32| match initialisation {
                Initialisation::SmallNormal => 0.01 * generator.normal(),
                _ => generator.uniform(-bound, bound),
            };
            let weights: Vec<f32> = {
                let bound = match initialisation {
                    Initialisation::KaimingUniform => (2.0 / fan_in).sqrt(),
                    _ => 1.0 / fan_in.sqrt(),
                };
                (0..outputs * inputs).map(|_| draw(bound)).collect()
            };
            let biases: Vec<f32> = match initialisation {
                Initialisation::KaimingUniform => vec![0.0; outputs],
                _ => (0..outputs).map(|_| draw(1.0 / fan_in.sqrt())).collect(),
            };
            layers.push(Layer {
                w: Tensor::new([outputs, inputs], weights).expect("drawn to this size"),
                b: Tensor::new([outputs], biases).expect("drawn to this size"),
            });
        }
        Self { layers }
    }
    // ANCHOR_END: new

    /// The parameters in a dump, `w1 b1 … wL bL`, before its step.
    ///
    /// # Errors
    /// If one of them is missing or doesn't have the network's shape.
    pub fn from_dump(dump: &Dump, network: &Network) -> Result<Self> {
        Self::collect(network, |name| {
            dump.get(name)
                .map(tensor::DumpedTensor::to_tensor)
                .ok_or_else(|| Error::Usage(format!("the dump has no tensor {name}")))
        })
    }

    /// Builds the parameters from a function that returns the tensor of a name.
    ///
    /// # Errors
    /// If the function fails, or a tensor doesn't have the network's shape.
    pub fn collect(
        network: &Network,
        mut tensor: impl FnMut(TensorName) -> Result<Tensor>,
    ) -> Result<Self> {
        let mut checked = |name| {
            let tensor = tensor(name)?;
            let expected = network.shape(name, 0).unwrap_or_default();
            if tensor.shape() != expected {
                let shape = tensor.shape();
                return Err(Error::Usage(format!(
                    "{name} has the shape {shape:?}, but the network {network} needs {expected:?}"
                )));
            }
            Ok(tensor)
        };
        let layers = (1..=network.layers())
            .map(|l| Ok(Layer { w: checked(TensorName::W(l))?, b: checked(TensorName::B(l))? }))
            .collect::<Result<_>>()?;
        Ok(Self { layers })
    }

    /// A hash of the parameters, the same on every machine.
    #[must_use]
    pub fn digest(&self) -> u64 {
        // The FNV-1a hash, over 64-bit words instead of bytes.
        let step = |digest: u64, value: u64| (digest ^ value).wrapping_mul(0x0000_0100_0000_01b3);
        let all = self.layers.iter().flat_map(|layer| [&layer.w, &layer.b]);
        let bits = all.flat_map(|tensor| tensor.data()).map(|value| u64::from(value.to_bits()));
        bits.fold(0xcbf2_9ce4_8422_2325, step)
    }

    /// The layer sizes of the network, input first.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        let inputs = self.layers.first().map(|layer| layer.w.shape()[1]);
        inputs.into_iter().chain(self.layers.iter().map(|layer| layer.w.shape()[0])).collect()
    }
}

#[cfg(test)]
mod tests {
    use tensor::Loss;

    use super::*;

    #[test]
    fn parameters_are_drawn_within_their_bounds_and_from_the_seed() {
        let network = Network { sizes: vec![784, 30, 10], loss: Loss::Bce };
        let draw = |how, seed| Parameters::new(&network, how, seed);
        let uniform = draw(Initialisation::UniformFanIn, 1);
        assert_eq!(uniform, draw(Initialisation::UniformFanIn, 1));
        assert_ne!(uniform, draw(Initialisation::UniformFanIn, 2));
        assert_eq!(uniform.sizes(), network.sizes);
        let largest = |tensor: &Tensor| tensor.data().iter().fold(0.0_f32, |m, v| m.max(v.abs()));
        for (how, bound) in
            [(Initialisation::UniformFanIn, 1.0), (Initialisation::KaimingUniform, 2.0_f32.sqrt())]
        {
            let bound = bound / 28.0; // √784 = 28
            let found = largest(&draw(how, 1).layers[0].w);
            assert!((0.999 * bound..=1.001 * bound).contains(&found), "{how}: {found} of {bound}");
        }
        assert_eq!(largest(&draw(Initialisation::KaimingUniform, 1).layers[1].b), 0.0);
        let normal = draw(Initialisation::SmallNormal, 1).layers.remove(0).w.into_data();
        let variance = normal.iter().map(|v| v * v).sum::<f32>() / normal.len() as f32;
        assert!((0.97e-4..1.03e-4).contains(&variance), "{variance}");
    }

    /// The digest has to depend on every bit, because ranks compare it to check that they start
    /// from the same parameters.
    #[test]
    fn each_bit_and_its_place_changes_the_digest() {
        let network = Network { sizes: vec![3, 2, 2], loss: Loss::Bce };
        let drawn = |seed| Parameters::new(&network, Initialisation::UniformFanIn, seed);
        let one = drawn(1);
        assert_eq!(one.digest(), drawn(1).digest());
        assert_ne!(one.digest(), drawn(2).digest());
        let changed = |change: fn(&mut Parameters)| {
            let mut other = one.clone();
            change(&mut other);
            assert_ne!(other, one);
            other.digest()
        };
        let digests = [
            one.digest(),
            changed(|other| {
                let value = &mut other.layers[1].b.data_mut()[1];
                *value = f32::from_bits(value.to_bits() ^ 1);
            }),
            changed(|other| other.layers[0].w.data_mut().swap(0, 1)),
            changed(|other| other.layers[0].w.data_mut()[5] *= -1.0),
        ];
        for (i, digest) in digests.iter().enumerate() {
            assert!(!digests[..i].contains(digest), "{i}");
        }
    }
}
