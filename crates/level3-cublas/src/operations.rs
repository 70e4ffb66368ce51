//! The operations of a layer: three products, which the library computes, and level 2's kernels.
//!
//! They are the operations of the other levels. If an epilogue already does an operation, that operation
//! is a no-op.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use gpu::{Buffer, Gpu, GpuError, Layer, Profiler, View};
use level2_cuda_naive::operations::Operations as Kernels;

use crate::cublas::Cublas;
use crate::cublaslt::CublasLt;
use crate::epilogue::{EpilogueBuffers, Mask};
use crate::error::Result;
use crate::library::Library;
use crate::plan::LayerPlan;
use crate::{Gemm, Setup};

/// Level 2's kernels, and the library that computes the products.
pub(crate) struct Operations {
    /// The kernels, launched in this level's own stream.
    pub(crate) kernels: Kernels,
    pub(crate) library: Box<dyn Library>,
}

impl Operations {
    #[allow(unsafe_code, reason = "turns off cudarc's ordering of streams")]
    pub(crate) fn new(gpu: &Gpu, setup: &Setup, profiler: &Profiler) -> Result<Self> {
        // A second handle to the same context, for this level's stream only, so that cudarc still orders
        // the caller's streams.
        let context = CudaContext::new(gpu.context().ordinal()).map_err(GpuError::from)?;
        // SAFETY: with this off, cudarc orders nothing between streams. This level uses all of its memory in
        // this one stream, except for level 2's transfers, which order their copies themselves. If it were
        // on, the first stream would wait for the whole context, which is forbidden while another
        // level of the process captures a graph.
        unsafe { context.disable_event_tracking() };
        // The default stream can't be captured into a graph.
        let stream = context.new_stream()?;
        let library: Box<dyn Library> = match setup.gemm {
            Gemm::Cublas => Box::new(Cublas::new(gpu, &stream, setup.tf32)?),
            Gemm::Cublaslt => Box::new(CublasLt::new(gpu, &stream, setup.tf32, setup.autotune)?),
        };
        Ok(Self { kernels: Kernels::new(gpu, profiler)?.in_stream(stream), library })
    }

    pub(crate) const fn stream(&self) -> &Arc<CudaStream> {
        self.kernels.stream()
    }

    /// `z = a_prev · wᵀ`. The epilogue `BIAS` also adds `b`; `RELU_AUX_BIAS` writes `a = relu(z)` and the
    /// mask of `z` instead of `z`.
    pub(crate) fn matmul_a_bt(
        &self,
        plan: &LayerPlan,
        a_prev: &View<'_>,
        Layer { w, b, z, a, .. }: &mut Layer,
        mask: &Mask,
    ) -> Result<()> {
        let c = if plan.makes_a() { a } else { z };
        self.run(&plan.z, a_prev, &w.as_view(), c, EpilogueBuffers { bias: b, mask: Some(mask) })
    }

    /// `z += b` for each sample. No-op if the product has added it.
    pub(crate) fn add_bias(&self, plan: &LayerPlan, layer: &mut Layer, batch: usize) -> Result<()> {
        if plan.adds_b() {
            return Ok(());
        }
        Ok(self.kernels.add_bias(&mut layer.z, &layer.b, batch, layer.outputs)?)
    }

    /// `a = relu(z)`. No-op if the product has made it.
    pub(crate) fn relu(&self, plan: &LayerPlan, layer: &mut Layer, batch: usize) -> Result<()> {
        if plan.makes_a() {
            return Ok(());
        }
        Ok(self.kernels.relu(&layer.z, &mut layer.a, batch * layer.outputs)?)
    }

    /// `dz = (p − y) / B`, the gradient at the last layer, all three `[batch, classes]`. `B` is `whole` if
    /// the samples are a share of a larger batch, otherwise `batch`.
    pub(crate) fn output_gradient(
        &self,
        p: &Buffer,
        y: &View<'_>,
        dz: &mut Buffer,
        (batch, whole): (usize, Option<usize>),
        classes: usize,
    ) -> Result<()> {
        let made = match whole {
            None => self.kernels.output_gradient(p, y, dz, batch, classes),
            Some(b) => self.kernels.output_gradient_of_share(p, y, dz, batch, classes, b),
        };
        Ok(made?)
    }

    /// `dw = dzᵀ · a_prev`. The epilogue `BGRADB` also writes `db = Σ_batch dz`.
    pub(crate) fn matmul_at_b(
        &self,
        plan: &LayerPlan,
        Layer { dz, dw, db, .. }: &mut Layer,
        a_prev: &View<'_>,
    ) -> Result<()> {
        let buffers = EpilogueBuffers { bias: db, mask: None };
        self.run(&plan.dw, &dz.as_view(), a_prev, dw, buffers)
    }

    /// `db = Σ_batch dz`. No-op if a product has made it: this layer's `dw`, or `da` of the layer after it.
    pub(crate) fn sum_batch(
        &self,
        plan: &LayerPlan,
        layer: &mut Layer,
        batch: usize,
    ) -> Result<()> {
        if plan.makes_db {
            return Ok(());
        }
        Ok(self.kernels.sum_batch(&layer.dz, &mut layer.db, batch, layer.outputs)?)
    }

    /// `da = dz · w`, of the layer before. The epilogue `DRELU_BGRAD` writes that layer's `dz` and
    /// `db = Σ_batch dz` instead of `da`; it reads the mask of that layer's `z`.
    pub(crate) fn matmul_a_b(
        &self,
        plan: &LayerPlan,
        layer: &Layer,
        Layer { da, dz, db, .. }: &mut Layer,
        mask: &Mask,
    ) -> Result<()> {
        let Some(product) = &plan.da else { return Ok(()) };
        let c = if plan.makes_dz() { dz } else { da };
        let buffers = EpilogueBuffers { bias: db, mask: Some(mask) };
        self.run(product, &layer.dz.as_view(), &layer.w.as_view(), c, buffers)
    }

    /// `dz = da` where `z` was positive. No-op if the product has made it. Reads `a`, because `z` may never
    /// have been written, and `relu(z)` is positive exactly where `z` is.
    pub(crate) fn relu_backward(
        &self,
        plan: &LayerPlan,
        Layer { da, a, dz, outputs, .. }: &mut Layer,
        batch: usize,
    ) -> Result<()> {
        if plan.makes_dz() {
            return Ok(());
        }
        Ok(self.kernels.relu_backward(da, a, dz, batch * *outputs)?)
    }
}
