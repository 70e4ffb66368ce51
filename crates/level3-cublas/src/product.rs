//! A product in the library's hands: planned once, and run at every step.
#![allow(unsafe_code, reason = "NVIDIA's libraries take addresses")]

use std::rc::Rc;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{DevicePtr, DevicePtrMut};
use gpu::Work;

use crate::column_major::{ColumnMajor, Form, Shape};
use crate::cublas::Cublas;
use crate::cublaslt::{Beside, CublasLt, Matmul, Question};
use crate::epilog::{Epilog, With};
use crate::error::{Error, Result};
use crate::operations::{Library, Operations};
use crate::{Buffer, Stream, View};

/// A product, ready to run.
pub(crate) struct Product {
    form: Form,
    shape: Shape,
    epilog: Epilog,
    how: How,
}

enum How {
    Sgemm(Rc<Cublas>, ColumnMajor),
    Planned(Rc<CublasLt>, Matmul),
}

impl Operations {
    /// Plans a product with an epilog, whose buffers lie where they are going to; without one where
    /// the library has none for it. `alignments` are those of `a` and `b`, in bytes.
    pub(crate) fn plan(
        &self,
        form: Form,
        shape: Shape,
        alignments: [u32; 2],
        with: &mut With<'_>,
    ) -> Result<Product> {
        let call = (self.rules.column_major)(form, shape);
        let lt = match &self.library {
            Library::Cublas(library) => {
                let how = How::Sgemm(Rc::clone(library), call);
                return Ok(Product { form, shape, epilog: Epilog::None, how });
            }
            Library::CublasLt(lt) => lt,
        };
        let ask = |epilog: Epilog, beside: Beside, mask_ld: usize| {
            // The library's first operand is our b; results are buffers of their own.
            let alignments = [alignments[1], alignments[0], OWN];
            let question = Question { call, epilog, beside, mask_ld, alignments };
            let planned = lt.plan(&question, &describe(form, shape, epilog))?;
            let product =
                |matmul| Product { form, shape, epilog, how: How::Planned(Rc::clone(lt), matmul) };
            Ok::<_, Error>(planned.map(product))
        };
        let mask_ld = match with {
            With::ReluAuxBias(_, mask) => mask.ld,
            With::DreluBgrad(mask, _) => mask.ld,
            _ => 0,
        };
        let wanted = with.epilog();
        if let Some(product) = ask(wanted, beside(with, self.stream()), mask_ld)? {
            return Ok(product);
        }
        if wanted != Epilog::None {
            self.say(&format!(
                "note: cuBLASLt has no algorithm for {}; what the epilog would do is done by \
                 kernels",
                describe(form, shape, wanted)
            ));
            if let Some(product) = ask(Epilog::None, Beside::default(), 0)? {
                return Ok(product);
            }
        }
        Err(Error::Library {
            call: "cublasLtMatmulAlgoGetHeuristic",
            status: "CUBLAS_STATUS_NOT_SUPPORTED".into(),
            product: describe(form, shape, Epilog::None),
        })
    }

    /// Computes a product. `with` is what it was planned with, or nothing where there was no
    /// algorithm for that.
    pub(crate) fn run(
        &self,
        product: &Product,
        a: &View<'_>,
        b: &View<'_>,
        c: &mut Buffer,
        mut with: With<'_>,
    ) -> Result<()> {
        let Product { form, shape, epilog, .. } = *product;
        let what = || describe(form, shape, epilog);
        if with.epilog() != epilog {
            let (planned, given) = (epilog, with.epilog());
            return Err(Error::Epilog { product: what(), planned, given });
        }
        let [m, n, k] = shape;
        let mut buffers = vec![("a", a.len(), m * k), ("b", b.len(), n * k), ("c", c.len(), m * n)];
        buffers.extend(with.buffers(shape));
        let work = Work::new(epilog.of(form), &buffers, 2 * m * n * k)?;
        self.profiled(work, || {
            let stream = self.stream();
            let beside = beside(&mut with, stream);
            let (a, _used) = a.device_ptr(stream);
            let (b, _used) = b.device_ptr(stream);
            let (c, _used) = c.device_ptr_mut(stream);
            // SAFETY: the buffers hold what the shape asks for, which was just checked, and the
            // rules say how it lies there. What is ours and comes second, the library has first.
            unsafe {
                match &product.how {
                    How::Sgemm(library, call) => {
                        library.run(call, [b, a, c], (self.rules.beta)(form), what)
                    }
                    How::Planned(library, matmul) => library.run(matmul, [b, a, c], beside, what),
                }
            }
        })
    }

    /// Runs what puts one launch into the stream, and writes it down.
    fn profiled(&self, work: Work, launch: impl FnOnce() -> Result<()>) -> Result<()> {
        let profiler = self.kernels.profiler();
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
    pub(crate) const fn epilog(&self) -> Epilog {
        self.epilog
    }
}

/// What a buffer of its own is aligned to, in bytes.
pub(crate) const OWN: u32 = 256;

/// Where an epilog's buffers are.
fn beside(with: &mut With<'_>, stream: &Stream) -> Beside {
    match with {
        With::Nothing => Beside::default(),
        With::Bias(b) => Beside { bias: b.device_ptr(stream).0, mask: 0 },
        With::ReluAuxBias(b, mask) => {
            Beside { bias: b.device_ptr(stream).0, mask: mask.bits.device_ptr_mut(stream).0 }
        }
        With::DreluBgrad(mask, db) => {
            Beside { bias: db.device_ptr_mut(stream).0, mask: mask.bits.device_ptr(stream).0 }
        }
        With::Bgradb(db) => Beside { bias: db.device_ptr_mut(stream).0, mask: 0 },
    }
}

/// `matmul_a_bt+BIAS of [8, 30] and [10, 30]`
fn describe(form: Form, [m, n, k]: Shape, epilog: Epilog) -> String {
    let name = epilog.of(form);
    match form {
        Form::ABt => format!("{name} of [{m}, {k}] and [{n}, {k}]"),
        Form::AtB => format!("{name} of [{k}, {m}] and [{k}, {n}]"),
        Form::AB => format!("{name} of [{m}, {k}] and [{k}, {n}]"),
    }
}
