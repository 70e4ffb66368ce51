//! The first rung on another host: the crate cust in place of cudarc, with the same PTX, the same table of
//! layers and the same launches.
//!
//! cust is linked against `libcuda.so` when the program is built, and the loader chooses the driver before
//! `main`. `scripts/test-cust.sh` builds and runs this on the emulated driver.
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use std::process::ExitCode;

use cust::context::Context;
use cust::device::Device;
use cust::error::CudaResult;
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use data::{Batch, Dataset};
use level4_ptx::{Record, Rung};
use tensor::{Network, Tensor, TensorName};
use training::{Error, Level, Parameters, Result};

struct OnCust {
    network: Network,
    /// The buffers of each layer: `w b z a da dz dw db`.
    layers: Vec<[DeviceBuffer<f32>; 8]>,
    /// The buffers `x y p`, and the losses of all samples.
    rows: [DeviceBuffer<f32>; 4],
    table: DeviceBuffer<u64>,
    batch: usize,
    stream: Stream,
    module: Module,
    /// The context, which is declared last so that it is dropped after the buffers and kernels that belong to it.
    _context: Context,
}

fn zeros(elements: usize) -> CudaResult<DeviceBuffer<f32>> {
    DeviceBuffer::zeroed(elements)
}

fn check<T>(result: CudaResult<T>) -> Result<T> {
    result.map_err(Error::level)
}

impl OnCust {
    fn new(network: &Network) -> CudaResult<Self> {
        let context = cust::quick_init()?;
        Ok(Self {
            network: network.clone(),
            layers: Vec::new(),
            rows: [zeros(1)?, zeros(1)?, zeros(1)?, zeros(1)?],
            table: DeviceBuffer::zeroed(1)?,
            batch: 0,
            stream: Stream::new(StreamFlags::DEFAULT, None)?,
            module: Module::from_ptx(Rung::ThreadPerSample.row().ptx, &[])?,
            _context: context,
        })
    }

    /// Allocates the buffers that have a row for each sample, and writes the table of all buffers' addresses.
    fn make_room(&mut self, batch: usize) -> CudaResult<()> {
        let (n0, classes) = (self.network.inputs(), self.network.outputs());
        self.rows =
            [zeros(batch * n0)?, zeros(batch * classes)?, zeros(batch * classes)?, zeros(batch)?];
        let mut words = Vec::new();
        for (sizes, layer) in self.network.sizes.windows(2).zip(&mut self.layers) {
            for rows in &mut layer[2..6] {
                *rows = zeros(batch * sizes[1])?;
            }
            let [w, b, z, a, da, dz, dw, db] =
                layer.each_ref().map(|buffer| buffer.as_device_ptr().as_raw());
            let (m, n) = (sizes[0] as u32, sizes[1] as u32);
            words.extend(Record { m, n, w, b, z, a, da, dz, dw, db, ..Record::default() }.words());
        }
        self.table = DeviceBuffer::from_slice(&words)?;
        Ok(())
    }

    fn read(&self, buffer: &DeviceBuffer<f32>) -> Result<Vec<f32>> {
        check(self.stream.synchronize().and_then(|()| buffer.as_host_vec()))
    }
}

impl Level for OnCust {
    fn dataset(&mut self, _set: &Dataset) -> Result<()> {
        Ok(())
    }

    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
        check(self.stream.synchronize())?;
        if std::mem::replace(&mut self.batch, batch.len()) != batch.len() {
            check(self.make_room(batch.len()))?;
        }
        let [x, y, ..] = &mut self.rows;
        let (mut from_x, mut from_y) = (vec![0.0; x.len()], vec![0.0; y.len()]);
        batch.copy_x(&mut from_x);
        batch.copy_y(&mut from_y);
        check(x.copy_from(&from_x).and_then(|()| y.copy_from(&from_y)))
    }

    fn forward(&mut self) -> Result<()> {
        let (kernel, stream) = (check(self.module.get_function("forward"))?, &self.stream);
        let (layers, loss) = (self.layers.len() as u32, self.network.loss as u32);
        let (batch, table) = (self.batch as u32, self.table.as_device_ptr());
        let [x, y, p, losses] = self.rows.each_ref().map(|rows| rows.as_device_ptr());
        // SAFETY: the arguments match the kernel's parameters, and the table has the addresses of all layers.
        check(unsafe {
            launch!(kernel<<<batch.div_ceil(32), 32, 0, stream>>>(table, layers, loss, x, y, p, losses, batch))
        })
    }

    fn backward(&mut self) -> Result<()> {
        let (kernel, stream) = (check(self.module.get_function("backward"))?, &self.stream);
        let (layers, batch, table) =
            (self.layers.len() as u32, self.batch as u32, self.table.as_device_ptr());
        let [x, y, p, _] = self.rows.each_ref().map(|rows| rows.as_device_ptr());
        // Clears the gradients, because the threads add to the buffers' contents.
        for gradient in self.layers.iter_mut().flat_map(|layer| &mut layer[6..]) {
            check(gradient.set_8(0))?;
        }
        // SAFETY: as above.
        check(unsafe {
            launch!(kernel<<<batch.div_ceil(32), 32, 0, stream>>>(table, layers, x, y, p, batch))
        })
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        let (kernel, stream) = (check(self.module.get_function("update"))?, &self.stream);
        for [w, b, .., dw, db] in &self.layers {
            for (w, dw) in [(w, dw), (b, db)] {
                let (count, w, dw) = (w.len() as u32, w.as_device_ptr(), dw.as_device_ptr());
                // SAFETY: the arguments match the kernel's parameters, and both buffers have `count` elements.
                check(unsafe {
                    launch!(kernel<<<count.div_ceil(256), 256, 0, stream>>>(w, dw, count, learning_rate))
                })?;
            }
        }
        Ok(())
    }

    fn loss(&mut self) -> Result<f32> {
        Ok(self.read(&self.rows[3])?.iter().sum::<f32>() / self.batch as f32)
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        let layer = |given: &training::Layer| {
            let (w, b) = (given.w.data(), given.b.data());
            let (dw, db) = (zeros(w.len())?, zeros(b.len())?);
            let (w, b) = (DeviceBuffer::from_slice(w)?, DeviceBuffer::from_slice(b)?);
            Ok([w, b, zeros(1)?, zeros(1)?, zeros(1)?, zeros(1)?, dw, db])
        };
        // Makes the next `load` reallocate the buffers that depend on the batch, and write the table.
        self.batch = 0;
        self.layers = check(parameters.layers.iter().map(layer).collect())?;
        Ok(())
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        use TensorName::{A, B, BNext, Da, Db, Dw, Dz, Loss, P, W, WNext, X, Y, Z};
        if !Rung::ThreadPerSample.materialises(name, self.network.layers()) {
            return Ok(None);
        }
        let (layer, buffer) = match name {
            X => (0, 0),
            Y => (0, 1),
            P => (0, 2),
            W(l) => (l, 0),
            B(l) => (l, 1),
            Z(l) => (l, 2),
            A(l) => (l, 3),
            Da(l) => (l, 4),
            Dz(l) => (l, 5),
            Dw(l) => (l, 6),
            Db(l) => (l, 7),
            Loss => return Ok(Some(Tensor::scalar(self.loss()?))),
            WNext(_) | BNext(_) => return Ok(None),
        };
        let buffers = if layer == 0 { &self.rows[..] } else { &self.layers[layer - 1] };
        let shape = self.network.shape(name, self.batch).unwrap_or_default();
        Tensor::new(shape, self.read(&buffers[buffer])?).map(Some).map_err(Error::level)
    }
}

struct Program;

/// This program has no options.
#[derive(clap::Args)]
struct Options {}

impl training::Program for Program {
    const NAME: &'static str = "cust";
    const ABOUT: &'static str = "Level 4's first rung, with cust";
    type Options = Options;

    fn device(_: &Options) -> Result<String> {
        check(cust::init(cust::CudaFlags::empty()))?;
        check(Device::get_device(0).and_then(|device| device.name()))
    }

    fn level(_: &Options, network: &Network) -> Result<Box<dyn Level>> {
        Ok(Box::new(check(OnCust::new(network))?))
    }
}

fn main() -> ExitCode {
    training::main::<Program>()
}
