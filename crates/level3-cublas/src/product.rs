//! A product in the library's hands: planned once, and run at every step.
#![allow(unsafe_code, reason = "NVIDIA's libraries take addresses")]

use std::rc::Rc;
use std::sync::Arc;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};
use gpu::{Buffer, View, Work, size};

use crate::column_major::{ColumnMajor, Matmul, Shape};
use crate::cublas::Cublas;
use crate::cublaslt::{CublasLt, EpiloguePointers, MatmulProblem, PlannedMatmul};
use crate::epilogue::{Epilogue, EpilogueBuffers};
use crate::error::{Error, Result};
use crate::operations::{Library, Operations};

/// A product, ready to run.
pub(crate) struct Product {
    matmul: Matmul,
    shape: Shape,
    epilogue: Epilogue,
    routine: Routine,
}

/// The library's function that computes it, with what that was told beforehand.
enum Routine {
    Sgemm(Rc<Cublas>, ColumnMajor),
    Planned(Rc<CublasLt>, PlannedMatmul),
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
        let call = (self.rules.column_major)(matmul, shape);
        let lt = match &self.library {
            Library::Cublas(library) => {
                let routine = Routine::Sgemm(Rc::clone(library), call);
                return Ok(Product { matmul, shape, epilogue: Epilogue::None, routine });
            }
            Library::CublasLt(lt) => lt,
        };
        let ask = |epilogue: Epilogue, pointers: EpiloguePointers, mask_ld: usize| {
            // The library's first operand is our b; results are buffers of their own.
            let alignments = [alignments[1], alignments[0], OWN];
            let problem = MatmulProblem { call, epilogue, pointers, mask_ld, alignments };
            let planned = lt.plan(&problem, &describe(matmul, shape, epilogue))?;
            if let Some(measured) = planned.as_ref().and_then(|planned| planned.measured.as_ref()) {
                self.say(measured);
            }
            let product = |planned| Product {
                matmul,
                shape,
                epilogue,
                routine: Routine::Planned(Rc::clone(lt), planned),
            };
            Ok::<_, Error>(planned.map(product))
        };
        let mask_ld = match buffers {
            EpilogueBuffers::ReluAuxBias(_, mask) => mask.ld,
            EpilogueBuffers::DreluBgrad(mask, _) => mask.ld,
            _ => 0,
        };
        let wanted = buffers.epilogue();
        if let Some(product) = ask(wanted, pointers(buffers, self.stream()), mask_ld)? {
            return Ok(product);
        }
        if wanted != Epilogue::None {
            self.say(&format!(
                "note: cuBLASLt has no algorithm for {}; what the epilogue would do is done by \
                 kernels",
                describe(matmul, shape, wanted)
            ));
            if let Some(product) = ask(Epilogue::None, EpiloguePointers::default(), 0)? {
                return Ok(product);
            }
        }
        Err(Error::Library {
            call: "cublasLtMatmulAlgoGetHeuristic",
            status: "CUBLAS_STATUS_NOT_SUPPORTED".into(),
            product: describe(matmul, shape, Epilogue::None),
        })
    }

    /// Computes a product. `fused` is what it was planned with, or nothing where there was no
    /// algorithm for that.
    pub(crate) fn run(
        &self,
        product: &Product,
        a: &View<'_>,
        b: &View<'_>,
        c: &mut Buffer,
        mut fused: EpilogueBuffers<'_>,
    ) -> Result<()> {
        let Product { matmul, shape, epilogue, .. } = *product;
        let what = || describe(matmul, shape, epilogue);
        if fused.epilogue() != epilogue {
            let (planned, given) = (epilogue, fused.epilogue());
            return Err(Error::Epilogue { product: what(), planned, given });
        }
        let [m, n, k] = shape;
        let mut buffers = vec![
            ("a", a.len(), size([m, k])),
            ("b", b.len(), size([n, k])),
            ("c", c.len(), size([m, n])),
        ];
        buffers.extend(fused.buffers(shape));
        let work = Work::new(epilogue.of(matmul), &buffers, size([2, m, n, k]))?;
        self.profiled(work, || {
            let stream = self.stream();
            let pointers = pointers(&mut fused, stream);
            let (a, _used) = a.device_ptr(stream);
            let (b, _used) = b.device_ptr(stream);
            let (c, _used) = c.device_ptr_mut(stream);
            // SAFETY: the buffers hold what the shape asks for, which was just checked, and the
            // rules say how it lies there. What is ours and comes second, the library has first.
            unsafe {
                match &product.routine {
                    Routine::Sgemm(library, call) => {
                        library.run(call, [b, a, c], (self.rules.beta)(matmul), what)
                    }
                    Routine::Planned(library, planned) => {
                        library.run(planned, [b, a, c], pointers, what)
                    }
                }
            }
        })
    }

    /// Runs what puts one launch into the stream, and writes it down.
    fn profiled(&self, work: Work, launch: impl FnOnce() -> Result<()>) -> Result<()> {
        let profiler = &self.kernels.launcher.profiler;
        let _range = profiler.range(work.operation);
        if !profiler.is_on() {
            return launch();
        }
        let event = || self.stream().record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        let start = event()?;
        launch()?;
        Ok(profiler.launched(work, Some((start, event()?)))?)
    }
}

impl Product {
    /// What is done to the product besides.
    pub(crate) const fn epilogue(&self) -> Epilogue {
        self.epilogue
    }
}

/// What a buffer of its own is aligned to, in bytes.
pub(crate) const OWN: u32 = 256;

/// Where an epilogue's buffers are.
fn pointers(buffers: &mut EpilogueBuffers<'_>, stream: &Arc<CudaStream>) -> EpiloguePointers {
    match buffers {
        EpilogueBuffers::None => EpiloguePointers::default(),
        EpilogueBuffers::Bias(b) => EpiloguePointers { bias: b.device_ptr(stream).0, aux: 0 },
        EpilogueBuffers::ReluAuxBias(b, mask) => EpiloguePointers {
            bias: b.device_ptr(stream).0,
            aux: mask.bits.device_ptr_mut(stream).0,
        },
        EpilogueBuffers::DreluBgrad(mask, db) => EpiloguePointers {
            bias: db.device_ptr_mut(stream).0,
            aux: mask.bits.device_ptr(stream).0,
        },
        EpilogueBuffers::Bgradb(db) => {
            EpiloguePointers { bias: db.device_ptr_mut(stream).0, aux: 0 }
        }
    }
}

/// `matmul_a_bt+BIAS of [8, 30] and [10, 30]`
fn describe(matmul: Matmul, [m, n, k]: Shape, epilogue: Epilogue) -> String {
    let name = epilogue.of(matmul);
    match matmul {
        Matmul::ABt => format!("{name} of [{m}, {k}] and [{n}, {k}]"),
        Matmul::AtB => format!("{name} of [{k}, {m}] and [{k}, {n}]"),
        Matmul::AB => format!("{name} of [{m}, {k}] and [{k}, {n}]"),
    }
}
