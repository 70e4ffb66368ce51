//! The operations of a layer: three products, which the library computes, and level 2's kernels.
//!
//! The operations have the same names as in the other levels. An operation that an epilogue has already performed is a
//! no-op.

use cublas::{Blas, Cublas, CublasLt, library::Library};
use cudarc::driver::CudaContext;
use gpu::{Buffer, Gpu, Launcher, Layer, Profiler, Result, View};
use level2_cuda_naive::Products;
use level2_cuda_naive::operations::Operations as Kernels;

use crate::plan::LayerPlan;
use crate::{Gemm, Setup};

/// Level 2's kernels, and the library that computes the products.
pub(crate) struct Operations {
    /// The kernels, launched in this level's own stream.
    pub(crate) kernels: Kernels,
    pub(crate) blas: Blas,
}

impl Operations {
    #[allow(unsafe_code, reason = "turns off cudarc's ordering of streams")]
    pub(crate) fn new(gpu: &Gpu, setup: &Setup, profiler: &Profiler) -> Result<Self> {
        // A second handle to the same context, for this level's stream only, so that cudarc still orders
        // the caller's streams.
        let context = CudaContext::new(gpu.context().ordinal())?;
        // SAFETY: with event tracking off, cudarc doesn't order streams. This level uses all of its memory in this one
        // stream, except for level 2's transfers, which order their copies themselves. With event tracking on, this
        // level's stream would wait for the whole context, which is forbidden while another level of the process
        // captures a graph.
        unsafe { context.disable_event_tracking() };
        // The default stream can't be captured into a graph.
        let stream = context.new_stream()?;
        let library: Box<dyn Library> = match setup.gemm {
            Gemm::Cublas => Box::new(Cublas::new(gpu, &stream, setup.tf32)?),
            Gemm::Cublaslt => Box::new(CublasLt::new(gpu, &stream, setup.tf32, setup.autotune)?),
        };
        let launcher = Launcher { stream, ..Launcher::new(gpu, profiler) };
        let kernels = Kernels::new(gpu, launcher.clone(), Products::Naive)?;
        Ok(Self { kernels, blas: Blas { library, launcher } })
    }

    /// `z = a_prev · wᵀ`. The epilogue `BIAS` also adds `b`; `RELU_AUX_BIAS` writes `a = relu(z)` and the
    /// mask of `z` instead of `z`.
    pub(crate) fn matmul_a_bt(
        &self,
        plan: &LayerPlan,
        a_prev: &View<'_>,
        Layer { w, b, z, a, .. }: &mut Layer,
    ) -> Result<()> {
        self.blas.run(&plan.z, a_prev, w, if plan.makes_a() { a } else { z }, b)
    }

    /// `z += b` for each sample. No-op if an epilogue has added `b`.
    pub(crate) fn add_bias(
        &self,
        plan: &LayerPlan,
        Layer { z, b, outputs, .. }: &mut Layer,
        batch: usize,
    ) -> Result<()> {
        if plan.adds_b() { Ok(()) } else { self.kernels.add_bias(z, b, batch, *outputs) }
    }

    /// `a = relu(z)`. No-op if an epilogue has computed `a`.
    pub(crate) fn relu(
        &self,
        plan: &LayerPlan,
        Layer { z, a, outputs, .. }: &mut Layer,
        batch: usize,
    ) -> Result<()> {
        if plan.makes_a() { Ok(()) } else { self.kernels.relu(z, a, batch * *outputs) }
    }

    /// `dz = (p − y) / B`, the gradient at the last layer, where `p`, `y` and `dz` are `[batch, classes]`. `B` is
    /// `whole` if the samples are a share of a larger batch, otherwise `batch`.
    pub(crate) fn output_gradient(
        &self,
        p: &Buffer,
        y: &View<'_>,
        dz: &mut Buffer,
        (batch, whole): (usize, Option<usize>),
        classes: usize,
    ) -> Result<()> {
        match whole {
            None => self.kernels.output_gradient(p, y, dz, batch, classes),
            Some(b) => self.kernels.output_gradient_of_share(p, y, dz, batch, classes, b),
        }
    }

    /// `dw = dzᵀ · a_prev`. The epilogue `BGRADB` also writes `db = Σ_batch dz`.
    pub(crate) fn matmul_at_b(
        &self,
        plan: &LayerPlan,
        Layer { dz, dw, db, .. }: &mut Layer,
        a_prev: &View<'_>,
    ) -> Result<()> {
        self.blas.run(&plan.dw, dz, a_prev, dw, db)
    }

    /// `db = Σ_batch dz`. No-op if the epilogue of another product has computed `db`: the product for this layer's
    /// `dw`, or for the next layer's `da`.
    pub(crate) fn sum_batch(
        &self,
        plan: &LayerPlan,
        Layer { dz, db, outputs, .. }: &mut Layer,
        batch: usize,
    ) -> Result<()> {
        if plan.makes_db { Ok(()) } else { self.kernels.sum_batch(dz, db, batch, *outputs) }
    }

    /// `da = dz · w`, the gradient of the previous layer's `a`. The epilogue `DRELU_BGRAD` reads the mask of the
    /// previous layer's `z`, and writes that layer's `dz` and `db = Σ_batch dz` instead of `da`.
    pub(crate) fn matmul_a_b(
        &self,
        plan: &LayerPlan,
        layer: &Layer,
        Layer { da, dz, db, .. }: &mut Layer,
    ) -> Result<()> {
        let Some(product) = &plan.da else { return Ok(()) };
        self.blas.run(product, &layer.dz, &layer.w, if plan.makes_dz() { dz } else { da }, db)
    }

    /// `dz = da` where `z` is positive, 0 elsewhere. No-op if an epilogue has computed `dz`. Reads `a`, because `z` may
    /// never have been written, and `relu(z)` is positive exactly where `z` is.
    pub(crate) fn relu_backward(
        &self,
        plan: &LayerPlan,
        Layer { da, a, dz, outputs, .. }: &mut Layer,
        batch: usize,
    ) -> Result<()> {
        if plan.makes_dz() {
            Ok(())
        } else {
            self.kernels.relu_backward(da, a, dz, batch * *outputs)
        }
    }
}
