//! In which modes a card is: none of those that can be switched on.

use std::ffi::c_uint;

use c_abi::export;

use crate::ffi::Out;
use crate::session::Handle;

export! {
    /// Any number of contexts: `NVML_COMPUTEMODE_DEFAULT`, as the driver has it.
    fn nvmlDeviceGetComputeMode(device: Handle, out: Out<'_, c_uint>) {
        device.number()?;
        out.set(0)
    }

    /// Nothing stays loaded where no process uses the card.
    fn nvmlDeviceGetPersistenceMode(device: Handle, out: Out<'_, c_uint>) {
        device.number()?;
        out.set(0)
    }

    /// No screen is connected.
    fn nvmlDeviceGetDisplayMode(device: Handle, out: Out<'_, c_uint>) {
        device.number()?;
        out.set(0)
    }

    /// None is in use.
    fn nvmlDeviceGetDisplayActive(device: Handle, out: Out<'_, c_uint>) {
        device.number()?;
        out.set(0)
    }

    /// A whole card, no part of one.
    fn nvmlDeviceIsMigDeviceHandle(device: Handle, out: Out<'_, c_uint>) {
        device.number()?;
        out.set(0)
    }

    /// How many parts it can be cut into: none.
    fn nvmlDeviceGetMaxMigDeviceCount(device: Handle, out: Out<'_, c_uint>) {
        device.number()?;
        out.set(0)
    }

    /// It stands alone on its board.
    fn nvmlDeviceGetMultiGpuBoard(device: Handle, out: Out<'_, c_uint>) {
        device.number()?;
        out.set(0)
    }

    /// Which events can be waited for: none.
    fn nvmlDeviceGetSupportedEventTypes(device: Handle, out: Out<'_, u64>) {
        device.number()?;
        out.set(0)
    }
}
