//! Device selection, device flags, reset and peer access.

use c_abi::{Code, export};

use crate::context::{
    bind_context, device, device_count, primary, reset, set_device, start_driver,
};
use crate::driver;
use crate::ffi::{In, Out};

/// `cudaInitDeviceFlagsAreValid`
const FLAGS_ARE_VALID: u32 = 1;

export! {
    /// Returns the number of devices.
    fn cudaGetDeviceCount(out: Out<'_, i32>) {
        out.set_as(device_count()?, "count")
    }

    /// Sets the calling thread's current device.
    fn cudaSetDevice(number: i32) {
        set_device(number)
    }

    /// Returns the calling thread's current device.
    fn cudaGetDevice(out: Out<'_, i32>) {
        out.set_as(device()?, "device")
    }

    /// Creates the primary context of a device without making the device current.
    fn cudaInitDevice(number: i32, device_flags: u32, flags: u32) {
        match flags {
            0 => {}
            FLAGS_ARE_VALID => {
                start_driver()?;
                driver::cuDevicePrimaryCtxSetFlags_v2(number, device_flags)?;
            }
            _ => return Err(Code::INVALID_VALUE.because(format!("flags is {flags:#x}"))),
        }
        primary(number).map(drop)
    }

    /// All emulated devices are alike, so the first one always fits best.
    fn cudaChooseDevice(out: Out<'_, i32>, properties: In<'_, u8>) {
        properties.require_as("prop")?;
        out.set_as(0, "device")
    }

    /// Destroys the context of the current device with all its resources.
    fn cudaDeviceReset() {
        reset()
    }

    /// Sets how host threads wait for the current device.
    fn cudaSetDeviceFlags(flags: u32) {
        let number = device()?;
        driver::cuDevicePrimaryCtxSetFlags_v2(number, flags)
    }

    /// Returns the flags of the current device.
    fn cudaGetDeviceFlags(out: Out<'_, u32>) {
        out.require_as("flags")?;
        let (number, mut flags, mut active) = (device()?, 0, 0);
        driver::cuDevicePrimaryCtxGetState(number, &mut flags, &mut active)?;
        out.set_as(flags, "flags")
    }

    /// Gives the current device access to another device's memory.
    fn cudaDeviceEnablePeerAccess(peer: i32, flags: u32) {
        bind_context()?;
        driver::cuCtxEnablePeerAccess(primary(peer)?, flags)
    }

    /// Removes the current device's access to another device's memory.
    fn cudaDeviceDisablePeerAccess(peer: i32) {
        bind_context()?;
        driver::cuCtxDisablePeerAccess(primary(peer)?)
    }
}
