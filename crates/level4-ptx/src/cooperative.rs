//! A kernel whose blocks wait for each other, so all of them must be on the device at once.

use cudarc::driver::sys::{CUdevice_attribute, CUfunction_attribute_enum};
use cudarc::driver::{CudaSlice, LaunchConfig};
use gpu::{GpuError, Result};
use tensor::Network;

use crate::Plan;
use crate::kernels::{Kernel, Loader};

/// Makes the plan for a network and a batch size. The last two arguments are the bytes of shared memory that a
/// block can have, and the number of blocks of a given number of bytes that fit onto the device at once.
type MakePlan = fn(&Network, usize, usize, &mut dyn FnMut(usize) -> usize) -> Option<Plan>;

/// A kernel that is launched cooperatively, and the plan of its launches.
pub(crate) struct Cooperative<P> {
    pub(crate) kernel: Kernel<P>,
    /// The counter of the barrier between all blocks of the grid.
    pub(crate) barrier: CudaSlice<u32>,
    make_plan: MakePlan,
    /// The batch size that was planned last, and its plan.
    plan: Option<(usize, Plan)>,
    /// Multiprocessors that run cooperative launches; 0 if the card doesn't support them.
    multiprocessors: usize,
    /// Bytes of shared memory that a block can have.
    shared: usize,
}

impl<P> Cooperative<P> {
    pub(crate) fn load(from: &Loader<'_>, name: &'static str, make_plan: MakePlan) -> Result<Self> {
        use CUdevice_attribute as Device;
        let attribute = |which| Ok::<_, GpuError>(from.gpu.context().attribute(which)?);
        let multiprocessors = attribute(Device::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        // Cards before compute capability 6.0 don't support cooperative launches.
        let cooperates = attribute(Device::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? != 0;
        let shared = attribute(Device::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let kernel = Kernel::load(from, name)?;
        // More than 48 KiB of shared memory is opt-in.
        let limit = CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        kernel.function.kernel().set_attribute(limit, shared)?;
        Ok(Self {
            barrier: kernel.launcher.stream.alloc_zeros(1)?,
            kernel,
            make_plan,
            plan: None,
            multiprocessors: if cooperates { multiprocessors as usize } else { 0 },
            shared: shared as usize,
        })
    }

    /// The plan for batches of this size; `None` if not all blocks fit onto the device at once.
    pub(crate) fn plan(&mut self, network: &Network, batch: usize) -> Option<&Plan> {
        if self.plan.as_ref().is_none_or(|(planned, _)| *planned != batch) {
            let (threads, kernel) = (Plan::THREADS as u32, self.kernel.function.kernel());
            let mut resident = |bytes| {
                let each =
                    kernel.occupancy_max_active_blocks_per_multiprocessor(threads, bytes, None);
                each.map_or(0, |blocks| blocks as usize * self.multiprocessors)
            };
            let plan = (self.make_plan)(network, batch, self.shared, &mut resident);
            self.plan = plan.map(|plan| (batch, plan));
        }
        self.plan.as_ref().map(|(_, plan)| plan)
    }

    /// The plan for which the table was written. Fails if its batch size isn't that of the loaded batch.
    pub(crate) fn planned(&self, batch: usize, operation: &'static str) -> Result<Plan> {
        let planned = self.plan.as_ref().filter(|(planned, _)| *planned == batch);
        planned.map(|(_, plan)| plan.clone()).ok_or(GpuError::NoBatch { operation })
    }
}

/// The grid of a plan.
pub(crate) fn shape(plan: &Plan) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (plan.blocks() as u32, 1, 1),
        block_dim: (Plan::THREADS as u32, 1, 1),
        shared_mem_bytes: plan.shared as u32,
    }
}
