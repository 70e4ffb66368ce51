//! The operations of a layer: the three products, which the library computes, and those that level 2's
//! kernels compute.
//!
//! They are the operations of the other levels. If the layer's plan lets a product's epilogue do an
//! operation, that operation launches nothing.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use gpu::{Buffer, Gpu, GpuError, Layer, Profiler, View};
use level2_cuda_naive::operations::Operations as Kernels;

use crate::cublas::Cublas;
use crate::cublaslt::CublasLt;
use crate::epilogue::{Epilogue, EpilogueBuffers, Mask};
use crate::error::Result;
use crate::library::Library;
use crate::plan::LayerPlan;
use crate::{Gemm, Setup};

/// What computes: level 2's kernels, and the library that the products are handed to.
pub(crate) struct Operations {
    /// Level 2's operations, in this level's own stream.
    pub(crate) kernels: Kernels,
    pub(crate) library: Box<dyn Library>,
    /// The notes that were already printed to standard error.
    said: RefCell<HashSet<String>>,
}

impl Operations {
    #[allow(unsafe_code, reason = "the stream's context orders nothing by itself")]
    pub(crate) fn new(gpu: &Gpu, setup: &Setup, profiler: &Profiler) -> Result<Self> {
        // cudarc's own view of the same context, for this one stream: the caller's goes on ordering
        // what the caller does.
        let context = CudaContext::new(gpu.context().ordinal()).map_err(GpuError::from)?;
        // SAFETY: with this off, cudarc orders nothing between streams. All memory of this level
        // is used in this one stream, but for what level 2's transfers order by themselves. Left
        // on, a first stream would wait for the whole context, which may not be waited for while
        // another level of the process captures.
        unsafe { context.disable_event_tracking() };
        // The default stream can't be captured into a graph.
        let stream = context.new_stream()?;
        let library: Box<dyn Library> = match setup.gemm {
            Gemm::Cublas => Box::new(Cublas::new(gpu, &stream, setup.tf32)?),
            Gemm::Cublaslt => Box::new(CublasLt::new(gpu, &stream, setup.tf32, setup.autotune)?),
        };
        let kernels = Kernels::new(gpu, profiler)?.in_stream(stream);
        Ok(Self { kernels, library, said: RefCell::default() })
    }

    pub(crate) const fn stream(&self) -> &Arc<CudaStream> {
        self.kernels.stream()
    }

    /// `z = a_prev · wᵀ`. With the epilogue `BIAS` also `+ b`; with `RELU_AUX_BIAS` `a = relu(z)` and
    /// the mask of `z` are written, and `z` isn't.
    pub(crate) fn matmul_a_bt(
        &self,
        plan: &LayerPlan,
        a_prev: &View<'_>,
        Layer { w, b, z, a, .. }: &mut Layer,
        mask: &mut Mask,
    ) -> Result<()> {
        let (c, fused) = match plan.z.epilogue() {
            Epilogue::ReluAuxBias => (a, EpilogueBuffers::ReluAuxBias(b, mask)),
            Epilogue::Bias => (z, EpilogueBuffers::Bias(b)),
            _ => (z, EpilogueBuffers::None),
        };
        self.run(&plan.z, a_prev, &w.as_view(), c, fused)
    }

    /// `z += b` for each sample, unless the product has added it.
    pub(crate) fn add_bias(&self, plan: &LayerPlan, layer: &mut Layer, batch: usize) -> Result<()> {
        if plan.adds_b() {
            return Ok(());
        }
        Ok(self.kernels.add_bias(&mut layer.z, &layer.b, batch, layer.outputs)?)
    }

    /// `a = relu(z)`, unless the product has made it.
    pub(crate) fn relu(&self, plan: &LayerPlan, layer: &mut Layer, batch: usize) -> Result<()> {
        if plan.makes_a() {
            return Ok(());
        }
        Ok(self.kernels.relu(&layer.z, &mut layer.a, batch * layer.outputs)?)
    }

    /// `dz = (p − y) / B`, the gradient at the last layer, all three `[batch, classes]`. `whole` is `B` if
    /// it isn't `batch`: the samples are a share of a larger batch.
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
            Some(b) => self.kernels.output_gradient_of_share(p, y, dz, (batch, b), classes),
        };
        Ok(made?)
    }

    /// `dw = dzᵀ · a_prev`. With the epilogue `BGRADB` also `db = Σ_batch dz`.
    pub(crate) fn matmul_at_b(
        &self,
        plan: &LayerPlan,
        Layer { dz, dw, db, .. }: &mut Layer,
        a_prev: &View<'_>,
    ) -> Result<()> {
        let fused = match plan.dw.epilogue() {
            Epilogue::Bgradb => EpilogueBuffers::Bgradb(db),
            _ => EpilogueBuffers::None,
        };
        self.run(&plan.dw, &dz.as_view(), a_prev, dw, fused)
    }

    /// `db = Σ_batch dz`, unless a product has made it: this layer's `dw`, or the product of the layer
    /// after it that makes `da`.
    pub(crate) fn sum_batch(
        &self,
        plan: &LayerPlan,
        layer: &mut Layer,
        batch: usize,
    ) -> Result<()> {
        if plan.makes_db() {
            return Ok(());
        }
        Ok(self.kernels.sum_batch(&layer.dz, &mut layer.db, batch, layer.outputs)?)
    }

    /// `da = dz · w`, of the layer before. With the epilogue `DRELU_BGRAD` that layer's `dz` and
    /// `db = Σ_batch dz` are written, and `da` isn't; its mask says where its `z` was not negative.
    pub(crate) fn matmul_a_b(
        &self,
        plan: &LayerPlan,
        layer: &Layer,
        previous: &mut Layer,
        mask: &Mask,
    ) -> Result<()> {
        let Some(product) = &plan.da else { return Ok(()) };
        let Layer { da, dz, db, .. } = previous;
        let (c, fused) = match product.epilogue() {
            Epilogue::DreluBgrad => (dz, EpilogueBuffers::DreluBgrad(mask, db)),
            _ => (da, EpilogueBuffers::None),
        };
        self.run(product, &layer.dz.as_view(), &layer.w.as_view(), c, fused)
    }

    /// `dz = da` where `z` was positive, unless the product has made it. `relu(z)` is positive exactly
    /// where `z` is, and `z` may never have been written.
    pub(crate) fn relu_backward(
        &self,
        plan: &LayerPlan,
        previous: &mut Layer,
        batch: usize,
    ) -> Result<()> {
        if plan.makes_dz() {
            return Ok(());
        }
        let Layer { da, a, dz, outputs, .. } = previous;
        Ok(self.kernels.relu_backward(da, a, dz, batch * *outputs)?)
    }

    /// Says something on standard error, once.
    pub(crate) fn say(&self, text: &str) {
        if self.said.borrow_mut().insert(text.to_owned()) {
            host::complain(text);
        }
    }
}
