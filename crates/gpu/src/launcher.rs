//! Launches and copies in a stream, recorded by a profiler.
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaFunction, CudaStream, LaunchArgs, LaunchConfig};

use crate::{
    ActivityKind, Buffer, Function, Gpu, GpuError, Profiler, Result, Stretch, View, Work, size,
};

/// The stream in which kernels are launched, and the profiler that records launches and copies.
#[derive(Clone)]
pub struct Launcher {
    /// The stream.
    pub stream: Arc<CudaStream>,
    /// The profiler.
    pub profiler: Profiler,
    /// Kernels that replace the kernels of some operations.
    pub substitutes: Option<Rc<Substitutes>>,
}

/// Substitutes by the names of the operations that they replace.
pub type Substitutes = BTreeMap<&'static str, Box<dyn Substitute>>;

/// A kernel that replaces an operation's own kernel, and has other parameters.
pub trait Substitute {
    /// Launches the kernel. `arguments` are the arguments of the operation's own kernel, in its order: each is the
    /// address of a buffer, or a number whose bits are in the low bytes. The buffers hold the elements that the
    /// operation declares.
    ///
    /// cudarc's events, which order accesses of several streams to a buffer, are not recorded. So a level with
    /// substitutes must use one stream, or order its streams itself.
    ///
    /// # Errors
    /// The driver's error.
    fn launch(&self, on: &Launcher, arguments: &[u64], work: Work) -> Result<()>;
}

impl Launcher {
    /// A launcher for the GPU's default stream.
    #[must_use]
    pub fn new(gpu: &Gpu, profiler: &Profiler) -> Self {
        Self { stream: gpu.stream(), profiler: profiler.clone(), substitutes: None }
    }

    /// Gives a loaded kernel the types of its parameters, and a name under which the profiler records its launches.
    ///
    /// # Safety
    /// As for [`Function::new`].
    #[must_use]
    pub unsafe fn profiled_function<P>(
        &self,
        kernel: CudaFunction,
        name: &'static str,
    ) -> Function<P> {
        self.profiler.watch(name, &kernel);
        // SAFETY: as the caller promises.
        unsafe { Function::new(kernel, name) }
    }

    /// Launches a kernel, and records it. The host does not wait. If `cooperative`, all blocks are on the device at once, so
    /// that they can wait for each other.
    ///
    /// # Errors
    /// [`GpuError::NoBatch`] if the grid is empty; the driver's error.
    ///
    /// # Safety
    /// The arguments have the types of the kernel's parameters, and the kernel stays within their buffers.
    pub unsafe fn launch(
        &self,
        mut launch: LaunchArgs<'_>,
        shape: LaunchConfig,
        work: Work,
        cooperative: bool,
    ) -> Result<()> {
        if shape.grid_dim.0 == 0 || shape.grid_dim.1 == 0 {
            return Err(GpuError::NoBatch { operation: work.operation });
        }
        let recorder = self.profiler.0.as_deref();
        if let Some(recorder) = recorder {
            recorder.shape(work.operation, shape)?;
            launch.record_kernel_launch(CUevent_flags::CU_EVENT_DEFAULT);
        }
        let _range = self.profiler.range(work.operation);
        // SAFETY: as the caller promises.
        let events = unsafe {
            if cooperative { launch.launch_cooperative(shape) } else { launch.launch(shape) }
        }?;
        let Some((recorder, (start, end))) = recorder.zip(events) else { return Ok(()) };
        recorder.record(work, ActivityKind::Kernel, Stretch::between(start, end))
    }

    /// Copies numbers from the host to the beginning of a buffer.
    ///
    /// # Errors
    /// [`GpuError::Shape`] if the buffer is too small; the driver's error.
    pub fn write(&self, from: &[f32], to: &mut Buffer) -> Result<()> {
        let work = Work::new("to the device", &[("to", to.len(), size([from.len()]))], size([0]))?;
        self.profiler.copy(work.operation, &self.stream, work.bytes, || {
            Ok(self.stream.memcpy_htod(from, to)?)
        })
    }

    /// Copies the first elements of a buffer to the host. Waits for all launched work.
    ///
    /// # Errors
    /// [`GpuError::Shape`] if the buffer is too small; the driver's error, including that of an earlier launch.
    pub fn read(&self, from: &View<'_>, elements: usize) -> Result<Vec<f32>> {
        let work = Work::new("to the host", &[("from", from.len(), size([elements]))], size([0]))?;
        let mut read = Vec::new();
        self.profiler.copy(work.operation, &self.stream, work.bytes, || {
            read = self.stream.clone_dtoh(&from.slice(..elements))?;
            Ok(())
        })?;
        self.stream.synchronize()?;
        Ok(read)
    }
}
