//! The operations, each of them a launch of the kernel of the same name.
//!
//! A buffer is a stretch of the device's memory, and a shape is a few numbers beside it, as in
//! level 1: matrix `a` of shape `[m, k]` has its element `[i, j]` at `a[i * k + j]`. A launch only
//! puts the kernel into the stream; the host goes on, and waits when it reads a result.
//!
//! An operation fails if a buffer is smaller than its shape, if the shape is empty, or if the driver
//! reports an error.
#![allow(unsafe_code, reason = "nothing checks that a kernel has these parameters")]

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpu::launch::{line, matrix};
use gpu::{Buffer, Function, Gpu, Launcher, Profiler, Read, Result, View, Work, Write};
use gpu::{launch, size};

use crate::Products;

/// A product: two factors and the result, then `m`, `n` and `k`.
type Product = Function<(Read, Read, Write, usize, usize, usize)>;
/// A loss or its gradient: two inputs (`z` or `p`, and `y`) and the result, then `batch` and `classes`.
type Loss = Function<(Read, Read, Write, usize, usize)>;

/// The kernels, loaded, and the stream that they are launched in.
#[derive(Clone)]
pub struct Operations {
    /// Launches them, and copies numbers of the host.
    pub launcher: Launcher,
    products: Products,
    matmul_a_bt: Product,
    matmul_at_b: Product,
    matmul_a_b: Product,
    add_bias: Function<(Write, Read, usize, usize)>,
    relu: Function<(Read, Write, usize)>,
    relu_backward: Function<(Read, Read, Write, usize)>,
    softmax: Function<(Read, Write, usize, usize)>,
    sigmoid: Function<(Read, Write, usize)>,
    cross_entropy: Loss,
    bce: Loss,
    squared_error: Loss,
    output_gradient: Loss,
    output_gradient_of_share: Function<(Read, Read, Write, usize, usize, usize)>,
    sum_batch: Function<(Read, Write, usize, usize)>,
    update: Function<(Write, Read, f32, usize)>,
}

impl Operations {
    /// Loads the kernels. `profiler` records their launches.
    ///
    /// # Errors
    /// If a kernel can't be loaded.
    pub fn new(gpu: &Gpu, profiler: &Profiler) -> Result<Self> {
        Self::with_products(gpu, profiler, Products::Naive)
    }

    /// The same with other kernels for the three products.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_products(gpu: &Gpu, profiler: &Profiler, products: Products) -> Result<Self> {
        let launcher = Launcher::new(gpu, profiler);
        macro_rules! loaded {
            ($($kernel:ident)*) => {
                Self {
                    // SAFETY: the fields' types are the parameters of `kernels/*.cu`, and each method below
                    // declares all elements that its kernel accesses.
                    $($kernel: unsafe {
                        let file = products.file(stringify!($kernel));
                        launcher.kernel_of(gpu, &file, stringify!($kernel))
                    }?,)*
                    products,
                    launcher,
                }
            };
        }
        Ok(loaded!(
            matmul_a_bt matmul_at_b matmul_a_b add_bias relu relu_backward softmax sigmoid
            cross_entropy bce squared_error output_gradient output_gradient_of_share sum_batch update
        ))
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

    // ANCHOR: matmul_a_bt
    /// `c = a · bᵀ`, where `a` is `[m, k]`, `b` is `[n, k]` and `c` is `[m, n]`.
    pub fn matmul_a_bt(
        &self,
        a: &View<'_>,
        b: &Buffer,
        c: &mut Buffer,
        m: usize,
        n: usize,
        k: usize,
    ) -> Result<()> {
        launch!(self.matmul_a_bt, self.products.along_rows(m, n), flops[2 * m * n * k],
            read a[m * k], read b[n * k], write c[m * n], m, n, k)
    }
    // ANCHOR_END: matmul_a_bt

    /// `c = aᵀ · b`, where `a` is `[k, m]`, `b` is `[k, n]` and `c` is `[m, n]`.
    pub fn matmul_at_b(
        &self,
        a: &Buffer,
        b: &View<'_>,
        c: &mut Buffer,
        m: usize,
        n: usize,
        k: usize,
    ) -> Result<()> {
        launch!(self.matmul_at_b, self.products.across_rows(m, n), flops[2 * m * n * k],
            read a[k * m], read b[k * n], write c[m * n], m, n, k)
    }

    /// `c = a · b`, where `a` is `[m, k]`, `b` is `[k, n]` and `c` is `[m, n]`.
    pub fn matmul_a_b(
        &self,
        a: &Buffer,
        b: &Buffer,
        c: &mut Buffer,
        m: usize,
        n: usize,
        k: usize,
    ) -> Result<()> {
        launch!(self.matmul_a_b, self.products.across_rows(m, n), flops[2 * m * n * k],
            read a[m * k], read b[k * n], write c[m * n], m, n, k)
    }

    /// `z[i, j] += b[j]`, where `z` is `[batch, n]` and `b` is `[n]`.
    pub fn add_bias(&self, z: &mut Buffer, b: &Buffer, batch: usize, n: usize) -> Result<()> {
        launch!(self.add_bias, matrix(batch, n), flops[batch * n],
            update z[batch * n], read b[n], batch, n)
    }

    /// `a = max(z, 0)`, element by element. NaN stays NaN.
    pub fn relu(&self, z: &Buffer, a: &mut Buffer, elements: usize) -> Result<()> {
        launch!(self.relu, line(elements), flops[elements],
            read z[elements], write a[elements], elements)
    }

    /// `dz = da` where `z > 0`, and 0 elsewhere.
    pub fn relu_backward(
        &self,
        da: &Buffer,
        z: &Buffer,
        dz: &mut Buffer,
        elements: usize,
    ) -> Result<()> {
        launch!(self.relu_backward, line(elements), flops[elements],
            read da[elements], read z[elements], write dz[elements], elements)
    }

    /// `p[i, j] = exp(z[i, j]) / Σ_c exp(z[i, c])`, where `z` and `p` are `[batch, classes]`.
    pub fn softmax(&self, z: &Buffer, p: &mut Buffer, batch: usize, classes: usize) -> Result<()> {
        launch!(self.softmax, matrix(batch, classes), flops[3 * batch * classes * classes],
            read z[batch * classes], write p[batch * classes], batch, classes)
    }

    /// `p = 1 / (1 + exp(−z))`, element by element.
    pub fn sigmoid(&self, z: &Buffer, p: &mut Buffer, elements: usize) -> Result<()> {
        launch!(self.sigmoid, line(elements), flops[3 * elements],
            read z[elements], write p[elements], elements)
    }

    /// `to = from`, element by element: no kernel but a copy within the device's memory.
    pub fn copy(&self, from: &Buffer, to: &mut Buffer, elements: usize) -> Result<()> {
        let buffers = [("from", from.len(), size([elements])), ("to", to.len(), size([elements]))];
        let work = Work::new("within the device", &buffers, size([0]))?;
        let Launcher { stream, profiler } = &self.launcher;
        profiler.copy(work.operation, stream, work.bytes, || {
            Ok(stream.memcpy_dtod(&from.slice(..elements), &mut to.slice_mut(..elements))?)
        })
    }

    /// `losses[i] = −Σ_c y·ln softmax(z)`, from the logits `z`, `[batch, classes]`.
    pub fn cross_entropy(
        &self,
        z: &View<'_>,
        y: &View<'_>,
        losses: &mut Buffer,
        batch: usize,
        classes: usize,
    ) -> Result<()> {
        launch!(self.cross_entropy, line(batch), flops[6 * batch * classes],
            read z[batch * classes], read y[batch * classes], write losses[batch], batch, classes)
    }

    /// `losses[i] = −Σ_c (y·ln p + (1−y)·ln(1−p))` with `p = sigmoid(z)`, from the logits `z`,
    /// `[batch, classes]`.
    pub fn bce(
        &self,
        z: &View<'_>,
        y: &View<'_>,
        losses: &mut Buffer,
        batch: usize,
        classes: usize,
    ) -> Result<()> {
        launch!(self.bce, line(batch), flops[7 * batch * classes],
            read z[batch * classes], read y[batch * classes], write losses[batch], batch, classes)
    }

    /// `losses[i] = ½·Σ_c (z − y)²`, where `z` and `y` are `[batch, classes]`.
    pub fn squared_error(
        &self,
        z: &View<'_>,
        y: &View<'_>,
        losses: &mut Buffer,
        batch: usize,
        classes: usize,
    ) -> Result<()> {
        launch!(self.squared_error, line(batch), flops[4 * batch * classes],
            read z[batch * classes], read y[batch * classes], write losses[batch], batch, classes)
    }

    /// `dz = (p − y) / batch`, the gradient at the last layer, all three `[batch, classes]`.
    pub fn output_gradient(
        &self,
        p: &Buffer,
        y: &View<'_>,
        dz: &mut Buffer,
        batch: usize,
        classes: usize,
    ) -> Result<()> {
        launch!(self.output_gradient, line(batch * classes), flops[2 * batch * classes],
            read p[batch * classes], read y[batch * classes], write dz[batch * classes],
            batch, classes)
    }

    /// `dz = (p − y) / whole`, all three `[batch, classes]`: the same for a share of a batch of
    /// `whole` samples.
    pub fn output_gradient_of_share(
        &self,
        p: &Buffer,
        y: &View<'_>,
        dz: &mut Buffer,
        (batch, whole): (usize, usize),
        classes: usize,
    ) -> Result<()> {
        launch!(self.output_gradient_of_share, line(batch * classes), flops[2 * batch * classes],
            read p[batch * classes], read y[batch * classes], write dz[batch * classes],
            batch, classes, whole)
    }

    /// `db[j] = Σ_i dz[i, j]`, where `dz` is `[batch, n]` and `db` is `[n]`.
    pub fn sum_batch(&self, dz: &Buffer, db: &mut Buffer, batch: usize, n: usize) -> Result<()> {
        launch!(self.sum_batch, line(n), flops[batch * n],
            read dz[batch * n], write db[n], batch, n)
    }

    /// `w -= learning_rate · dw`, element by element; `w` is a weight matrix or a bias vector.
    pub fn update(
        &self,
        w: &mut Buffer,
        dw: &Buffer,
        learning_rate: f32,
        elements: usize,
    ) -> Result<()> {
        launch!(self.update, line(elements), flops[2 * elements],
            update w[elements], read dw[elements], learning_rate, elements)
    }
}
