//! Devices.

use c_abi::{Code, export};

use crate::context::{bind, count, device, primary, reset, set_device, start};
use crate::driver;
use crate::ffi::{In, Out};

/// `cudaInitDeviceFlagsAreValid`
const FLAGS_ARE_VALID: u32 = 1;

export! {
    /// How many devices there are.
    fn cudaGetDeviceCount(out: Out<'_, i32>) {
        out.set_as(count()?, "count")
    }

    /// The device of the calling thread.
    fn cudaSetDevice(number: i32) {
        set_device(number)
    }

    /// Which one that is.
    fn cudaGetDevice(out: Out<'_, i32>) {
        out.set_as(device()?, "device")
    }

    /// Has a device ready, without choosing it.
    fn cudaInitDevice(number: i32, device_flags: u32, flags: u32) {
        match flags {
            0 => {}
            FLAGS_ARE_VALID => {
                start()?;
                driver::cuDevicePrimaryCtxSetFlags_v2(number, device_flags)?;
            }
            _ => return Err(Code::INVALID_VALUE.because(format!("flags is {flags:#x}"))),
        }
        primary(number).map(drop)
    }

    /// All emulated devices are alike, so that the first is what any description fits best.
    fn cudaChooseDevice(out: Out<'_, i32>, properties: In<'_, u8>) {
        properties.required_as("prop")?;
        out.set_as(0, "device")
    }

    /// Ends what the calling thread's device has.
    fn cudaDeviceReset() {
        reset()
    }

    /// How the host waits on the calling thread's device.
    fn cudaSetDeviceFlags(flags: u32) {
        let number = device()?;
        driver::cuDevicePrimaryCtxSetFlags_v2(number, flags)
    }

    /// What that is.
    fn cudaGetDeviceFlags(out: Out<'_, u32>) {
        out.required_as("flags")?;
        let (number, mut flags, mut active) = (device()?, 0, 0);
        driver::cuDevicePrimaryCtxGetState(number, &mut flags, &mut active)?;
        out.set_as(flags, "flags")
    }

    /// Lets the calling thread's device use memory of another.
    fn cudaDeviceEnablePeerAccess(peer: i32, flags: u32) {
        bind()?;
        driver::cuCtxEnablePeerAccess(primary(peer)?, flags)
    }

    /// Takes that back.
    fn cudaDeviceDisablePeerAccess(peer: i32) {
        bind()?;
        driver::cuCtxDisablePeerAccess(primary(peer)?)
    }
}
