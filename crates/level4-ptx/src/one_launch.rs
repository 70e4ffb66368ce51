//! The last rung: the one launch of `ptx/one_launch.ptx`.
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use cudarc::driver::sys::{CUdevice_attribute, CUfunction_attribute_enum};
use cudarc::driver::{CudaFunction, CudaSlice, LaunchConfig, PushKernelArg};
use gpu::{Gpu, GpuError, Result};
use tensor::Network;

use crate::Plan;
use crate::kernels::Launcher;
use crate::state::{State, loss_code};
use crate::thread_per_sample::work;

/// Which phases a launch runs; added up for more than one.
pub(crate) const FORWARD: u32 = 1;
pub(crate) const BACKWARD: u32 = 2;
pub(crate) const UPDATE: u32 = 4;

/// The kernel of the last rung.
pub(crate) struct OneLaunch {
    step: CudaFunction,
    /// Where the blocks of the grid wait for each other.
    barrier: CudaSlice<u32>,
    /// How batches of the size that was loaded last are cut.
    plan: Option<(usize, Plan)>,
    /// Of which blocks that wait for each other can be on; 0 where the card can't promise that.
    multiprocessors: usize,
    /// Bytes of shared memory that a block can have.
    shared: usize,
    pub(crate) on: Launcher,
}

impl OneLaunch {
    pub(crate) fn new(gpu: &Gpu, step: CudaFunction, on: Launcher) -> Result<Self> {
        use CUdevice_attribute as Device;
        let attribute = |which| Ok::<_, gpu::GpuError>(gpu.context().attribute(which)?);
        let multiprocessors = attribute(Device::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        // Cards before compute capability 6.0 can't promise that all blocks are there at once.
        let cooperates = attribute(Device::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? != 0;
        let shared = attribute(Device::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        // Beyond 48 KiB a kernel has to ask.
        let most = CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        step.set_attribute(most, shared)?;
        Ok(Self {
            barrier: on.stream.alloc_zeros(1)?,
            plan: None,
            multiprocessors: if cooperates { multiprocessors as usize } else { 0 },
            shared: shared as usize,
            step,
            on,
        })
    }

    /// How a batch of that size is cut; `None` where the device has no room for it.
    pub(crate) fn plan(&mut self, network: &Network, batch: usize) -> Option<&Plan> {
        if self.plan.as_ref().is_none_or(|(planned, _)| *planned != batch) {
            let (threads, cores) = (Plan::THREADS as u32, self.multiprocessors);
            let resident = |bytes| {
                let step = &self.step;
                let each =
                    step.occupancy_max_active_blocks_per_multiprocessor(threads, bytes, None);
                each.map_or(0, |blocks| blocks as usize * cores)
            };
            self.plan = Plan::new(network, batch, self.shared, resident).map(|plan| (batch, plan));
        }
        self.plan.as_ref().map(|(_, plan)| plan)
    }

    /// Runs some phases of a training step on the loaded batch.
    pub(crate) fn step(
        &mut self,
        state: &mut State,
        learning_rate: f32,
        phases: u32,
        operation: &'static str,
    ) -> Result<()> {
        let flops = 2 * (phases & FORWARD) as usize + 2 * (phases & BACKWARD) as usize;
        let work = work(operation, state, flops)?;
        // The table was written for the plan of the loaded batch, and for no other.
        let Some((_, plan)) = self.plan.as_ref().filter(|(batch, _)| *batch == state.batch) else {
            return Err(GpuError::NoBatch { operation });
        };
        let (layers, batch) = (state.layers.len() as u32, state.batch as u32);
        let loss = loss_code(state.loss);
        let (chunks, groups) = (plan.chunks as u32, plan.groups as u32);
        let on_chip = u32::from(plan.on_chip);
        let (x, y) = (state.input.x(), state.input.y());
        let mut launch = self.on.stream.launch_builder(&self.step);
        launch.arg(&state.table).arg(&layers).arg(&loss);
        launch.arg(&x).arg(&y).arg(&mut state.p).arg(&mut state.losses);
        launch.arg(&batch).arg(&learning_rate).arg(&phases);
        launch.arg(&chunks).arg(&groups).arg(&on_chip).arg(&mut self.barrier);
        let shape = LaunchConfig {
            grid_dim: (plan.blocks() as u32, 1, 1),
            block_dim: (Plan::THREADS as u32, 1, 1),
            shared_mem_bytes: plan.shared as u32,
        };
        // SAFETY: these are the kernel's parameters; the table says what the layers are, and was
        // written for this plan.
        unsafe { self.on.launch_cooperative(launch, shape, work) }
    }
}
