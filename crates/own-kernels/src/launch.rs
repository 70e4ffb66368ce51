//! The launch of a reader's kernel with the arguments of one of level 2's operations.
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use std::cell::RefCell;

use cudarc::driver::{CudaFunction, DevicePtr, PushKernelArg, result};
use gpu::memory::buffer;
use gpu::{Buffer, Launcher, Result, Substitute, Work};

use crate::table::{Argument, Row};

/// A loaded kernel of the reader's, and the row with its arguments.
pub(crate) struct OwnKernel {
    function: CudaFunction,
    row: &'static Row,
    /// The buffer for [`Argument::CopyOf`] or [`Argument::Ones`]; grows with the batch.
    scratch: RefCell<Option<Buffer>>,
}

impl OwnKernel {
    pub(crate) const fn new(function: CudaFunction, row: &'static Row) -> Self {
        Self { function, row, scratch: RefCell::new(None) }
    }

    pub(crate) const fn function(&self) -> &CudaFunction {
        &self.function
    }

    /// The address of a buffer of at least `elements` elements, which are 1 until something is copied to it.
    fn scratch(&self, on: &Launcher, elements: usize) -> Result<u64> {
        let mut scratch = self.scratch.borrow_mut();
        let held = match scratch.take().filter(|held| held.len() >= elements) {
            Some(held) => held,
            None => {
                let mut held = buffer(&on.stream, elements)?;
                on.stream.memcpy_htod(&vec![1.0; elements], &mut held)?;
                held
            }
        };
        Ok(scratch.insert(held).device_ptr(&on.stream).0)
    }
}

impl Substitute for OwnKernel {
    fn launch(&self, on: &Launcher, arguments: &[u64], work: Work) -> Result<()> {
        let elements =
            |[rows, columns]: [usize; 2]| (arguments[rows] * arguments[columns]) as usize;
        let mut passed = Vec::with_capacity(self.row.arguments.len());
        for argument in self.row.arguments {
            passed.push(match *argument {
                Argument::Given(position) => arguments[position],
                Argument::Ones(shape) => self.scratch(on, elements(shape))?,
                Argument::CopyOf(position, shape) => {
                    let (to, bytes) = (self.scratch(on, elements(shape))?, 4 * elements(shape));
                    on.profiler.copy("within the device", &on.stream, bytes, || {
                        let (from, stream) = (arguments[position], on.stream.cu_stream());
                        // SAFETY: `scratch` allocates that many bytes, and the operation declares them.
                        Ok(unsafe { result::memcpy_dtod_async(to, from, bytes, stream) }?)
                    })?;
                    to
                }
            });
        }
        let mut launch = on.stream.launch_builder(&self.function);
        for argument in &passed {
            launch.arg(argument);
        }
        // SAFETY: the puzzle's check has accepted the parameters, and CUDA only reads their bytes of each argument. A
        // kernel that passes the check stays within its buffers, which hold what the operation declares; with
        // `--unchecked` the reader answers for that.
        unsafe { on.launch(launch, self.row.threads.shape(arguments), work, false) }
    }
}
