//! The buffers that the level computes on.

use data::Batch;
use tensor::Network;
use training::{Error, Result};

// ANCHOR: buffers
/// One layer, `n` units on `m` inputs. Every buffer is flat and row-major.
pub(super) struct Layer {
    pub(super) m: usize,
    pub(super) n: usize,
    /// The weights `[n, m]`; `dw` is their gradient.
    pub(super) w: Vec<f32>,
    pub(super) dw: Vec<f32>,
    /// The biases `[n]`; `db` is their gradient.
    pub(super) b: Vec<f32>,
    pub(super) db: Vec<f32>,
    /// `x·wᵀ + b`, `[batch, n]`; `dz` is its gradient.
    pub(super) z: Vec<f32>,
    pub(super) dz: Vec<f32>,
    /// `relu(z)`, `[batch, n]`; `da` is its gradient.
    pub(super) a: Vec<f32>,
    pub(super) da: Vec<f32>,
}

/// All buffers of the network, with the loaded batch.
pub(super) struct Buffers {
    pub(super) batch: usize,
    /// `[batch, inputs]`.
    pub(super) x: Vec<f32>,
    /// `[batch, classes]`, one-hot.
    pub(super) y: Vec<f32>,
    /// `[batch, classes]`.
    pub(super) p: Vec<f32>,
    pub(super) layers: Vec<Layer>,
}
// ANCHOR_END: buffers

impl Buffers {
    /// The buffers of a network; no batch is loaded.
    pub(super) fn new(network: &Network) -> Self {
        let layer = |sizes: &[usize]| {
            let (m, n) = (sizes[0], sizes[1]);
            let empty = Vec::new;
            Layer {
                m,
                n,
                w: vec![0.0; n * m],
                dw: vec![0.0; n * m],
                b: vec![0.0; n],
                db: vec![0.0; n],
                z: empty(),
                dz: empty(),
                a: empty(),
                da: empty(),
            }
        };
        let layers = network.sizes.windows(2).map(layer).collect();
        Self { batch: 0, x: Vec::new(), y: Vec::new(), p: Vec::new(), layers }
    }

    /// Resizes the buffers that depend on the size of the batch. Fails if there is not enough memory.
    pub(super) fn fit(&mut self, batch: &Batch<'_>) -> Result<()> {
        let (samples, inputs) = (batch.len(), batch.dataset().features());
        let classes = self.layers.last().map_or(0, |layer| layer.n);
        let units: u64 = self.layers.iter().map(|layer| layer.n as u64).sum();
        let floats = samples as u64 * (inputs as u64 + 2 * classes as u64 + 4 * units);
        host::memory::check(4 * floats).map_err(|shortage| Error::Memory {
            what: format!("holding a batch of {samples} samples, in every layer,"),
            shortage,
        })?;
        self.batch = samples;
        self.x.resize(samples * inputs, 0.0);
        self.y.resize(samples * classes, 0.0);
        self.p.resize(samples * classes, 0.0);
        for layer in &mut self.layers {
            let size = samples * layer.n;
            for buffer in [&mut layer.z, &mut layer.dz, &mut layer.a, &mut layer.da] {
                buffer.resize(size, 0.0);
            }
        }
        Ok(())
    }
}
