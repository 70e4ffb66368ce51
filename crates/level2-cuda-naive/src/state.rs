//! The buffers: what a training step reads and writes, how it is laid out, and how long it lives.
//! All of it stays on the device; the host holds none of these numbers.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use data::{Batch, Dataset};
use gpu::memory::{buffer, grow};
use gpu::transfer::Transfer;
use gpu::{Buffer, GpuError, Layer, Result, View};
use tensor::{Loss, Network, TensorName};
use training::Parameters;

use crate::loss::Losses;
use crate::operations::Operations;

/// Everything a training step touches. Each buffer is flat and row-major, and is reused from
/// batch to batch: memory is allocated only for a batch larger than any before.
pub struct State {
    /// The layers, first to last.
    pub layers: Vec<Layer>,
    /// The loss, which decides what `p` is.
    pub loss: Loss,
    /// `B`, the number of samples of the loaded batch; 0 until one is loaded whole.
    pub batch: usize,
    /// `x`, `[B, n0]`, and `y`, `[B, C]`, one-hot, and how they get here.
    pub input: Box<dyn Transfer>,
    /// `p`, `[B, C]`.
    pub p: Buffer,
    /// Where the loss is made.
    pub losses: Losses,
    stream: Arc<CudaStream>,
}

impl State {
    /// All buffers of a network, for batches of one sample at first. The parameters are 0.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(
        stream: &Arc<CudaStream>,
        network: &Network,
        input: Box<dyn Transfer>,
    ) -> Result<Self> {
        let layer = |n: &[usize]| Layer::new(stream, n[0], n[1]);
        Ok(Self {
            layers: network.sizes.windows(2).map(layer).collect::<Result<_>>()?,
            loss: network.loss,
            batch: 0,
            input,
            p: buffer(stream, network.outputs())?,
            losses: Losses::new(stream, 1)?,
            stream: Arc::clone(stream),
        })
    }

    /// Takes in the training set. No batch is loaded afterwards.
    ///
    /// # Errors
    /// What the driver says.
    pub fn dataset(&mut self, set: &Dataset) -> Result<()> {
        self.batch = 0;
        self.input.dataset(set)
    }

    /// Takes in a batch, told the one after it too, and makes room for it.
    ///
    /// Where the device has no memory left, no batch is loaded afterwards; the next one finds room, or
    /// fails in the same way.
    ///
    /// # Errors
    /// What the driver says.
    pub fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()> {
        // Until there is room for all of it, no batch is there.
        self.batch = 0;
        self.input.load(batch, next)?;
        let (stream, last) = (&self.stream, self.layers.len() - 1);
        for (l, layer) in self.layers.iter_mut().enumerate() {
            let elements = batch.len() * layer.outputs;
            grow(stream, &mut layer.z, elements)?;
            grow(stream, &mut layer.dz, elements)?;
            if l < last {
                grow(stream, &mut layer.a, elements)?;
                grow(stream, &mut layer.da, elements)?;
            } else {
                grow(stream, &mut self.p, elements)?;
            }
        }
        self.losses.make_room(stream, batch.len())?;
        self.batch = batch.len();
        Ok(())
    }

    /// The loss of the last forward pass, as the preset prints it; waits for the device.
    ///
    /// # Errors
    /// What the driver says.
    pub fn loss(&mut self, on: &Operations) -> Result<f32> {
        if self.batch == 0 {
            return Err(GpuError::NoBatch { operation: "loss" });
        }
        let last = &self.layers[self.layers.len() - 1];
        let (z, y) = (last.z.as_view(), self.input.y());
        self.losses.mean(on, self.loss, (&z, &y), self.batch, last.outputs)
    }

    /// The buffer of a tensor, which may have room for more than the loaded batch; none for the
    /// loss and for the parameters after the step, which take the place of those before.
    #[must_use]
    pub fn view(&self, name: TensorName) -> Option<View<'_>> {
        match name {
            TensorName::X => Some(self.input.x()),
            TensorName::Y => Some(self.input.y()),
            TensorName::P => Some(self.p.as_view()),
            _ => Layer::find(&self.layers, name).map(Buffer::as_view),
        }
    }

    /// Replaces all parameters.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_parameters(&mut self, on: &Operations, parameters: &Parameters) -> Result<()> {
        for (layer, given) in self.layers.iter_mut().zip(&parameters.layers) {
            on.launcher.write(given.w.data(), &mut layer.w)?;
            on.launcher.write(given.b.data(), &mut layer.b)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use data::Epoch;
    use gpu::transfer::Strategy;
    use gpu::{Choice, Gpu, Profile};
    use training::{Initialisation, Level};

    use super::*;
    use crate::{Level2, PerSample};

    /// The emulated GPU reads how much memory it has once, so that this needs a process of its own.
    #[test]
    fn a_batch_that_finds_no_memory_leaves_the_level_as_it_was() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "state::tests::with_little_memory", "--nocapture"])
            .env("EMULATED_GPU_MEMORY", "24M")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("1 passed"), "{said}");
    }

    #[test]
    #[ignore = "run by a_batch_that_finds_no_memory_leaves_the_level_as_it_was, with little memory"]
    fn with_little_memory() {
        let gpu = Gpu::open(Choice::Emulated).unwrap();
        let network = Network { sizes: vec![4, 2048, 10], loss: Loss::CrossEntropy };
        for how in Strategy::ALL {
            let profile = Profile::default;
            is_left_as_it_was(how, || {
                Box::new(Level2::new(&gpu, &network, how, profile()).unwrap())
            });
            is_left_as_it_was(how, || {
                Box::new(PerSample::new(&gpu, &network, how, profile()).unwrap())
            });
        }
    }

    fn is_left_as_it_was(how: Strategy, level: impl Fn() -> Box<dyn Level>) {
        let network = Network { sizes: vec![4, 2048, 10], loss: Loss::CrossEntropy };
        let start = Parameters::new(&network, Initialisation::UniformFanIn, 1);
        let few = rows(37);
        let expected = losses(level().as_mut(), &start, &few);

        let mut tried = level();
        losses(tried.as_mut(), &start, &rows(5));
        // Twice as many each time, until one of the buffers is not to be had.
        let too_many = (6..20).map(|n| rows(1 << n)).find(|set| load(tried.as_mut(), set).is_err());
        let too_many = too_many.expect("2^19 rows fit into 24 MB");
        for _ in 0..2 {
            let refused = load(tried.as_mut(), &too_many).unwrap_err().to_string();
            assert!(refused.contains("memory"), "{how}: {refused}");
            for refused in [tried.forward(), tried.step(0.1), tried.loss().map(|_| ())] {
                let refused = refused.expect_err("computes on a batch that is not there");
                assert!(refused.to_string().contains("no batch is loaded"), "{how}: {refused}");
            }
        }
        assert_eq!(losses(tried.as_mut(), &start, &few), expected, "{how}");
    }

    /// The bits of the losses of these rows before and after a step on them.
    fn losses(level: &mut dyn Level, start: &Parameters, set: &Dataset) -> [u32; 2] {
        level.set_parameters(start).unwrap();
        load(level, set).unwrap();
        level.step(0.1).unwrap();
        let before = level.loss().unwrap();
        level.forward().unwrap();
        [before, level.loss().unwrap()].map(f32::to_bits)
    }

    fn load(level: &mut dyn Level, set: &Dataset) -> training::Result<()> {
        level.load(&Epoch::in_order(set.len(), set.len(), false).batch(set, 0), None)
    }

    /// Rows of features that are no two alike, with the ten classes in turn.
    fn rows(count: usize) -> Dataset {
        let x = (0..count * 4).map(|i| (i % 17) as f32 / 17.0 - 0.5).collect();
        let labels = (0..count).map(|i| (i % 10) as u8).collect();
        Dataset::from_rows(x, labels, 4, 10).unwrap()
    }
}
