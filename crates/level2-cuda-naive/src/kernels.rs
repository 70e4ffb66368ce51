//! The kernels, loaded: what the operations need besides their buffers, and the copies of a
//! buffer, which take no kernel.
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, LaunchArgs, LaunchConfig, PushKernelArg,
};
use gpu::{Gpu, GpuError, Profiler, Result, Work};

use crate::launch::matrix;
use crate::{Buffer, Products, View};

/// The kernels, loaded, and the stream that they are launched in.
#[derive(Clone)]
pub struct Operations {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) profiler: Profiler,
    pub(crate) products: Products,
    pub(crate) matmul_a_bt: CudaFunction,
    pub(crate) matmul_at_b: CudaFunction,
    pub(crate) matmul_a_b: CudaFunction,
    pub(crate) add_bias: CudaFunction,
    pub(crate) relu: CudaFunction,
    pub(crate) relu_backward: CudaFunction,
    pub(crate) softmax: CudaFunction,
    pub(crate) sigmoid: CudaFunction,
    pub(crate) cross_entropy: CudaFunction,
    pub(crate) bce: CudaFunction,
    pub(crate) squared_error: CudaFunction,
    pub(crate) output_gradient: CudaFunction,
    pub(crate) output_gradient_of_share: CudaFunction,
    pub(crate) sum_batch: CudaFunction,
    pub(crate) update: CudaFunction,
    pub(crate) gather_rows: CudaFunction,
}

impl Operations {
    /// Loads the kernels. What they do is written down by `profiler`.
    ///
    /// # Errors
    /// When one can't be loaded.
    pub fn new(gpu: &Gpu, profiler: &Profiler) -> Result<Self> {
        Self::with_products(gpu, profiler, Products::Naive)
    }

    /// The same with other kernels for the three products.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_products(gpu: &Gpu, profiler: &Profiler, products: Products) -> Result<Self> {
        let load = |name: &'static str| {
            let file = if name.starts_with("matmul") { products.file(name) } else { name };
            let function = gpu.kernel_of(file, name)?;
            profiler.watch(name, &function);
            Ok::<_, gpu::GpuError>(function)
        };
        Ok(Self {
            stream: gpu.stream(),
            profiler: profiler.clone(),
            products,
            matmul_a_bt: load("matmul_a_bt")?,
            matmul_at_b: load("matmul_at_b")?,
            matmul_a_b: load("matmul_a_b")?,
            add_bias: load("add_bias")?,
            relu: load("relu")?,
            relu_backward: load("relu_backward")?,
            softmax: load("softmax")?,
            sigmoid: load("sigmoid")?,
            cross_entropy: load("cross_entropy")?,
            bce: load("bce")?,
            squared_error: load("squared_error")?,
            output_gradient: load("output_gradient")?,
            output_gradient_of_share: load("output_gradient_of_share")?,
            sum_batch: load("sum_batch")?,
            update: load("update")?,
            gather_rows: load("gather_rows")?,
        })
    }

    /// The same kernels, launched in another stream.
    #[must_use]
    pub fn in_stream(self, stream: Arc<CudaStream>) -> Self {
        Self { stream, ..self }
    }

    /// The stream that the kernels are launched in.
    #[must_use]
    pub const fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// What writes down the launches and copies.
    #[must_use]
    pub const fn profiler(&self) -> &Profiler {
        &self.profiler
    }

    /// `gathered[i, j] = table[rows[i], j]`, where `table` is `[N, n]`, `rows` is `[m]`, each below
    /// `N`, and `gathered` is `[m, n]`.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub(crate) fn gather_rows(
        &self,
        table: &Buffer,
        rows: &CudaSlice<u64>,
        gathered: &mut Buffer,
        m: usize,
        n: usize,
    ) -> Result<()> {
        let buffers = [
            ("table", table.len(), n),
            ("rows", rows.len(), m),
            ("gathered", gathered.len(), m * n),
        ];
        let work = Work::new("gather_rows", &buffers, 0)?;
        let mut launch = self.stream.launch_builder(&self.gather_rows);
        launch.arg(table).arg(rows).arg(gathered).arg(&m).arg(&n);
        // SAFETY: these are the kernel's parameters; a batch lists rows of its own set, which the
        // table holds, and the rest stays within the shapes just checked.
        unsafe { self.launch(launch, matrix(m, n), work) }
    }

    /// `to = from`, element by element: no kernel but a copy within the device's memory.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn copy(&self, from: &Buffer, to: &mut Buffer, elements: usize) -> Result<()> {
        let buffers = [("from", from.len(), elements), ("to", to.len(), elements)];
        let work = Work::new("within the device", &buffers, 0)?;
        self.profiler.copy(work.operation, &self.stream, work.bytes, || {
            Ok(self.stream.memcpy_dtod(&from.slice(..elements), &mut to.slice_mut(..elements))?)
        })
    }

    /// Copies numbers of the host to the beginning of a buffer.
    ///
    /// # Errors
    /// When the buffer is too small, and what the driver says.
    pub fn write(&self, from: &[f32], to: &mut Buffer) -> Result<()> {
        let work = Work::new("to the device", &[("to", to.len(), from.len())], 0)?;
        self.profiler.copy(work.operation, &self.stream, work.bytes, || {
            Ok(self.stream.memcpy_htod(from, to)?)
        })
    }

    /// The first elements of a buffer, brought to the host, which waits for all that was launched.
    ///
    /// # Errors
    /// When the buffer is too small, and what the driver says: also of every launch before.
    pub fn read(&self, from: &View<'_>, elements: usize) -> Result<Vec<f32>> {
        let work = Work::new("to the host", &[("from", from.len(), elements)], 0)?;
        let mut read = Vec::new();
        self.profiler.copy(work.operation, &self.stream, work.bytes, || {
            read = self.stream.clone_dtoh(&from.slice(..elements))?;
            Ok(())
        })?;
        self.stream.synchronize()?;
        Ok(read)
    }

    /// Launches a kernel, which needs something to compute on.
    ///
    /// # Safety
    /// The arguments are those that the kernel takes, and it stays within their buffers.
    pub(crate) unsafe fn launch(
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
}
