//! The operations, each of them a launch of the kernel of the same name.
//!
//! A buffer is a stretch of the device's memory, and a shape is a few numbers beside it, as in
//! level 1: matrix `a` of shape `[m, k]` has its element `[i, j]` at `a[i * k + j]`. A launch only
//! puts the kernel into the stream; the host goes on, and waits when it reads a result.
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use cudarc::driver::{CudaFunction, PushKernelArg};
use gpu::launch::{line, matrix};
use gpu::{Buffer, Result, Size, View, Work, size};

pub use crate::kernels::Operations;

impl Operations {
    // ANCHOR: matmul_a_bt
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
            &[
                ("a", a.len(), size([m, k])),
                ("b", b.len(), size([n, k])),
                ("c", c.len(), size([m, n])),
            ],
            size([2, m, n, k]),
        )?;
        let mut launch = self.launcher.stream.launch_builder(&self.matmul_a_bt);
        launch.arg(a).arg(b).arg(c).arg(&m).arg(&n).arg(&k);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launcher.launch(launch, self.products.along_rows(m, n), work) }
    }
    // ANCHOR_END: matmul_a_bt

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
            &[
                ("a", a.len(), size([k, m])),
                ("b", b.len(), size([k, n])),
                ("c", c.len(), size([m, n])),
            ],
            size([2, m, n, k]),
        )?;
        let mut launch = self.launcher.stream.launch_builder(&self.matmul_at_b);
        launch.arg(a).arg(b).arg(c).arg(&m).arg(&n).arg(&k);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launcher.launch(launch, self.products.across_rows(m, n), work) }
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
            &[
                ("a", a.len(), size([m, k])),
                ("b", b.len(), size([k, n])),
                ("c", c.len(), size([m, n])),
            ],
            size([2, m, n, k]),
        )?;
        let mut launch = self.launcher.stream.launch_builder(&self.matmul_a_b);
        launch.arg(a).arg(b).arg(c).arg(&m).arg(&n).arg(&k);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launcher.launch(launch, self.products.across_rows(m, n), work) }
    }

    /// `z[i, j] += b[j]`, where `z` is `[batch, n]` and `b` is `[n]`.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn add_bias(&self, z: &mut Buffer, b: &Buffer, batch: usize, n: usize) -> Result<()> {
        let work = Work::new(
            "add_bias",
            &[
                ("z", z.len(), size([batch, n])),
                ("z", z.len(), size([batch, n])),
                ("b", b.len(), size([n])),
            ],
            size([batch, n]),
        )?;
        let mut launch = self.launcher.stream.launch_builder(&self.add_bias);
        launch.arg(z).arg(b).arg(&batch).arg(&n);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launcher.launch(launch, matrix(batch, n), work) }
    }

    /// `a = max(z, 0)`, element by element. NaN stays NaN.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn relu(&self, z: &Buffer, a: &mut Buffer, elements: usize) -> Result<()> {
        let work = Work::new(
            "relu",
            &[("z", z.len(), size([elements])), ("a", a.len(), size([elements]))],
            size([elements]),
        )?;
        let mut launch = self.launcher.stream.launch_builder(&self.relu);
        launch.arg(z).arg(a).arg(&elements);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launcher.launch(launch, line(elements), work) }
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
            &[
                ("da", da.len(), size([elements])),
                ("z", z.len(), size([elements])),
                ("dz", dz.len(), size([elements])),
            ],
            size([elements]),
        )?;
        let mut launch = self.launcher.stream.launch_builder(&self.relu_backward);
        launch.arg(da).arg(z).arg(dz).arg(&elements);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launcher.launch(launch, line(elements), work) }
    }

    /// `p[i, j] = exp(z[i, j]) / Σ_c exp(z[i, c])`, where `z` and `p` are `[batch, classes]`.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn softmax(&self, z: &Buffer, p: &mut Buffer, batch: usize, classes: usize) -> Result<()> {
        let work = Work::new(
            "softmax",
            &[("z", z.len(), size([batch, classes])), ("p", p.len(), size([batch, classes]))],
            size([3, batch, classes, classes]),
        )?;
        let mut launch = self.launcher.stream.launch_builder(&self.softmax);
        launch.arg(z).arg(p).arg(&batch).arg(&classes);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launcher.launch(launch, matrix(batch, classes), work) }
    }

    /// `p = 1 / (1 + exp(−z))`, element by element.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn sigmoid(&self, z: &Buffer, p: &mut Buffer, elements: usize) -> Result<()> {
        let work = Work::new(
            "sigmoid",
            &[("z", z.len(), size([elements])), ("p", p.len(), size([elements]))],
            size([3, elements]),
        )?;
        let mut launch = self.launcher.stream.launch_builder(&self.sigmoid);
        launch.arg(z).arg(p).arg(&elements);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launcher.launch(launch, line(elements), work) }
    }

    /// One of the losses below: a thread for each sample.
    fn losses(
        &self,
        name: &'static str,
        kernel: &CudaFunction,
        (z, y, losses): (&View<'_>, &View<'_>, &mut Buffer),
        (batch, classes): (usize, usize),
        flops: Size,
    ) -> Result<()> {
        let work = Work::new(
            name,
            &[
                ("z", z.len(), size([batch, classes])),
                ("y", y.len(), size([batch, classes])),
                ("losses", losses.len(), size([batch])),
            ],
            flops,
        )?;
        let mut launch = self.launcher.stream.launch_builder(kernel);
        launch.arg(z).arg(y).arg(losses).arg(&batch).arg(&classes);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launcher.launch(launch, line(batch), work) }
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
        let flops = size([6, batch, classes]);
        self.losses("cross_entropy", &self.cross_entropy, (z, y, losses), (batch, classes), flops)
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
        let flops = size([7, batch, classes]);
        self.losses("bce", &self.bce, (z, y, losses), (batch, classes), flops)
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
        let flops = size([4, batch, classes]);
        self.losses("squared_error", &self.squared_error, (z, y, losses), (batch, classes), flops)
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
                ("p", p.len(), size([batch, classes])),
                ("y", y.len(), size([batch, classes])),
                ("dz", dz.len(), size([batch, classes])),
            ],
            size([2, batch, classes]),
        )?;
        let mut launch = self.launcher.stream.launch_builder(&self.output_gradient);
        launch.arg(p).arg(y).arg(dz).arg(&batch).arg(&classes);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launcher.launch(launch, line(batch * classes), work) }
    }

    /// `dz = (p − y) / whole`, all three `[batch, classes]`: the same for a share of a batch of
    /// `whole` samples.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn output_gradient_of_share(
        &self,
        p: &Buffer,
        y: &View<'_>,
        dz: &mut Buffer,
        (batch, whole): (usize, usize),
        classes: usize,
    ) -> Result<()> {
        let elements = size([batch, classes]);
        let buffers =
            [("p", p.len(), elements), ("y", y.len(), elements), ("dz", dz.len(), elements)];
        let work = Work::new("output_gradient_of_share", &buffers, size([2, batch, classes]))?;
        let mut launch = self.launcher.stream.launch_builder(&self.output_gradient_of_share);
        launch.arg(p).arg(y).arg(dz).arg(&batch).arg(&classes).arg(&whole);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launcher.launch(launch, line(elements.get()), work) }
    }

    /// `db[j] = Σ_i dz[i, j]`, where `dz` is `[batch, n]` and `db` is `[n]`.
    ///
    /// # Errors
    /// When a buffer is too small, and what the driver says.
    pub fn sum_batch(&self, dz: &Buffer, db: &mut Buffer, batch: usize, n: usize) -> Result<()> {
        let work = Work::new(
            "sum_batch",
            &[("dz", dz.len(), size([batch, n])), ("db", db.len(), size([n]))],
            size([batch, n]),
        )?;
        let mut launch = self.launcher.stream.launch_builder(&self.sum_batch);
        launch.arg(dz).arg(db).arg(&batch).arg(&n);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launcher.launch(launch, line(n), work) }
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
            &[
                ("w", w.len(), size([elements])),
                ("w", w.len(), size([elements])),
                ("dw", dw.len(), size([elements])),
            ],
            size([2, elements]),
        )?;
        let mut launch = self.launcher.stream.launch_builder(&self.update);
        launch.arg(w).arg(dw).arg(&learning_rate).arg(&elements);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.launcher.launch(launch, line(elements), work) }
    }
}
