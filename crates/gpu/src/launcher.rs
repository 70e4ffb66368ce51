//! How a level puts work into a stream, and gets numbers in and out.
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaStream, LaunchArgs, LaunchConfig};
use tensor::{Network, Tensor, TensorName};

use crate::{Buffer, Function, Gpu, GpuError, Profiler, Result, View, Work, size};

/// The stream that kernels are launched in, and what writes the launches and copies down.
#[derive(Clone)]
pub struct Launcher {
    /// The stream.
    pub stream: Arc<CudaStream>,
    /// What writes down.
    pub profiler: Profiler,
}

impl Launcher {
    /// Launches go into the GPU's default stream.
    #[must_use]
    pub fn new(gpu: &Gpu, profiler: &Profiler) -> Self {
        Self { stream: gpu.stream(), profiler: profiler.clone() }
    }

    /// Loads a kernel of the folder `kernels`, by its file and its name. The profiler records its
    /// launches.
    ///
    /// # Errors
    /// As [`Gpu::kernel_of`].
    ///
    /// # Safety
    /// As of [`Function::new`].
    pub unsafe fn kernel_of<P>(
        &self,
        gpu: &Gpu,
        file: &str,
        name: &'static str,
    ) -> Result<Function<P>> {
        // SAFETY: as the caller promises.
        Ok(unsafe { self.watched(gpu.kernel_of(file, name)?, name) })
    }

    /// A loaded kernel whose launches the profiler records under this name.
    ///
    /// # Safety
    /// As of [`Function::new`].
    #[must_use]
    pub unsafe fn watched<P>(&self, kernel: CudaFunction, name: &'static str) -> Function<P> {
        self.profiler.watch(name, &kernel);
        // SAFETY: as the caller promises.
        unsafe { Function::new(kernel, name) }
    }

    /// Launches a kernel, which needs something to compute on. The host does not wait.
    ///
    /// # Errors
    /// When the grid is empty, and what the driver says.
    ///
    /// # Safety
    /// The arguments are those that the kernel takes, and it stays within their buffers.
    pub unsafe fn launch(
        &self,
        launch: LaunchArgs<'_>,
        shape: LaunchConfig,
        work: Work,
    ) -> Result<()> {
        if shape.grid_dim.0 == 0 || shape.grid_dim.1 == 0 {
            return Err(GpuError::NoBatch { operation: work.operation });
        }
        // SAFETY: as the caller promises.
        unsafe { self.profiler.launch(launch, shape, work) }
    }

    /// The same, with all blocks on the device at once, so that they can wait for each other.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// As of [`launch`](Self::launch).
    pub unsafe fn launch_cooperative(
        &self,
        launch: LaunchArgs<'_>,
        shape: LaunchConfig,
        work: Work,
    ) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.profiler.launch_cooperative(launch, shape, work) }
    }

    /// Copies numbers of the host to the beginning of a buffer.
    ///
    /// # Errors
    /// When the buffer is too small, and what the driver says.
    pub fn write(&self, from: &[f32], to: &mut Buffer) -> Result<()> {
        let work = Work::new("to the device", &[("to", to.len(), size([from.len()]))], size([0]))?;
        self.profiler.copy(work.operation, &self.stream, work.bytes, || {
            Ok(self.stream.memcpy_htod(from, to)?)
        })
    }

    /// The first elements of a buffer, brought to the host, which waits for all that was launched.
    ///
    /// # Errors
    /// When the buffer is too small, and what the driver says: also of every launch before.
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

    /// Reads the named tensor of a batch of `batch` samples from a buffer that may have room for a larger
    /// one. Waits for everything that was launched.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn tensor(
        &self,
        from: &View<'_>,
        network: &Network,
        name: TensorName,
        batch: usize,
    ) -> training::Result<Option<Tensor>> {
        let shape = network.shape(name, batch).unwrap_or_default();
        let data = self.read(from, shape.iter().product())?;
        Tensor::new(shape, data).map(Some).map_err(training::Error::level)
    }
}
