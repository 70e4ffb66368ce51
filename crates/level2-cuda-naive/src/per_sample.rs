//! The network in two kernels: in the first one, a thread trains one sample; in the second one, a thread adds up and
//! applies the gradients of all samples for one parameter.
//!
//! This is the simplest version to write, because each thread runs a plain loop over a plain network. The price is one
//! copy of all gradients for each sample, and threads whose accesses are far apart in memory.
#![allow(unsafe_code, reason = "nothing checks that a kernel has these parameters")]

use cudarc::driver::CudaSlice;
use data::{Batch, Dataset};
use gpu::launch::{grid, line};
use gpu::memory::{buffer, grow, zeros};
use gpu::transfer::{Strategy, Transfer};
use gpu::{Buffer, Function, Gpu, Launcher, Read, Write, launch, loss_code};
use profile::Profile;
use tensor::{Network, Tensor, TensorName};
use training::{Error, Level, Parameters, Result};

use crate::Products;
use crate::loss::Losses;
use crate::operations::Operations;

/// The network on the GPU, with one thread per sample.
pub struct PerSample {
    network: Network,
    on: Operations,
    launcher: Launcher,
    train_step: Function<TrainStep>,
    update_weights: Function<(Write, Read, f32, usize, usize)>,
    input: Box<dyn Transfer>,
    batch: usize,
    /// `n0 … nL`.
    sizes: CudaSlice<u64>,
    /// `w1 b1 … wL bL`, one after the other.
    parameters: Buffer,
    /// The gradients of every sample, `[B, parameters]`; allocated by the first backward pass.
    gradients: Buffer,
    /// `z1 … zL`, `[B, n]` each, one after the other. The buffer `a` is laid out alike, with `p` at its end.
    z: Buffer,
    a: Buffer,
    dz: Buffer,
    losses: Losses,
    profile: Profile,
}

/// The parameters of `train_step`, in the order of its launch.
type TrainStep = (Read, usize, u32, usize, Read, Read, Read, usize, Write, Write, Write, Write);

impl PerSample {
    /// A network with all parameters 0.
    ///
    /// # Errors
    /// If a kernel can't be loaded, or the driver reports an error.
    pub fn new(
        gpu: &Gpu,
        network: &Network,
        transfer: Strategy,
        profile: Profile,
    ) -> gpu::Result<Self> {
        let launcher = Launcher::new(gpu, &profile.profiler);
        let on = Operations::new(gpu, launcher.clone(), Products::Naive)?;
        let stream = on.stream();
        // SAFETY: the types match the kernels' parameters, and each launch below declares all accesses of its kernel.
        let (train_step, update_weights) = unsafe {
            (
                launcher.profiled_function(gpu.kernel("train_step")?, "train_step"),
                launcher.profiled_function(gpu.kernel("update_weights")?, "update_weights"),
            )
        };
        let sizes: Vec<u64> = network.sizes.iter().map(|size| *size as u64).collect();
        let empty = || buffer(stream, 1);
        Ok(Self {
            network: network.clone(),
            input: transfer.start(gpu, &launcher)?,
            launcher,
            train_step,
            update_weights,
            batch: 0,
            sizes: stream.clone_htod(&sizes)?,
            parameters: zeros(stream, network.parameter_count())?,
            gradients: empty()?,
            z: empty()?,
            a: empty()?,
            dz: empty()?,
            losses: Losses::new(&on, network)?,
            on,
            profile,
        })
    }

    /// The total number of units in the layers from 1 to `l`.
    fn units(&self, l: usize) -> usize {
        self.network.sizes[1..=l].iter().sum()
    }

    /// Runs the forward pass; with `backward` also computes the gradients of each sample.
    fn train_step(&mut self, backward: bool) -> gpu::Result<()> {
        let (batch, layers) = (self.batch, self.network.layers());
        let (units, count) = (self.units(layers), self.network.parameter_count());
        let (inputs, classes) = (self.network.inputs(), self.network.outputs());
        if backward {
            grow(self.on.stream(), &mut self.gradients, batch * count)?;
        }
        let loss = loss_code(self.network.loss);
        let passes: usize = if backward { 3 } else { 1 };
        let Self { sizes, parameters, z, a, dz, .. } = self;
        let (x, y) = (&self.input.x(), &self.input.y());
        // Without a buffer for gradients, the kernel only runs the forward pass.
        let gradients = backward.then_some(&mut self.gradients);
        // ANCHOR: launch
        // Blocks of one warp: there are only as many threads as samples, and small blocks spread
        // them over most multiprocessors.
        let shape = grid(u32::try_from(batch.div_ceil(32)).unwrap_or(u32::MAX), 1, 32);
        launch!(self.train_step, shape, flops[2 * passes * batch * count],
            read sizes[(layers + 1)], layers, loss, batch, read x[batch * inputs], read y[batch * classes],
            read parameters[count], count, write z[batch * units], write a[batch * units],
            write dz[batch * units], write gradients[batch * count])
        // ANCHOR_END: launch
    }

    /// The elements of a tensor. Gradients of parameters are summed over the samples here, because the network stores a
    /// separate gradient for each sample.
    fn read(&self, name: TensorName, elements: usize) -> gpu::Result<Option<Vec<f32>>> {
        use TensorName::{A, B, Db, Dw, Dz, P, W, X, Y, Z};
        let (on, sizes) = (&self.on, &self.network.sizes);
        let (last, count) = (self.network.layers(), self.network.parameter_count());
        let rows = |l: usize| self.batch * self.units(l - 1);
        let weights = |l: usize| sizes[..l].windows(2).map(|n| n[1] * (n[0] + 1)).sum::<usize>();
        let biases = |l: usize| weights(l) + sizes[l] * sizes[l - 1];
        let mut sum = buffer(on.stream(), 1)?;
        if let Dw(_) | Db(_) = name {
            sum = buffer(on.stream(), count)?;
            on.sum_batch(&self.gradients, &mut sum, self.batch, count)?;
        }
        let (held, start) = match name {
            X => return on.launcher.read(&self.input.x(), elements).map(Some),
            Y => return on.launcher.read(&self.input.y(), elements).map(Some),
            Z(l) => (&self.z, rows(l)),
            A(l) => (&self.a, rows(l)),
            P => (&self.a, rows(last)),
            Dz(l) => (&self.dz, rows(l)),
            W(l) => (&self.parameters, weights(l)),
            B(l) => (&self.parameters, biases(l)),
            Dw(l) => (&sum, weights(l)),
            Db(l) => (&sum, biases(l)),
            // `da` is never in memory: a thread masks it in registers, and stores `dz`.
            _ => return Ok(None),
        };
        on.launcher.read(&held.slice(start..start + elements), elements).map(Some)
    }
}

impl Level for PerSample {
    fn dataset(&mut self, set: &Dataset) -> Result<()> {
        self.batch = 0;
        Ok(self.input.dataset(set)?)
    }

    fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()> {
        // If anything below fails, no batch is loaded.
        self.batch = 0;
        self.input.load(batch, next)?;
        let (stream, units) = (self.on.stream(), self.units(self.network.layers()));
        for held in [&mut self.z, &mut self.a, &mut self.dz] {
            grow(stream, held, batch.len() * units)?;
        }
        self.batch = batch.len();
        Ok(())
    }

    fn forward(&mut self) -> Result<()> {
        Ok(self.train_step(false)?)
    }

    /// Repeats the forward pass, because no kernel runs the backward pass without it.
    fn backward(&mut self) -> Result<()> {
        Ok(self.train_step(true)?)
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        let (batch, count) = (self.batch, self.network.parameter_count());
        let Self { parameters, gradients, .. } = self;
        Ok(launch!(self.update_weights, line(count), flops[(batch + 1) * count],
            update parameters[count], read gradients[batch * count], learning_rate, batch, count)?)
    }

    fn step(&mut self, learning_rate: f32) -> Result<()> {
        self.backward()?;
        self.update(learning_rate)
    }

    fn loss(&mut self) -> Result<f32> {
        let z = self.z.slice(self.batch * self.units(self.network.layers() - 1)..);
        Ok(self.losses.mean((&z, self.input.y(), self.batch))?)
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        let layers = parameters.layers.iter();
        let flat: Vec<f32> =
            layers.flat_map(|layer| [layer.w.data(), layer.b.data()].concat()).collect();
        Ok(self.on.launcher.write(&flat, &mut self.parameters)?)
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        if name == TensorName::Loss {
            return Ok(Some(Tensor::scalar(self.loss()?)));
        }
        let shape = self.network.shape(name, self.batch).unwrap_or_default();
        let data = self.read(name, shape.iter().product())?;
        data.map(|data| Tensor::new(shape, data).map_err(Error::level)).transpose()
    }

    fn report(&mut self, _accuracy: Option<&str>) -> Result<Vec<String>> {
        Ok(self.profile.report()?)
    }
}
