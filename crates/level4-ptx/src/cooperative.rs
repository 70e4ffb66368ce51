//! A kernel whose blocks wait for each other: all of them have to be on the device at once.

use cudarc::driver::sys::{CUdevice_attribute, CUfunction_attribute_enum};
use cudarc::driver::{CudaSlice, LaunchConfig};
use gpu::{GpuError, Result};
use tensor::Network;

use crate::Plan;
use crate::kernels::{Loader, On};

/// Cuts batches of a size for a device with this many bytes of shared memory for a block, and room for this
/// many blocks of this many bytes.
type Cut = fn(&Network, usize, usize, &mut dyn FnMut(usize) -> usize) -> Option<Plan>;

/// A kernel that is launched cooperatively, and the plan of its launches.
pub(crate) struct Cooperative<P> {
    pub(crate) on: On<P>,
    /// Where the blocks of the grid wait for each other.
    pub(crate) barrier: CudaSlice<u32>,
    cut: Cut,
    /// How batches of the size that was loaded last are cut.
    plan: Option<(usize, Plan)>,
    /// Of which blocks that wait for each other can be on; 0 where the card can't promise that.
    multiprocessors: usize,
    /// Bytes of shared memory that a block can have.
    shared: usize,
}

impl<P> Cooperative<P> {
    pub(crate) fn load(from: &Loader<'_>, name: &'static str, cut: Cut) -> Result<Self> {
        use CUdevice_attribute as Device;
        let attribute = |which| Ok::<_, GpuError>(from.gpu.context().attribute(which)?);
        let multiprocessors = attribute(Device::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        // Cards before compute capability 6.0 can't promise that all blocks are there at once.
        let cooperates = attribute(Device::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? != 0;
        let shared = attribute(Device::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let on = On::load(from, name)?;
        // Beyond 48 KiB a kernel has to ask.
        let most = CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        on.kernel.kernel().set_attribute(most, shared)?;
        Ok(Self {
            barrier: on.launcher.stream.alloc_zeros(1)?,
            on,
            cut,
            plan: None,
            multiprocessors: if cooperates { multiprocessors as usize } else { 0 },
            shared: shared as usize,
        })
    }

    /// How a batch of that size is cut; `None` where the device has no room for it.
    pub(crate) fn plan(&mut self, network: &Network, batch: usize) -> Option<&Plan> {
        if self.plan.as_ref().is_none_or(|(planned, _)| *planned != batch) {
            let (threads, kernel) = (Plan::THREADS as u32, self.on.kernel.kernel());
            let mut resident = |bytes| {
                let each =
                    kernel.occupancy_max_active_blocks_per_multiprocessor(threads, bytes, None);
                each.map_or(0, |blocks| blocks as usize * self.multiprocessors)
            };
            let plan = (self.cut)(network, batch, self.shared, &mut resident);
            self.plan = plan.map(|plan| (batch, plan));
        }
        self.plan.as_ref().map(|(_, plan)| plan)
    }

    /// The plan that the table was written for, which is that of the loaded batch and of no other.
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
