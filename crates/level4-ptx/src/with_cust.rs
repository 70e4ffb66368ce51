//! The same level on another host: cust instead of cudarc. The PTX, the plan and the table are the
//! same, and so are the launches; only who speaks to the driver is another.
//!
//! cust is linked against `libcuda.so` when the program is built, and the loader chooses the driver
//! before `main`: so this host can't choose a device, only say which one it got.
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

mod launches;

use cust::context::Context;
use cust::device::{Device, DeviceAttribute};
use cust::error::{CudaError, CudaResult};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::{CudaApiVersion, CudaFlags};
use data::{Batch, Dataset};
use gpu::{Choice, GpuError};
use tensor::{Network, Tensor, TensorName};
use training::{Error, Level, Parameters, Result};

use crate::state::make_room;
use crate::table::table;
use crate::{Plan, Record, Rung, no_room};

/// What the driver says to a launch.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the CUDA driver says: {0}")]
    Cuda(#[from] CudaError),
    /// cust has no name for what the driver's own function says.
    #[error("the CUDA driver refuses the cooperative launch: {0:?}; --kernels tiled needs none")]
    Cooperative(cust::sys::CUresult),
}

/// How the emulated GPU's name begins.
const EMULATED: &str = "Emulated GPU";

/// The network on the GPU, through cust.
pub struct WithCust {
    network: Network,
    rung: Rung,
    layers: Vec<Layer>,
    /// Of each layer the sums over the chunks of a batch.
    partials: Vec<DeviceBuffer<f32>>,
    batch: usize,
    capacity: usize,
    plan: Option<Plan>,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    p: DeviceBuffer<f32>,
    losses: DeviceBuffer<f32>,
    table: DeviceBuffer<u64>,
    barrier: DeviceBuffer<u32>,
    /// Rows gathered from all over the dataset, and one-hot targets.
    host: (Vec<f32>, Vec<f32>),
    /// Multiprocessors, and bytes of shared memory that a block can have.
    room: (usize, usize),
    stream: Stream,
    module: Module,
    /// Where the kernels lie that a rung takes from another.
    rest: Option<Module>,
    /// Last, since everything above lives in it.
    _context: Context,
}

/// One layer, as at every level.
type Layer = gpu::Layer<DeviceBuffer<f32>>;

/// The device that the loader's driver has, as dumps and reports name it.
///
/// # Errors
/// When it is not the one that was asked for, and what the driver says.
pub fn device(choice: Choice) -> Result<String> {
    let device = first().map_err(Error::level)?;
    let name = device.name().map_err(Error::level)?;
    let emulated = name.starts_with(EMULATED);
    match choice {
        Choice::Cuda if emulated => Err(Error::Usage(
            "cust computes on the driver that the loader found, which is the emulated one: take \
             its folder out of LD_LIBRARY_PATH, or choose --host cudarc"
                .into(),
        )),
        Choice::Emulated if !emulated => Err(Error::Usage(format!(
            "cust computes on the driver that the loader found, which is that of {name}: run it by \
             crates/emulated-gpu/emulate, or choose --host cudarc"
        ))),
        _ if emulated => Ok(name.replacen(EMULATED, "emulated", 1)),
        _ => {
            let version = CudaApiVersion::get().map_err(Error::level)?;
            let attribute = |which| device.get_attribute(which).map_err(Error::level);
            let major = attribute(DeviceAttribute::ComputeCapabilityMajor)?;
            let minor = attribute(DeviceAttribute::ComputeCapabilityMinor)?;
            let (driver, sub) = (version.major(), version.minor());
            Ok(format!(
                "{name} (compute capability {major}.{minor}, driver of CUDA {driver}.{sub})"
            ))
        }
    }
}

fn first() -> CudaResult<Device> {
    cust::init(CudaFlags::empty())?;
    Device::get_device(0)
}

impl WithCust {
    /// A network with all parameters 0.
    ///
    /// # Errors
    /// For `whole-epoch`, when the PTX can't be loaded, and what the driver says.
    pub fn new(network: &Network, rung: Rung) -> Result<Self> {
        if rung == Rung::WholeEpoch {
            return Err(Error::Usage(
                "--host cust has no launch of many batches: choose --kernels one-launch, or --host \
                 cudarc"
                    .into(),
            ));
        }
        Self::start(network, rung).map_err(Error::level)
    }

    fn start(network: &Network, rung: Rung) -> CudaResult<Self> {
        let device = first()?;
        let context = Context::new(device)?;
        let module = Module::from_ptx(rung.ptx(), &[])?;
        let rest = rung.rest().map(|rest| Module::from_ptx(rest.ptx(), &[])).transpose()?;
        let cores = device.get_attribute(DeviceAttribute::MultiprocessorCount)? as usize;
        // cust can't ask the driver for more than every kernel has.
        let shared = device.get_attribute(DeviceAttribute::MaxSharedMemoryPerBlock)? as usize;
        let last = network.layers();
        let layer = |l: usize| {
            let gradients = rung.holds(TensorName::Dw(l), last);
            let sizes = (network.sizes[l - 1], network.sizes[l]);
            Layer::allocate::<CudaError>(sizes, gradients, DeviceBuffer::zeroed, buffer)
        };
        Ok(Self {
            network: network.clone(),
            rung,
            layers: (1..=last).map(layer).collect::<CudaResult<_>>()?,
            partials: (1..=last).map(|_| buffer(1)).collect::<CudaResult<_>>()?,
            batch: 0,
            capacity: 0,
            plan: None,
            x: buffer(1)?,
            y: buffer(1)?,
            p: buffer(1)?,
            losses: buffer(1)?,
            table: DeviceBuffer::zeroed(last * Record::WORDS)?,
            barrier: DeviceBuffer::zeroed(1)?,
            host: (Vec::new(), Vec::new()),
            room: (cores, shared),
            stream: Stream::new(StreamFlags::DEFAULT, None)?,
            module,
            rest,
            _context: context,
        })
    }

    /// How a batch of that size is cut; only the third rung asks.
    fn cut(&self, batch: usize) -> Result<Option<Plan>> {
        if self.rung != Rung::OneLaunch {
            return Ok(None);
        }
        let step = self.module.get_function("step").map_err(Error::level)?;
        let (cores, shared) = self.room;
        let resident = |bytes| {
            let block = (Plan::THREADS as u32).into();
            let each = step.max_active_blocks_per_multiprocessor(block, bytes);
            each.map_or(0, |blocks| blocks as usize * cores)
        };
        let plan = Plan::new(&self.network, batch, shared, resident);
        plan.map(Some).ok_or_else(|| no_room(&self.network, batch))
    }

    fn make_room(&mut self, batch: usize) -> CudaResult<()> {
        make_room(&mut self.layers, self.rung, batch, buffer)?;
        self.x = buffer(batch * self.network.inputs())?;
        self.y = buffer(batch * self.network.outputs())?;
        self.p = buffer(batch * self.network.outputs())?;
        self.losses = buffer(batch)?;
        self.capacity = batch;
        Ok(())
    }

    /// Tells the device where everything is.
    fn write_table(&mut self) -> CudaResult<()> {
        for (layer, partial) in self.layers.iter().zip(&mut self.partials) {
            let elements = self.plan.as_ref().map_or(0, |plan| plan.partial_sums(layer));
            if partial.len() < elements {
                *partial = buffer(elements)?;
            }
        }
        let at = |buffer: &DeviceBuffer<f32>| buffer.as_device_ptr().as_raw();
        let words = table(&self.layers, &self.partials, self.plan.as_ref(), at);
        self.table.copy_from(&words)
    }

    fn take_in(&mut self, batch: &Batch<'_>, plan: Option<Plan>) -> CudaResult<()> {
        // Nothing that is still running may lose its buffers.
        self.stream.synchronize()?;
        // From here on buffers may move: until all is there, no batch is.
        let before = std::mem::take(&mut self.batch);
        if batch.len() > self.capacity {
            self.make_room(batch.len())?;
        }
        if before != batch.len() {
            self.plan = plan;
            self.write_table()?;
        }
        let (x, y) = (batch.len() * self.network.inputs(), batch.len() * self.network.outputs());
        self.host.0.resize(x, 0.0);
        self.host.1.resize(y, 0.0);
        batch.copy_x(&mut self.host.0);
        batch.copy_y(&mut self.host.1);
        self.x.index(..x).copy_from(&self.host.0)?;
        self.y.index(..y).copy_from(&self.host.1)?;
        self.batch = batch.len();
        Ok(())
    }

    /// Fails where there is nothing to compute on.
    fn is_loaded(&self, operation: &'static str) -> Result<()> {
        if self.batch == 0 {
            return Err(Error::level(GpuError::NoBatch { operation }));
        }
        Ok(())
    }

    fn read(&self, buffer: &DeviceBuffer<f32>, elements: usize) -> Result<Vec<f32>> {
        self.stream.synchronize().map_err(Error::level)?;
        buffer.index(..elements).as_host_vec().map_err(Error::level)
    }
}

impl Level for WithCust {
    fn dataset(&mut self, _set: &Dataset) -> Result<()> {
        // Each batch is copied; as on the other host, none is loaded afterwards.
        self.batch = 0;
        Ok(())
    }

    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
        let (set, network) = (batch.dataset(), &self.network);
        let rows =
            [("x", set.features(), network.inputs()), ("y", set.classes(), network.outputs())];
        for (buffer, elements, expected) in rows {
            if elements != expected {
                let operation = "load a row";
                let other = GpuError::Shape { operation, buffer, elements, expected };
                return Err(Error::level(other));
            }
        }
        let plan = if self.batch == batch.len() { None } else { self.cut(batch.len())? };
        self.take_in(batch, plan).map_err(Error::level)
    }

    fn forward(&mut self) -> Result<()> {
        self.is_loaded("forward")?;
        launches::forward(self).map_err(Error::level)
    }

    fn backward(&mut self) -> Result<()> {
        self.is_loaded("backward")?;
        launches::backward(self).map_err(Error::level)
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        launches::update(self, learning_rate).map_err(Error::level)
    }

    fn step(&mut self, learning_rate: f32) -> Result<()> {
        self.is_loaded("step")?;
        launches::step(self, learning_rate).map_err(Error::level)
    }

    fn loss(&mut self) -> Result<f32> {
        self.is_loaded("loss")?;
        let losses = self.read(&self.losses, self.batch)?;
        Ok(losses.iter().sum::<f32>() / self.batch as f32)
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        for (layer, given) in self.layers.iter_mut().zip(&parameters.layers) {
            layer.w.copy_from(given.w.data()).map_err(Error::level)?;
            layer.b.copy_from(given.b.data()).map_err(Error::level)?;
        }
        Ok(())
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        if !self.rung.materialises(name, self.layers.len()) {
            return Ok(None);
        }
        let buffer = match name {
            TensorName::X => &self.x,
            TensorName::Y => &self.y,
            TensorName::P => &self.p,
            TensorName::Loss => return Ok(Some(Tensor::scalar(self.loss()?))),
            _ => match Layer::find(&self.layers, name) {
                Some(buffer) => buffer,
                None => return Ok(None),
            },
        };
        let shape = self.network.shape(name, self.batch).unwrap_or_default();
        let data = self.read(buffer, shape.iter().product())?;
        Tensor::new(shape, data).map(Some).map_err(Error::level)
    }
}

/// This many elements of the device's memory, which hold nothing yet.
fn buffer(elements: usize) -> CudaResult<DeviceBuffer<f32>> {
    // SAFETY: every pattern of bits is an f32.
    unsafe { DeviceBuffer::uninitialized(elements) }
}
