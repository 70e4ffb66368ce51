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
    /// For each layer, `w b z a da dz dw db`.
    layers: Vec<[DeviceBuffer<f32>; 8]>,
    /// `x y p`, and the losses of all samples.
    rows: [DeviceBuffer<f32>; 4],
    table: DeviceBuffer<u64>,
    batch: usize,
    stream: Stream,
    module: Module,
    /// Last, since everything above lives in it.
    _context: Context,
}

fn zeros(elements: usize) -> CudaResult<DeviceBuffer<f32>> {
    DeviceBuffer::zeroed(elements)
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

    /// Allocates the buffers with a row for each sample, and writes the table of all addresses.
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

    fn launch_forward(&self) -> CudaResult<()> {
        let (kernel, stream) = (self.module.get_function("forward")?, &self.stream);
        let (layers, batch) = (self.layers.len() as u32, self.batch as u32);
        let loss = self.network.loss as u32;
        let [x, y, p, losses] = self.rows.each_ref().map(|rows| rows.as_device_ptr());
        // SAFETY: these are the kernel's parameters, and the table has the addresses of all layers.
        unsafe {
            launch!(kernel<<<batch.div_ceil(32), 32, 0, stream>>>(
                self.table.as_device_ptr(), layers, loss, x, y, p, losses, batch
            ))
        }
    }

    fn launch_backward(&mut self) -> CudaResult<()> {
        let (kernel, stream) = (self.module.get_function("backward")?, &self.stream);
        let (layers, batch) = (self.layers.len() as u32, self.batch as u32);
        let [x, y, p, _] = self.rows.each_ref().map(|rows| rows.as_device_ptr());
        // The threads add their gradients to the buffers' contents.
        for gradient in self.layers.iter_mut().flat_map(|layer| &mut layer[6..]) {
            gradient.set_8(0)?;
        }
        // SAFETY: as above.
        unsafe {
            launch!(kernel<<<batch.div_ceil(32), 32, 0, stream>>>(
                self.table.as_device_ptr(), layers, x, y, p, batch
            ))
        }
    }

    fn launch_update(&self, learning_rate: f32) -> CudaResult<()> {
        let (kernel, stream) = (self.module.get_function("update")?, &self.stream);
        for [w, b, .., dw, db] in &self.layers {
            for (w, dw) in [(w, dw), (b, db)] {
                let count = w.len() as u32;
                // SAFETY: these are the kernel's parameters, and both buffers have `count` elements.
                unsafe {
                    launch!(kernel<<<count.div_ceil(256), 256, 0, stream>>>(
                        w.as_device_ptr(), dw.as_device_ptr(), count, learning_rate
                    ))
                }?;
            }
        }
        Ok(())
    }

    fn read(&self, buffer: &DeviceBuffer<f32>) -> Result<Vec<f32>> {
        self.stream.synchronize().and_then(|()| buffer.as_host_vec()).map_err(Error::level)
    }
}

impl Level for OnCust {
    fn dataset(&mut self, _set: &Dataset) -> Result<()> {
        Ok(())
    }

    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
        self.stream.synchronize().map_err(Error::level)?;
        if std::mem::replace(&mut self.batch, batch.len()) != batch.len() {
            self.make_room(batch.len()).map_err(Error::level)?;
        }
        let [x, y, ..] = &mut self.rows;
        let (mut from_x, mut from_y) = (vec![0.0; x.len()], vec![0.0; y.len()]);
        batch.copy_x(&mut from_x);
        batch.copy_y(&mut from_y);
        x.copy_from(&from_x).and_then(|()| y.copy_from(&from_y)).map_err(Error::level)
    }

    fn forward(&mut self) -> Result<()> {
        self.launch_forward().map_err(Error::level)
    }

    fn backward(&mut self) -> Result<()> {
        self.launch_backward().map_err(Error::level)
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        self.launch_update(learning_rate).map_err(Error::level)
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
        // `load` writes the table of the new buffers with the next batch.
        self.batch = 0;
        let layers: CudaResult<_> = parameters.layers.iter().map(layer).collect();
        self.layers = layers.map_err(Error::level)?;
        Ok(())
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        use TensorName::{A, B, Da, Db, Dw, Dz, P, W, X, Y, Z};
        if !Rung::ThreadPerSample.materialises(name, self.network.layers()) {
            return Ok(None);
        }
        let buffer = match name {
            X => &self.rows[0],
            Y => &self.rows[1],
            P => &self.rows[2],
            W(l) => &self.layers[l - 1][0],
            B(l) => &self.layers[l - 1][1],
            Z(l) => &self.layers[l - 1][2],
            A(l) => &self.layers[l - 1][3],
            Da(l) => &self.layers[l - 1][4],
            Dz(l) => &self.layers[l - 1][5],
            Dw(l) => &self.layers[l - 1][6],
            Db(l) => &self.layers[l - 1][7],
            TensorName::Loss => return Ok(Some(Tensor::scalar(self.loss()?))),
            TensorName::WNext(_) | TensorName::BNext(_) => return Ok(None),
        };
        let shape = self.network.shape(name, self.batch).unwrap_or_default();
        Tensor::new(shape, self.read(buffer)?).map(Some).map_err(Error::level)
    }
}

struct Program;

/// There are none.
#[derive(clap::Args)]
struct Options {}

impl training::Program for Program {
    const NAME: &'static str = "cust";
    const ABOUT: &'static str = "Level 4's first rung, with cust";
    type Options = Options;

    fn device(_: &Options) -> Result<String> {
        cust::init(cust::CudaFlags::empty()).map_err(Error::level)?;
        Device::get_device(0).and_then(|device| device.name()).map_err(Error::level)
    }

    fn level(_: &Options, network: &Network) -> Result<Box<dyn Level>> {
        Ok(Box::new(OnCust::new(network).map_err(Error::level)?))
    }
}

fn main() -> ExitCode {
    training::main::<Program>()
}
