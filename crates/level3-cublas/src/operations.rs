//! The operations: the three products, which the library computes, beside level 2's kernels, which
//! do all the rest.
//!
//! A product is planned before it runs (`plan`), and with it the epilogue that it has. So each of
//! them is given, besides its own matrices, the buffers that an epilogue may read or fill; what is
//! written in place of what, its documentation says.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use gpu::{Buffer, Gpu, GpuError, Profiler, View};
use level2_cuda_naive::operations::Operations as Kernels;

use crate::cublas::Cublas;
use crate::cublaslt::CublasLt;
use crate::epilogue::{Epilogue, EpilogueBuffers, Mask};
use crate::error::Result;
use crate::product::Product;
use crate::{Gemm, Rules, Setup};

/// What computes: level 2's kernels, and the library that the products are handed to.
pub(crate) struct Operations {
    /// Level 2's operations, in this level's own stream.
    pub(crate) kernels: Kernels,
    pub(crate) library: Library,
    pub(crate) rules: Rules,
    /// Epilogues that the library has no algorithm for, as far as that was said.
    said: RefCell<HashSet<String>>,
}

/// Who multiplies matrices.
pub(crate) enum Library {
    Cublas(Rc<Cublas>),
    CublasLt(Rc<CublasLt>),
}

impl Operations {
    #[allow(unsafe_code, reason = "the stream's context orders nothing by itself")]
    pub(crate) fn new(gpu: &Gpu, setup: &Setup, rules: Rules, profiler: &Profiler) -> Result<Self> {
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
        let library = match setup.gemm {
            Gemm::Cublas => Library::Cublas(Cublas::new(gpu, &stream, setup.tf32)?.into()),
            Gemm::Cublaslt => {
                let lt = CublasLt::new(gpu, &stream, setup.tf32, setup.autotune)?;
                Library::CublasLt(lt.into())
            }
        };
        let kernels = Kernels::new(gpu, profiler)?.in_stream(stream);
        Ok(Self { kernels, library, rules, said: RefCell::default() })
    }

    pub(crate) const fn stream(&self) -> &Arc<CudaStream> {
        self.kernels.stream()
    }

    /// `z = a_prev · wᵀ`. With the epilogue `BIAS` also `+ b`; with `RELU_AUX_BIAS` `a = relu(z)` and
    /// the mask of `z` are written, and `z` isn't.
    pub(crate) fn matmul_a_bt(
        &self,
        product: &Product,
        a_prev: &View<'_>,
        w: &Buffer,
        z: &mut Buffer,
        b: &Buffer,
        (a, mask): (&mut Buffer, &mut Mask),
    ) -> Result<()> {
        let (c, buffers) = match product.epilogue() {
            Epilogue::ReluAuxBias => (a, EpilogueBuffers::ReluAuxBias(b, mask)),
            Epilogue::Bias => (z, EpilogueBuffers::Bias(b)),
            _ => (z, EpilogueBuffers::None),
        };
        self.run(product, a_prev, &w.as_view(), c, buffers)
    }

    /// `dw = dzᵀ · a_prev`. With the epilogue `BGRADB` also `db = Σ_batch dz`.
    pub(crate) fn matmul_at_b(
        &self,
        product: &Product,
        dz: &Buffer,
        a_prev: &View<'_>,
        dw: &mut Buffer,
        db: &mut Buffer,
    ) -> Result<()> {
        let buffers = match product.epilogue() {
            Epilogue::Bgradb => EpilogueBuffers::Bgradb(db),
            _ => EpilogueBuffers::None,
        };
        self.run(product, &dz.as_view(), a_prev, dw, buffers)
    }

    /// `da = dz · w`, of the layer before. With the epilogue `DRELU_BGRAD` that layer's `dz` and
    /// `db = Σ_batch dz` are written, and `da` isn't; its mask says where its `z` was not negative.
    pub(crate) fn matmul_a_b(
        &self,
        product: &Product,
        dz: &Buffer,
        w: &Buffer,
        da: &mut Buffer,
        mask: &Mask,
        (dz_prev, db_prev): (&mut Buffer, &mut Buffer),
    ) -> Result<()> {
        let (c, buffers) = match product.epilogue() {
            Epilogue::DreluBgrad => (dz_prev, EpilogueBuffers::DreluBgrad(mask, db_prev)),
            _ => (da, EpilogueBuffers::None),
        };
        self.run(product, &dz.as_view(), &w.as_view(), c, buffers)
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
            Some(whole) => self.kernels.output_gradient_of_share(p, y, dz, (batch, whole), classes),
        };
        Ok(made?)
    }

    /// Says something on standard error, once.
    pub(crate) fn say(&self, text: &str) {
        if self.said.borrow_mut().insert(text.to_owned()) {
            host::complain(text);
        }
    }
}
