//! The operations, each of them a launch of the kernel of the same name.
//!
//! A buffer is a range of the device's memory, and its shape is passed as numbers, as in level 1: matrix
//! `a` of shape `[m, k]` has its element `[i, j]` at `a[i * k + j]`. A launch only puts the kernel into the
//! stream. The host continues, and waits when it reads a result.
//!
//! An operation fails if a buffer is smaller than its shape, if the shape is empty, or if the driver
//! reports an error.
#![allow(unsafe_code, reason = "nothing checks that a kernel has these parameters")]

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpu::launch::{line, matrix};
use gpu::{Buffer, Gpu, Launcher, Result, Work, kernels, size};

use crate::Products;

kernels! {
    /// The loaded kernels, and the stream that they are launched in.
    pub struct Operations(on) {
        products: Products,
    }

    // ANCHOR: matmul_a_bt
    /// `c = a · bᵀ`, where `a` is `[m, k]`, `b` is `[n, k]` and `c` is `[m, n]`.
    matmul_a_bt = "matmul_a_bt"(read a[m * k], read b[n * k], write c[m * n], m: usize, n: usize, k: usize)
        in on.products.grid_along_rows(m, n), flops[2 * m * n * k];
    // ANCHOR_END: matmul_a_bt

    /// `c = aᵀ · b`, where `a` is `[k, m]`, `b` is `[k, n]` and `c` is `[m, n]`.
    matmul_at_b = "matmul_at_b"(read a[k * m], read b[k * n], write c[m * n], m: usize, n: usize, k: usize)
        in on.products.grid_across_rows(m, n), flops[2 * m * n * k];

    /// `c = a · b`, where `a` is `[m, k]`, `b` is `[k, n]` and `c` is `[m, n]`.
    matmul_a_b = "matmul_a_b"(read a[m * k], read b[k * n], write c[m * n], m: usize, n: usize, k: usize)
        in on.products.grid_across_rows(m, n), flops[2 * m * n * k];

    /// `z[i, j] += b[j]`, where `z` is `[batch, n]` and `b` is `[n]`.
    add_bias = "add_bias"(update z[batch * n], read b[n], batch: usize, n: usize)
        in matrix(batch, n), flops[batch * n];

    /// `a = max(z, 0)`, element by element. NaN stays NaN.
    relu = "relu"(read z[elements], write a[elements], elements: usize)
        in line(elements), flops[elements];

    /// `dz = da` where `z > 0`, and 0 elsewhere.
    relu_backward = "relu_backward"(read da[elements], read z[elements], write dz[elements], elements: usize)
        in line(elements), flops[elements];

    /// `p[i, j] = exp(z[i, j]) / Σ_c exp(z[i, c])`, where `z` and `p` are `[batch, classes]`.
    softmax = "softmax"(read z[batch * classes], write p[batch * classes], batch: usize, classes: usize)
        in matrix(batch, classes), flops[3 * batch * classes * classes];

    /// `p = 1 / (1 + exp(−z))`, element by element.
    sigmoid = "sigmoid"(read z[elements], write p[elements], elements: usize)
        in line(elements), flops[3 * elements];

    /// `losses[i] = −Σ_c y·ln softmax(z)`, from the logits `z`, `[batch, classes]`.
    cross_entropy = "cross_entropy"(read z[batch * classes], read y[batch * classes], write losses[batch],
        batch: usize, classes: usize) in line(batch), flops[6 * batch * classes];

    /// `losses[i] = −Σ_c (y·ln p + (1−y)·ln(1−p))` with `p = sigmoid(z)`, from the logits `z`,
    /// `[batch, classes]`.
    bce = "bce"(read z[batch * classes], read y[batch * classes], write losses[batch],
        batch: usize, classes: usize) in line(batch), flops[7 * batch * classes];

    /// `losses[i] = ½·Σ_c (z − y)²`, where `z` and `y` are `[batch, classes]`.
    squared_error = "squared_error"(read z[batch * classes], read y[batch * classes], write losses[batch],
        batch: usize, classes: usize) in line(batch), flops[4 * batch * classes];

    /// `dz = (p − y) / batch`, the gradient at the last layer, where `p`, `y` and `dz` are `[batch, classes]`.
    output_gradient = "output_gradient"(read p[batch * classes], read y[batch * classes],
        write dz[batch * classes], batch: usize, classes: usize)
        in line(batch * classes), flops[2 * batch * classes];

    /// `dz = (p − y) / whole`, where `p`, `y` and `dz` are `[batch, classes]`: the gradient at the last layer of a
    /// share of a batch of `whole` samples.
    output_gradient_of_share = "output_gradient_of_share"(read p[batch * classes], read y[batch * classes],
        write dz[batch * classes], batch: usize, classes: usize, whole: usize)
        in line(batch * classes), flops[2 * batch * classes];

    /// `db[j] = Σ_i dz[i, j]`, where `dz` is `[batch, n]` and `db` is `[n]`.
    sum_batch = "sum_batch"(read dz[batch * n], write db[n], batch: usize, n: usize)
        in line(n), flops[batch * n];

    /// `w -= learning_rate · dw`, element by element; `w` is a weight matrix or a bias vector.
    update = "update"(update w[elements], read dw[elements], learning_rate: f32, elements: usize)
        in line(elements), flops[2 * elements];
}

impl Operations {
    /// Loads the kernels. `products` selects the kernels of the three matrix products.
    ///
    /// # Errors
    /// If a kernel can't be loaded.
    pub fn new(gpu: &Gpu, launcher: Launcher, products: Products) -> Result<Self> {
        let find = |kernel| gpu.kernel_of(&products.file(kernel), kernel);
        // SAFETY: the kernels are those of `kernels/*.cu`, whose parameters and accesses are declared above.
        unsafe { Self::load(launcher, products, find) }
    }

    /// The stream that the kernels are launched in.
    #[must_use]
    pub const fn stream(&self) -> &Arc<CudaStream> {
        &self.launcher.stream
    }

    /// `to = from`, element by element: a copy within the device's memory, without a kernel.
    pub fn copy(&self, from: &Buffer, to: &mut Buffer, elements: usize) -> Result<()> {
        let buffers = [("from", from.len(), size([elements])), ("to", to.len(), size([elements]))];
        let work = Work::new("within the device", &buffers, size([0]))?;
        let Launcher { stream, profiler, .. } = &self.launcher;
        profiler.copy(work.operation, stream, work.bytes, || {
            Ok(stream.memcpy_dtod(&from.slice(..elements), &mut to.slice_mut(..elements))?)
        })
    }
}
