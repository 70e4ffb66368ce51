//! The kernels, loaded: what the operations need besides their buffers, and the copy of a buffer,
//! which takes no kernel.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaStream};
use gpu::{Buffer, Gpu, Launcher, Profiler, Result, Work, size};

use crate::Products;

/// The kernels, loaded, and the stream that they are launched in.
#[derive(Clone)]
pub struct Operations {
    /// Launches them, and copies numbers of the host.
    pub launcher: Launcher,
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
        let launcher = Launcher::new(gpu, profiler);
        let load = |name: &'static str| {
            let file = if name.starts_with("matmul") { products.file(name) } else { name };
            launcher.kernel_of(gpu, file, name)
        };
        Ok(Self {
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
            launcher,
        })
    }

    /// The same kernels, launched in another stream.
    #[must_use]
    pub fn in_stream(mut self, stream: Arc<CudaStream>) -> Self {
        self.launcher.stream = stream;
        self
    }

    /// The stream that the kernels are launched in.
    #[must_use]
    pub const fn stream(&self) -> &Arc<CudaStream> {
        &self.launcher.stream
    }

    /// `to = from`, element by element: no kernel but a copy within the device's memory.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn copy(&self, from: &Buffer, to: &mut Buffer, elements: usize) -> Result<()> {
        let buffers = [("from", from.len(), size([elements])), ("to", to.len(), size([elements]))];
        let work = Work::new("within the device", &buffers, size([0]))?;
        let Launcher { stream, profiler } = &self.launcher;
        profiler.copy(work.operation, stream, work.bytes, || {
            Ok(stream.memcpy_dtod(&from.slice(..elements), &mut to.slice_mut(..elements))?)
        })
    }
}
