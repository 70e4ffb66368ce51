//! The operations, each of them a launch of the kernel of the same name.
//!
//! A buffer is a stretch of the device's memory, and a shape is a few numbers beside it, as in
//! level 1: matrix `a` of shape `[m, k]` has its element `[i, j]` at `a[i * k + j]`. A launch only
//! puts the kernel into the stream; the host goes on, and waits when it reads a result.
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use std::sync::Arc;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, LaunchArgs, LaunchConfig, PushKernelArg,
};
use gpu::{Gpu, Profiler, Result, Work};

use crate::launch::{line, matrix};
use crate::{Buffer, View};

/// The kernels, loaded, and the stream that they are launched in.
#[derive(Clone)]
pub struct Operations {
    stream: Arc<CudaStream>,
    profiler: Profiler,
    matmul_a_bt: CudaFunction,
    matmul_at_b: CudaFunction,
    matmul_a_b: CudaFunction,
    add_bias: CudaFunction,
    relu: CudaFunction,
    relu_backward: CudaFunction,
    softmax: CudaFunction,
    sigmoid: CudaFunction,
    cross_entropy: CudaFunction,
    bce: CudaFunction,
    squared_error: CudaFunction,
    output_gradient: CudaFunction,
    sum_batch: CudaFunction,
    update: CudaFunction,
    gather_rows: CudaFunction,
}

impl Operations {
    /// Loads the kernels. What they do is written down by `profiler`.
    ///
    /// # Errors
    /// When one can't be loaded.
    pub fn new(gpu: &Gpu, profiler: &Profiler) -> Result<Self> {
        let load = |name| {
            let function = gpu.kernel(name)?;
            profiler.watch(name, &function);
            Ok::<_, gpu::GpuError>(function)
        };
        Ok(Self {
            stream: gpu.stream(),
            profiler: profiler.clone(),
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
            sum_batch: load("sum_batch")?,
            update: load("update")?,
            gather_rows: load("gather_rows")?,
        })
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

    /// `c = a · bᵀ`, where `a` is `[m, k]`, `b` is `[n, k]` and `c` is `[m, n]`.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn matmul_a_bt(
        &self,
        a: &View<'_>,
        b: &Buffer,
        c: &mut Buffer,
        m: usize,
        n: usize,
        k: usize,
    ) -> Result<()> {
        let work = Work::new(
            "matmul_a_bt",
            &[("a", a.len(), m * k), ("b", b.len(), n * k), ("c", c.len(), m * n)],
            2 * m * n * k,
        )?;
        let mut launch = self.stream.launch_builder(&self.matmul_a_bt);
        launch.arg(a).arg(b).arg(c).arg(&m).arg(&n).arg(&k);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launch(launch, matrix(m, n), work) }
    }

    /// `c = aᵀ · b`, where `a` is `[k, m]`, `b` is `[k, n]` and `c` is `[m, n]`.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn matmul_at_b(
        &self,
        a: &Buffer,
        b: &View<'_>,
        c: &mut Buffer,
        m: usize,
        n: usize,
        k: usize,
    ) -> Result<()> {
        let work = Work::new(
            "matmul_at_b",
            &[("a", a.len(), k * m), ("b", b.len(), k * n), ("c", c.len(), m * n)],
            2 * m * n * k,
        )?;
        let mut launch = self.stream.launch_builder(&self.matmul_at_b);
        launch.arg(a).arg(b).arg(c).arg(&m).arg(&n).arg(&k);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launch(launch, matrix(m, n), work) }
    }

    /// `c = a · b`, where `a` is `[m, k]`, `b` is `[k, n]` and `c` is `[m, n]`.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn matmul_a_b(
        &self,
        a: &Buffer,
        b: &Buffer,
        c: &mut Buffer,
        m: usize,
        n: usize,
        k: usize,
    ) -> Result<()> {
        let work = Work::new(
            "matmul_a_b",
            &[("a", a.len(), m * k), ("b", b.len(), k * n), ("c", c.len(), m * n)],
            2 * m * n * k,
        )?;
        let mut launch = self.stream.launch_builder(&self.matmul_a_b);
        launch.arg(a).arg(b).arg(c).arg(&m).arg(&n).arg(&k);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launch(launch, matrix(m, n), work) }
    }

    /// `z[i, j] += b[j]`, where `z` is `[batch, n]` and `b` is `[n]`.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn add_bias(&self, z: &mut Buffer, b: &Buffer, batch: usize, n: usize) -> Result<()> {
        let work =
            Work::new("add_bias", &[("z", z.len(), batch * n), ("b", b.len(), n)], batch * n)?;
        let mut launch = self.stream.launch_builder(&self.add_bias);
        launch.arg(z).arg(b).arg(&batch).arg(&n);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launch(launch, matrix(batch, n), work) }
    }

    /// `a = max(z, 0)`, element by element. NaN stays NaN.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn relu(&self, z: &Buffer, a: &mut Buffer, elements: usize) -> Result<()> {
        let work =
            Work::new("relu", &[("z", z.len(), elements), ("a", a.len(), elements)], elements)?;
        let mut launch = self.stream.launch_builder(&self.relu);
        launch.arg(z).arg(a).arg(&elements);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launch(launch, line(elements), work) }
    }

    /// `dz = da` where `z > 0`, and 0 elsewhere.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn relu_backward(
        &self,
        da: &Buffer,
        z: &Buffer,
        dz: &mut Buffer,
        elements: usize,
    ) -> Result<()> {
        let work = Work::new(
            "relu_backward",
            &[("da", da.len(), elements), ("z", z.len(), elements), ("dz", dz.len(), elements)],
            elements,
        )?;
        let mut launch = self.stream.launch_builder(&self.relu_backward);
        launch.arg(da).arg(z).arg(dz).arg(&elements);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launch(launch, line(elements), work) }
    }

    /// `p[i, j] = exp(z[i, j]) / Σ_c exp(z[i, c])`, where `z` and `p` are `[batch, classes]`.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn softmax(&self, z: &Buffer, p: &mut Buffer, batch: usize, classes: usize) -> Result<()> {
        let work = Work::new(
            "softmax",
            &[("z", z.len(), batch * classes), ("p", p.len(), batch * classes)],
            3 * batch * classes * classes,
        )?;
        let mut launch = self.stream.launch_builder(&self.softmax);
        launch.arg(z).arg(p).arg(&batch).arg(&classes);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launch(launch, matrix(batch, classes), work) }
    }

    /// `p = 1 / (1 + exp(−z))`, element by element.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn sigmoid(&self, z: &Buffer, p: &mut Buffer, elements: usize) -> Result<()> {
        let work = Work::new(
            "sigmoid",
            &[("z", z.len(), elements), ("p", p.len(), elements)],
            3 * elements,
        )?;
        let mut launch = self.stream.launch_builder(&self.sigmoid);
        launch.arg(z).arg(p).arg(&elements);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launch(launch, line(elements), work) }
    }

    /// `losses[i] = −Σ_c y·ln softmax(z)`, from the logits `z`, `[batch, classes]`.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn cross_entropy(
        &self,
        z: &View<'_>,
        y: &View<'_>,
        losses: &mut Buffer,
        batch: usize,
        classes: usize,
    ) -> Result<()> {
        let work = Work::new(
            "cross_entropy",
            &[
                ("z", z.len(), batch * classes),
                ("y", y.len(), batch * classes),
                ("losses", losses.len(), batch),
            ],
            6 * batch * classes,
        )?;
        let mut launch = self.stream.launch_builder(&self.cross_entropy);
        launch.arg(z).arg(y).arg(losses).arg(&batch).arg(&classes);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launch(launch, line(batch), work) }
    }

    /// `losses[i] = −Σ_c (y·ln p + (1−y)·ln(1−p))` with `p = sigmoid(z)`, from the logits `z`,
    /// `[batch, classes]`.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn bce(
        &self,
        z: &View<'_>,
        y: &View<'_>,
        losses: &mut Buffer,
        batch: usize,
        classes: usize,
    ) -> Result<()> {
        let work = Work::new(
            "bce",
            &[
                ("z", z.len(), batch * classes),
                ("y", y.len(), batch * classes),
                ("losses", losses.len(), batch),
            ],
            7 * batch * classes,
        )?;
        let mut launch = self.stream.launch_builder(&self.bce);
        launch.arg(z).arg(y).arg(losses).arg(&batch).arg(&classes);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launch(launch, line(batch), work) }
    }

    /// `losses[i] = ½·Σ_c (z − y)²`, where `z` and `y` are `[batch, classes]`.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn squared_error(
        &self,
        z: &View<'_>,
        y: &View<'_>,
        losses: &mut Buffer,
        batch: usize,
        classes: usize,
    ) -> Result<()> {
        let work = Work::new(
            "squared_error",
            &[
                ("z", z.len(), batch * classes),
                ("y", y.len(), batch * classes),
                ("losses", losses.len(), batch),
            ],
            4 * batch * classes,
        )?;
        let mut launch = self.stream.launch_builder(&self.squared_error);
        launch.arg(z).arg(y).arg(losses).arg(&batch).arg(&classes);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launch(launch, line(batch), work) }
    }

    /// `dz = (p − y) / batch`, the gradient at the last layer, all three `[batch, classes]`.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn output_gradient(
        &self,
        p: &Buffer,
        y: &View<'_>,
        dz: &mut Buffer,
        batch: usize,
        classes: usize,
    ) -> Result<()> {
        let work = Work::new(
            "output_gradient",
            &[
                ("p", p.len(), batch * classes),
                ("y", y.len(), batch * classes),
                ("dz", dz.len(), batch * classes),
            ],
            2 * batch * classes,
        )?;
        let mut launch = self.stream.launch_builder(&self.output_gradient);
        launch.arg(p).arg(y).arg(dz).arg(&batch).arg(&classes);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launch(launch, line(batch * classes), work) }
    }

    /// `db[j] = Σ_i dz[i, j]`, where `dz` is `[batch, n]` and `db` is `[n]`.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn sum_batch(&self, dz: &Buffer, db: &mut Buffer, batch: usize, n: usize) -> Result<()> {
        let work =
            Work::new("sum_batch", &[("dz", dz.len(), batch * n), ("db", db.len(), n)], batch * n)?;
        let mut launch = self.stream.launch_builder(&self.sum_batch);
        launch.arg(dz).arg(db).arg(&batch).arg(&n);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launch(launch, line(n), work) }
    }

    /// `w -= learning_rate · dw`, element by element; `w` is a weight matrix or a bias vector.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn update(
        &self,
        w: &mut Buffer,
        dw: &Buffer,
        learning_rate: f32,
        elements: usize,
    ) -> Result<()> {
        let work = Work::new(
            "update",
            &[("w", w.len(), elements), ("dw", dw.len(), elements)],
            2 * elements,
        )?;
        let mut launch = self.stream.launch_builder(&self.update);
        launch.arg(w).arg(dw).arg(&learning_rate).arg(&elements);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launch(launch, line(elements), work) }
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

    /// Launches a kernel.
    ///
    /// # Safety
    /// The arguments are those that the kernel takes, and it stays within their buffers.
    pub(crate) unsafe fn launch(
        &self,
        mut launch: LaunchArgs<'_>,
        shape: LaunchConfig,
        work: Work,
    ) -> Result<()> {
        let _range = self.profiler.range(work.operation);
        if self.profiler.is_on() {
            launch.record_kernel_launch(CUevent_flags::CU_EVENT_DEFAULT);
        }
        // SAFETY: as the caller promises.
        let events = unsafe { launch.launch(shape) }?;
        self.profiler.launched(work, events)
    }
}
