//! Launches that are written down.

#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{LaunchArgs, LaunchConfig};

use super::Profiler;
use crate::{Range, Result, Work};

impl Profiler {
    /// A launch that is about to be made: its time will be taken while the range lives.
    fn prepared(
        &self,
        launch: &mut LaunchArgs<'_>,
        shape: LaunchConfig,
        operation: &'static str,
    ) -> Result<Option<Range>> {
        self.shaped(operation, shape)?;
        if self.is_on() {
            launch.record_kernel_launch(CUevent_flags::CU_EVENT_DEFAULT);
        }
        Ok(self.range(operation))
    }

    /// Launches a kernel, and writes it down. The host does not wait.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// The arguments are those that the kernel takes, and it stays within their buffers.
    pub unsafe fn launch(
        &self,
        mut launch: LaunchArgs<'_>,
        shape: LaunchConfig,
        work: Work,
    ) -> Result<()> {
        let _range = self.prepared(&mut launch, shape, work.operation)?;
        // SAFETY: as the caller promises.
        let events = unsafe { launch.launch(shape) }?;
        self.launched(work, events)
    }

    /// The same, with all blocks on the device at once, so that they can wait for each other.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// As of [`launch`](Self::launch).
    pub unsafe fn launch_cooperative(
        &self,
        mut launch: LaunchArgs<'_>,
        shape: LaunchConfig,
        work: Work,
    ) -> Result<()> {
        let _range = self.prepared(&mut launch, shape, work.operation)?;
        // SAFETY: as the caller promises.
        let events = unsafe { launch.launch_cooperative(shape) }?;
        self.launched(work, events)
    }
}
