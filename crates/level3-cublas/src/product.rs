//! A product in the library's hands: planned once, and run at every step.
#![allow(unsafe_code, reason = "NVIDIA's libraries take addresses")]

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{DevicePtr, DevicePtrMut};
use gpu::{Buffer, View, Work, size};

use crate::column_major::{Matmul, Shape, column_major};
use crate::epilogue::{Epilogue, EpilogueBuffers};
use crate::error::{Error, Result};
use crate::library::{EpiloguePointers, Problem, Routine};
use crate::operations::Operations;

/// The alignment of a buffer with its own allocation, in bytes.
pub(crate) const OWN: u32 = 256;

/// A product, ready to run.
pub(crate) struct Product {
    problem: Problem,
    routine: Box<dyn Routine>,
}

impl Product {
    /// The product's epilogue.
    pub(crate) const fn epilogue(&self) -> Epilogue {
        self.problem.epilogue
    }

    /// The product in words.
    pub(crate) fn describe(&self) -> String {
        self.problem.to_string()
    }
}

impl Operations {
    /// Plans a product with an epilogue, whose buffers lie where they are going to; without one where
    /// the library has none for it. `alignments` are those of `a` and `b`, in bytes.
    pub(crate) fn plan(
        &self,
        matmul: Matmul,
        shape: Shape,
        alignments: [u32; 2],
        buffers: &mut EpilogueBuffers<'_>,
    ) -> Result<Product> {
        let (pointers, mask_ld) = buffers.pointers(self.stream());
        let plain = Problem {
            matmul,
            shape,
            epilogue: Epilogue::None,
            call: column_major(matmul, shape),
            beta: 0.0,
            pointers: EpiloguePointers::default(),
            mask_ld: 0,
            // The library's first operand is our b; results are buffers of their own.
            alignments: [alignments[1], alignments[0], OWN],
        };
        let fused = Problem { epilogue: buffers.epilogue(), pointers, mask_ld, ..plain };
        if self.library.has_epilogues() && fused.epilogue != Epilogue::None {
            if let Some(product) = self.ask(fused)? {
                return Ok(product);
            }
            self.say(&format!(
                "note: cuBLASLt has no algorithm for {fused}; what the epilogue would do is done by \
                 kernels"
            ));
        }
        self.ask(plain)?.ok_or_else(|| Error::Library {
            call: "cublasLtMatmulAlgoGetHeuristic",
            status: "CUBLAS_STATUS_NOT_SUPPORTED".into(),
            product: plain.to_string(),
        })
    }

    /// Asks the library to plan a product; `None` if it has no algorithm.
    fn ask(&self, problem: Problem) -> Result<Option<Product>> {
        let Some(routine) = self.library.plan(&problem)? else { return Ok(None) };
        if let Some(measured) = routine.measured() {
            self.say(measured);
        }
        Ok(Some(Product { problem, routine }))
    }

    /// Computes a product, with the buffers of the epilogue that it was planned with.
    pub(crate) fn run(
        &self,
        product: &Product,
        a: &View<'_>,
        b: &View<'_>,
        c: &mut Buffer,
        mut fused: EpilogueBuffers<'_>,
    ) -> Result<()> {
        let Problem { matmul, shape, epilogue, .. } = product.problem;
        let [m, n, k] = shape;
        let mut buffers = vec![
            ("a", a.len(), size([m, k])),
            ("b", b.len(), size([n, k])),
            ("c", c.len(), size([m, n])),
        ];
        buffers.extend(fused.buffers(shape));
        let work = Work::new(epilogue.of(matmul), &buffers, size([2, m, n, k]))?;
        let (stream, profiler) = (self.stream(), &self.kernels.launcher.profiler);
        let (pointers, _) = fused.pointers(stream);
        let (a, _used) = a.device_ptr(stream);
        let (b, _used) = b.device_ptr(stream);
        let (c, _used) = c.device_ptr_mut(stream);
        // SAFETY: the buffers were just checked to hold as many elements as the shape, and `column_major`
        // describes their layout. The library's first operand is our second.
        let launch = || unsafe { product.routine.run([b, a, c], pointers) };
        let _range = profiler.range(work.operation);
        if !profiler.is_on() {
            return launch();
        }
        let event = || stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        let start = event()?;
        launch()?;
        Ok(profiler.launched(work, Some((start, event()?)))?)
    }
}
