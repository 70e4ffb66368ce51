//! Matrix products on device buffers by cuBLAS or cuBLASLt: planned for a shape, and run at every step.
#![allow(unsafe_code, reason = "NVIDIA's libraries take addresses")]

use std::rc::Rc;

use cudarc::driver::{DevicePtr, DevicePtrMut};
use gpu::{ActivityKind, AsView, Buffer, Launcher, Result, Work, size};

use crate::column_major::{Matmul, ProductShape, column_major};
use crate::epilogue::{Epilogue, Mask};
use crate::library::{EpiloguePointers, Library, Problem, Routine, rejected};

/// The alignment, in bytes, that the driver guarantees for every allocation (CUDA C++ Programming Guide, "Size and
/// Alignment Requirement").
pub const ALLOCATION_ALIGNMENT: u32 = 256;

/// A BLAS library, and the stream that it computes in.
pub struct Blas {
    /// The library.
    pub library: Box<dyn Library>,
    /// The stream, and the profiler that records the products.
    pub launcher: Launcher,
}

/// A planned product.
pub struct Product {
    problem: Problem,
    routine: Box<dyn Routine>,
    mask: Option<Rc<Mask>>,
}

impl Product {
    /// The description of the product that was passed to the library.
    #[must_use]
    pub const fn problem(&self) -> &Problem {
        &self.problem
    }
}

impl Blas {
    /// Plans a product with an epilogue, or without the epilogue if the library has no algorithm for both together.
    /// `alignments` are the alignments of `a` and `b` in bytes. `bias` and `mask` are the epilogue's buffers; the
    /// product ignores those that its epilogue doesn't use.
    ///
    /// # Errors
    /// [`GpuError::Library`](gpu::GpuError::Library) if the library rejects the product, or has no algorithm for it.
    pub fn plan(
        &self,
        matmul: Matmul,
        shape: ProductShape,
        alignments: [u32; 2],
        epilogue: Epilogue,
        bias: &Buffer,
        mask: Option<&Rc<Mask>>,
    ) -> Result<Product> {
        let problem = |epilogue| Problem {
            matmul,
            shape,
            epilogue,
            call: column_major(matmul, shape),
            beta: 0.0,
            pointers: self.pointers(epilogue, bias, mask),
            mask_ld: mask.map_or(0, |mask| mask.ld),
            // The order is swapped, because the library's first operand is our b. The result always has its own
            // allocation.
            alignments: [alignments[1], alignments[0], ALLOCATION_ALIGNMENT],
        };
        for problem in [problem(epilogue), problem(Epilogue::None)] {
            if let Some(routine) = self.library.plan(&problem)? {
                return Ok(Product { problem, routine, mask: mask.cloned() });
            }
        }
        let call = "cublasLtMatmulAlgoGetHeuristic";
        Err(rejected(call, &problem(Epilogue::None))("CUBLAS_STATUS_NOT_SUPPORTED"))
    }

    fn pointers(
        &self,
        epilogue: Epilogue,
        bias: &Buffer,
        mask: Option<&Rc<Mask>>,
    ) -> EpiloguePointers {
        let stream = &self.launcher.stream;
        let mask = mask.filter(|_| epilogue.uses_mask());
        EpiloguePointers {
            bias: if epilogue.uses_bias() { bias.device_ptr(stream).0 } else { 0 },
            aux: mask.map_or(0, |mask| mask.bits.device_ptr(stream).0),
        }
    }

    /// Computes a product: `c` from `a` and `b`. Its epilogue reads or writes `bias`, and the mask with which it
    /// was planned.
    ///
    /// # Errors
    /// [`GpuError::Shape`](gpu::GpuError::Shape) if a buffer is smaller than its shape;
    /// [`GpuError::Library`](gpu::GpuError::Library) if the library rejects the call; the driver's error.
    pub fn run(
        &self,
        product: &Product,
        a: &impl AsView,
        b: &impl AsView,
        c: &mut Buffer,
        bias: &Buffer,
    ) -> Result<()> {
        let (Problem { matmul, shape: [m, n, k], epilogue, .. }, mask) =
            (product.problem, product.mask.as_ref());
        let (a, b) = (a.view(), b.view());
        let mut arguments = vec![
            ("a", a.len(), size([m, k])),
            ("b", b.len(), size([n, k])),
            ("c", c.len(), size([m, n])),
        ];
        if epilogue.uses_bias() {
            let units = if epilogue == Epilogue::Bgradb { m } else { n };
            arguments.push(("bias", bias.len(), size([units])));
        }
        if let Some(mask) = mask.filter(|_| epilogue.uses_mask()) {
            // The mask's size in 32-bit elements, the unit of all sizes here.
            let words = size([m, mask.ld]).get() / 32;
            arguments.push(("mask", mask.bits.len() / 4, size([words])));
        }
        let work = Work::new(epilogue.operation(matmul), &arguments, size([2, m, n, k]))?;
        let Launcher { stream, profiler, .. } = &self.launcher;
        let pointers = self.pointers(epilogue, bias, mask);
        let (a, _used) = a.device_ptr(stream);
        let (b, _used) = b.device_ptr(stream);
        let (c, _used) = c.device_ptr_mut(stream);
        profiler.activity(work, ActivityKind::Kernel, stream, || {
            // SAFETY: the buffers were just checked to hold as many elements as the shape, and `column_major`
            // describes their layout. The library's first operand is our second.
            unsafe { product.routine.run([b, a, c], pointers) }
        })
    }
}
