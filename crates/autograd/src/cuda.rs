//! The CUDA device: an NVIDIA GPU, real or emulated, with the kernels of `kernels` and `kernels/autograd`.
//! They are launched through cudarc and compute in `f32`.
//!
//! This file has the device's kernels, memory and launches; the module `operations` uses them.
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

/// The kernels that this crate shares with the levels.
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

/// The PTX of a file of kernels that only this crate uses, and the names of the functions in it.
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

/// A buffer in the memory of a GPU. A clone shares it.
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

    /// The device's name in dumps and reports.
    pub(crate) fn name(&self) -> &str {
        self.gpu.device()
    }

    /// Adds the operation and the device to an error of the driver.
    fn check<T>(&self, operation: &'static str, result: Result<T, DriverError>) -> Result<T> {
        result.map_err(|error| failed(operation, &self.name(), &GpuError::from(error)))
    }

    /// Allocates uninitialised memory: at least one element, because the driver rejects a size of 0.
    fn allocate(&self, elements: usize) -> Result<CudaSlice<f32>> {
        // SAFETY: every caller writes all elements before they are read.
        self.check("allocate", unsafe { self.stream.alloc(elements.max(1)) })
    }

    /// Allocates zeros: at least one element.
    fn zeros(&self, elements: usize) -> Result<CudaSlice<f32>> {
        self.check("allocate", self.stream.alloc_zeros(elements.max(1)))
    }

    /// Copies elements to the GPU.
    pub(crate) fn upload(self: &Arc<Self>, elements: &[f32]) -> Result<Elements> {
        let mut buffer = self.zeros(elements.len())?;
        if !elements.is_empty() {
            self.check("copy to the device", self.stream.memcpy_htod(elements, &mut buffer))?;
        }
        Ok(self.holding(buffer))
    }

    fn holding(self: &Arc<Self>, buffer: CudaSlice<f32>) -> Elements {
        Elements { cuda: Arc::clone(self), buffer: Arc::new(buffer) }
    }

    /// Finds a kernel by its name, and gives it the types of its parameters, `P`.
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

    /// The result of a launch. The error for an empty grid is ignored: without elements there is no work.
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
