//! The third and the fifth rung: one cooperative launch of the kernel in `ptx/one_launch.ptx` or `ptx/whole_epoch.ptx`.
//! The launch's blocks wait for each other, so all of them must be on the device at once.

use cudarc::driver::sys::{CUdevice_attribute, CUfunction_attribute_enum};
use cudarc::driver::{CudaFunction, CudaSlice};
use data::Batch;
use gpu::memory::grow;
use gpu::phases::{BACKWARD, FORWARD, Phases, STEP, UPDATE};
use gpu::transfer::{SamplesOnDevice, Transfer};
use gpu::{GpuError, Read, Write, launch};
use tensor::Network;
use training::{Error, Result};

use crate::launches::{Kernel, Launches, Loader};
use crate::state::{AllLayers, State};
use crate::{Plan, Record, Rung};

/// The parameters of `step`, in the order of its launch.
type Step = (Read, u32, u32, Read, Read, Write, Write, u32, f32, Phases, u32, u32, u32, Write);
/// The parameters of `steps`, in the order of its launch.
type Steps = (Read, u32, u32, Read, Read, Write, Write, Read, u32, u32, f32, Phases, u32, Write);

/// The kernel of a cooperative rung.
enum Entry {
    /// The kernel of `one-launch`, which runs one training step.
    Step(Kernel<Step>),
    /// The kernel of `whole-epoch`, which runs many training steps.
    Steps(Kernel<Steps>),
}

/// A kernel that is launched cooperatively.
pub(crate) struct Cooperative {
    rung: Rung,
    entry: Entry,
    /// The driver's handle of the same kernel, for occupancy queries.
    function: CudaFunction,
    /// The counter of the barrier between all blocks of the grid.
    barrier: CudaSlice<u32>,
    /// The number of multiprocessors; 0 if the card doesn't support cooperative launches.
    multiprocessors: usize,
    /// The maximum shared memory of a block, in bytes.
    shared: usize,
}

impl Cooperative {
    pub(crate) fn boxed(from: &Loader<'_>, rung: Rung) -> Result<Box<dyn Launches>> {
        use CUdevice_attribute as Device;
        let attribute = |which| from.gpu.context().attribute(which).map_err(GpuError::from);
        let multiprocessors = attribute(Device::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        // Cards before compute capability 6.0 don't support cooperative launches.
        let cooperates = attribute(Device::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? != 0;
        let shared = attribute(Device::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let (name, entry) = match rung {
            Rung::WholeEpoch => ("steps", Entry::Steps(Kernel::load(from, "steps")?)),
            _ => ("step", Entry::Step(Kernel::load(from, "step")?)),
        };
        let function = from.find(name)?;
        // More than 48 KiB of shared memory is opt-in.
        let limit = CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        function.set_attribute(limit, shared).map_err(GpuError::from)?;
        let barrier = from.launcher.stream.alloc_zeros(1).map_err(GpuError::from)?;
        let multiprocessors = if cooperates { multiprocessors as usize } else { 0 };
        let shared = shared as usize;
        Ok(Box::new(Self { rung, entry, function, barrier, multiprocessors, shared }))
    }

    /// Runs phases on these batches, all of the size that was passed to [`State::make_room`], except that the last may
    /// be smaller. If `batches` is empty, runs the phases on the loaded batch. Returns false and does nothing if the
    /// batches aren't in the device's memory.
    fn run(
        &mut self,
        state: &mut State,
        batches: &[Batch<'_>],
        phases: Phases,
        learning_rate: f32,
    ) -> Result<bool> {
        let name = match phases {
            FORWARD => "forward",
            BACKWARD => "backward",
            UPDATE => "update",
            _ if self.rung == Rung::WholeEpoch => "steps",
            _ => "step",
        };
        let AllLayers { layers, loss, batch, n0, classes, weights, units, .. } =
            state.all_layers(name)?;
        let State { buffers: gpu::State { input, p, .. }, table, losses, plan, .. } = state;
        let (x, y, rows) = (input.x(), input.y(), batch as usize);
        let (samples, found) = match batches {
            [] => (batch, Some(SamplesOnDevice { x, y, rows, order: None })),
            _ => (batches.iter().map(Batch::len).sum::<usize>() as u32, input.find(batches)?),
        };
        let Some(SamplesOnDevice { x, y, rows, order }) = &found else { return Ok(false) };
        let (rows, barrier) = (*rows, &mut self.barrier);
        // For each weight and sample, there is one multiply-add in the forward pass, and there are two in the backward
        // pass.
        let flops = 2 * (phases & FORWARD) + 2 * (phases & BACKWARD);
        let numbers = weights + samples as usize * units;
        match &self.entry {
            Entry::Step(on) => {
                let (chunks, groups) = (plan.chunks as u32, plan.groups as u32);
                let on_chip = u32::from(plan.on_chip);
                launch!(cooperative on.function as name, plan.grid(),
                    flops[flops * weights * batch] bytes[4 * numbers],
                    read table[layers * (Record::WORDS)], layers, loss, read x[batch * n0],
                    read y[batch * classes], write p[batch * classes], write losses[batch], batch,
                    learning_rate, phases, chunks, groups, on_chip, update barrier[1])?;
            }
            Entry::Steps(on) => {
                // Adds the weights a second time, because each weight is loaded once and stored once.
                let numbers = weights + numbers;
                // The last part of shared memory has the row numbers of a batch.
                let rows_at = plan.shared as u32 - 4 * batch;
                // If there is no list of rows, row i is sample i.
                let order = order.as_ref();
                launch!(cooperative on.function as name, plan.grid(),
                    flops[flops * weights * samples] bytes[4 * numbers],
                    read table[layers * (Record::WORDS)], layers, loss, read x[rows * n0],
                    read y[rows * classes], write p[batch * classes], write losses[samples],
                    read order[samples], samples, batch, learning_rate, phases, rows_at,
                    update barrier[1])?;
            }
        }
        Ok(true)
    }
}

impl Launches for Cooperative {
    fn launch(&mut self, state: &mut State, phases: Phases, learning_rate: f32) -> Result<()> {
        self.run(state, &[], phases, learning_rate).map(|_| ())
    }

    fn plan(&self, network: &Network, batch: usize) -> Result<Plan> {
        let mut resident = |bytes| {
            let threads = Plan::THREADS as u32;
            let each =
                self.function.occupancy_max_active_blocks_per_multiprocessor(threads, bytes, None);
            each.map_or(0, |blocks| blocks as usize * self.multiprocessors)
        };
        let plan = Plan::new(self.rung, network, batch, self.shared, &mut resident);
        plan.ok_or_else(|| {
            let hidden = network.sizes.windows(2).take(network.layers() - 1);
            let bytes = size_of::<f32>() * hidden.map(|n| n[0] * n[1]).sum::<usize>();
            Error::Usage(match self.rung {
                Rung::WholeEpoch => format!(
                    "{network}, batches of {batch}: the device can't keep {} kB of hidden weights on chip \
                     with all blocks resident: choose --kernels one-launch",
                    bytes.div_ceil(1000)
                ),
                _ => format!(
                    "the device can't hold all blocks of one launch for {network} and batches of {batch} \
                     at once, and they wait for each other: choose --kernels tiled"
                ),
            })
        })
    }

    fn steps(&mut self, state: &mut State, batches: &[Batch<'_>], rate: f32) -> Result<bool> {
        let [first, before @ .., last] = batches else { return Ok(false) };
        let is_full = |batch: &Batch<'_>| batch.len() == first.len();
        let fit = before.iter().all(is_full) && last.len() <= first.len();
        if self.rung != Rung::WholeEpoch || !fit {
            return Ok(false);
        }
        state.make_room(self, first.len())?;
        let samples = batches.iter().map(Batch::len).sum();
        grow(&state.buffers.stream, &mut state.losses, samples)?;
        self.run(state, batches, STEP, rate)
    }
}
