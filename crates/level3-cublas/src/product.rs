//! The matrix products: planned for a size of batch, and run at every step.
#![allow(unsafe_code, reason = "NVIDIA's libraries take addresses")]

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{DevicePtr, DevicePtrMut};
use gpu::{Buffer, View, Work, size};

use crate::column_major::{Matmul, ProductShape, column_major};
use crate::epilogue::{Epilogue, EpilogueBuffers};
use crate::error::{Result, rejected};
use crate::library::{EpiloguePointers, Problem, Routine};
use crate::operations::Operations;

/// The alignment in bytes of every allocation of the driver (CUDA C++ Programming Guide, "Size and Alignment
/// Requirement").
pub(crate) const ALLOCATED: u32 = 256;

/// A planned product.
pub(crate) struct Product {
    pub(crate) problem: Problem,
    routine: Box<dyn Routine>,
}

impl Operations {
    /// Plans a product with an epilogue; without it if the library has no algorithm for both.
    /// `alignments` are those of `a` and `b` in bytes.
    pub(crate) fn plan(
        &self,
        matmul: Matmul,
        shape: ProductShape,
        alignments: [u32; 2],
        epilogue: Epilogue,
        buffers: EpilogueBuffers<'_>,
    ) -> Result<Product> {
        let problem = |epilogue| Problem {
            matmul,
            shape,
            epilogue,
            call: column_major(matmul, shape),
            beta: 0.0,
            pointers: self.pointers(epilogue, buffers),
            mask_ld: buffers.mask.map_or(0, |mask| mask.ld),
            // The library's first operand is our b. The result always has its own allocation.
            alignments: [alignments[1], alignments[0], ALLOCATED],
        };
        for problem in [problem(epilogue), problem(Epilogue::None)] {
            if let Some(routine) = self.library.plan(&problem)? {
                return Ok(Product { problem, routine });
            }
        }
        let call = "cublasLtMatmulAlgoGetHeuristic";
        Err(rejected(call, &problem(Epilogue::None))("CUBLAS_STATUS_NOT_SUPPORTED"))
    }

    fn pointers(&self, epilogue: Epilogue, buffers: EpilogueBuffers<'_>) -> EpiloguePointers {
        let stream = self.stream();
        let mask = buffers.mask.filter(|_| epilogue.uses_mask());
        EpiloguePointers {
            bias: if epilogue.uses_bias() { buffers.bias.device_ptr(stream).0 } else { 0 },
            aux: mask.map_or(0, |mask| mask.bits.device_ptr(stream).0),
        }
    }

    /// Computes a product: `c` from `a` and `b`. Its epilogue reads and writes `buffers`.
    pub(crate) fn run(
        &self,
        product: &Product,
        a: &View<'_>,
        b: &View<'_>,
        c: &mut Buffer,
        buffers: EpilogueBuffers<'_>,
    ) -> Result<()> {
        let Problem { matmul, shape: [m, n, k], epilogue, .. } = product.problem;
        let mut arguments = vec![
            ("a", a.len(), size([m, k])),
            ("b", b.len(), size([n, k])),
            ("c", c.len(), size([m, n])),
        ];
        if epilogue.uses_bias() {
            let units = if epilogue == Epilogue::Bgradb { m } else { n };
            arguments.push(("bias", buffers.bias.len(), size([units])));
        }
        if let Some(mask) = buffers.mask.filter(|_| epilogue.uses_mask()) {
            // Counted in elements of 32 bits, as all arguments.
            let words = size([m, mask.ld]).get() / 32;
            arguments.push(("mask", mask.bits.len() / 4, size([words])));
        }
        let work = Work::new(epilogue.operation(matmul), &arguments, size([2, m, n, k]))?;
        let (stream, profiler) = (self.stream(), &self.kernels.launcher.profiler);
        let pointers = self.pointers(epilogue, buffers);
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
