//! The operations on an NVIDIA GPU, real or emulated, by the kernels of `kernels` and
//! `kernels/autograd`, launched through cudarc. They compute in `f32`.
//!
//! Here is the device: its kernels, its memory, a launch. `operations` uses them.
#![allow(unsafe_code, reason = "nothing checks that a kernel has these parameters")]

mod operations;

use std::collections::HashMap;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DriverError};
use cudarc::nvrtc::Ptx;
use gpu::{Choice, Function, Gpu, GpuError, Launcher, Profiler};

use crate::{ErrorKind, Result};

pub(crate) use operations::{
    View, add_rows, add_scaled, assemble, copy, map, matmul, max, rows, sum, to_vec, zip,
};

/// A GPU with its kernels loaded.
#[derive(Debug)]
pub struct Cuda {
    gpu: Gpu,
    stream: Arc<CudaStream>,
    kernels: HashMap<&'static str, CudaFunction>,
}

/// A kernel with the types of its parameters, and its launcher.
struct Kernel<P> {
    launcher: Launcher,
    function: Function<P>,
}

/// The levels' kernels that do what an operation here needs.
const SHARED: [&str; 9] = [
    "matmul_a_b",
    "matmul_a_bt",
    "matmul_at_b",
    "relu",
    "sigmoid",
    "relu_backward",
    "sum_batch",
    "gather_rows",
    "update",
];

/// A file of kernels of this crate alone, and the functions in it.
type File = (&'static str, &'static [&'static str]);

const OWN: [File; 4] = [
    (
        include_str!("../../../kernels/autograd/map.ptx"),
        &["neg", "exp_", "log_", "tanh_", "softplus", "pow_", "scale", "shift"],
    ),
    (
        include_str!("../../../kernels/autograd/zip.ptx"),
        &["add", "sub", "mul", "div_", "equal", "tanh_backward", "sigmoid_backward"],
    ),
    (include_str!("../../../kernels/autograd/rows.ptx"), &["sum_rows", "max_rows", "add_rows"]),
    (include_str!("../../../kernels/autograd/move.ptx"), &["copy_strided", "place"]),
];

/// Elements in the memory of a GPU. A clone shares them.
#[derive(Clone, Debug)]
pub(crate) struct Elements {
    pub(crate) cuda: Arc<Cuda>,
    buffer: Arc<CudaSlice<f32>>,
}

impl Cuda {
    /// Opens the GPU and loads the kernels.
    pub(crate) fn open(choice: Choice) -> Result<Self> {
        let gpu = Gpu::open(choice).map_err(|error| failed("open", &choice, &error))?;
        let mut kernels = HashMap::new();
        for name in SHARED {
            let kernel = gpu.kernel(name).map_err(|error| failed(name, &gpu.device(), &error))?;
            kernels.insert(name, kernel);
        }
        for (ptx, names) in OWN {
            let mut load = || {
                let module = gpu.context().load_module(Ptx::from_src(ptx))?;
                for &name in names {
                    kernels.insert(name, module.load_function(name)?);
                }
                Ok::<_, DriverError>(())
            };
            load().map_err(|error| failed("load", &gpu.device(), &GpuError::from(error)))?;
        }
        Ok(Self { stream: gpu.stream(), gpu, kernels })
    }

    /// The device, as dumps and reports name it.
    pub(crate) fn name(&self) -> &str {
        self.gpu.device()
    }

    /// The answer of the driver, with what was to be done.
    fn said<T>(&self, operation: &'static str, answer: Result<T, DriverError>) -> Result<T> {
        answer.map_err(|error| failed(operation, &self.name(), &GpuError::from(error)))
    }

    /// Room for this many elements, not written yet. Nothing would be no memory at all to the driver.
    fn room(&self, elements: usize) -> Result<CudaSlice<f32>> {
        // SAFETY: whoever asks for room writes all of it before it is read.
        self.said("allocate", unsafe { self.stream.alloc(elements.max(1)) })
    }

    /// Zeros.
    fn zeros(&self, elements: usize) -> Result<CudaSlice<f32>> {
        self.said("allocate", self.stream.alloc_zeros(elements.max(1)))
    }

    /// Brings elements to the GPU.
    pub(crate) fn upload(self: &Arc<Self>, elements: &[f32]) -> Result<Elements> {
        let mut buffer = self.zeros(elements.len())?;
        if !elements.is_empty() {
            self.said("copy to the device", self.stream.memcpy_htod(elements, &mut buffer))?;
        }
        Ok(self.holding(buffer))
    }

    fn holding(self: &Arc<Self>, buffer: CudaSlice<f32>) -> Elements {
        Elements { cuda: Arc::clone(self), buffer: Arc::new(buffer) }
    }

    /// A kernel by its name, with its parameters `P`.
    fn kernel<P>(&self, name: &'static str) -> Result<Kernel<P>> {
        let loaded = self.kernels.get(name).cloned().ok_or_else(|| ErrorKind::Device {
            operation: name,
            device: self.name().to_owned(),
            reason: "there is no such kernel".into(),
        })?;
        // SAFETY: `operations` names the parameters of each kernel that it launches, and each of its
        // launches declares all elements that the kernel accesses.
        let function = unsafe { Function::new(loaded, name) };
        let launcher = Launcher::new(&self.gpu, &Profiler::off());
        Ok(Kernel { launcher, function })
    }

    /// The result of a launch; no launch is needed if there are no elements.
    fn launched(&self, kernel: &'static str, result: gpu::Result<()>) -> Result<()> {
        match result {
            Err(GpuError::NoBatch { .. }) => Ok(()),
            other => other.map_err(|error| failed(kernel, &self.name(), &error)),
        }
    }
}

fn failed(
    operation: &'static str,
    device: &dyn std::fmt::Display,
    error: &dyn std::error::Error,
) -> crate::Error {
    let (device, reason) = (device.to_string(), error.to_string());
    ErrorKind::Device { operation, device, reason }.into()
}
