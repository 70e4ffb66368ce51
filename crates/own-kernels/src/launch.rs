//! The launch of a reader's kernel with the arguments of one of level 2's operations.
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use std::cell::RefCell;

use cudarc::driver::{CudaFunction, DevicePtr, LaunchConfig, PushKernelArg, result};
use gpu::memory::buffer;
use gpu::{Buffer, Launcher, Result, Substitute, Work};
use puzzles::level2::{Row, Scratch};

/// A loaded kernel of the reader's, and the row of the table that maps an operation's arguments to the kernel's.
pub(crate) struct OwnKernel {
    function: CudaFunction,
    row: &'static Row,
    /// A buffer that holds a copy of an argument, or ones; grows with the batch.
    scratch: RefCell<Option<Buffer>>,
}

impl OwnKernel {
    pub(crate) const fn new(function: CudaFunction, row: &'static Row) -> Self {
        Self { function, row, scratch: RefCell::new(None) }
    }

    pub(crate) const fn function(&self) -> &CudaFunction {
        &self.function
    }

    /// The address of a buffer with at least `elements` elements, all 1 unless a copy has overwritten them.
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
        let passed = self.row.arguments(arguments, |scratch| {
            let (from, elements) = match scratch {
                Scratch::Ones(elements) => return self.scratch(on, elements),
                Scratch::CopyOf(from, elements) => (from, elements),
            };
            let (to, bytes) = (self.scratch(on, elements)?, 4 * elements);
            on.profiler.copy("within the device", &on.stream, bytes, || {
                let stream = on.stream.cu_stream();
                // SAFETY: `scratch` allocates that many bytes, and the operation declares them.
                Ok(unsafe { result::memcpy_dtod_async(to, from, bytes, stream) }?)
            })?;
            Ok(to)
        })?;
        let mut launch = on.stream.launch_builder(&self.function);
        for argument in &passed {
            launch.arg(argument);
        }
        let [[columns, rows], [x, y]] = self.row.shape(arguments);
        let shape = LaunchConfig {
            grid_dim: (columns, rows, 1),
            block_dim: (x, y, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: the puzzle's check has accepted the parameters, and CUDA only reads their bytes of each argument. A
        // kernel that passes the check stays within its buffers, which hold what the operation declares; with
        // `--unchecked` the reader answers for that.
        unsafe { on.launch(launch, shape, work, false) }
    }
}
