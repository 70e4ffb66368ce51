//! Devices.

use crate::abi::{required, set};
use crate::code::Code;
use crate::context::{bind, count, device, primary, reset, set_device, start};
use crate::driver;
use crate::ffi::export;

/// `cudaInitDeviceFlagsAreValid`
const FLAGS_ARE_VALID: u32 = 1;

export! {
    /// How many devices there are.
    fn cudaGetDeviceCount(out: *mut i32) {
        set(out, count()?, "count")
    }

    /// The device of the calling thread.
    fn cudaSetDevice(number: i32) {
        set_device(number)
    }

    /// Which one that is.
    fn cudaGetDevice(out: *mut i32) {
        set(out, device()?, "device")
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
    fn cudaChooseDevice(out: *mut i32, properties: *const u8) {
        required(properties, "prop")?;
        set(out, 0, "device")
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
    fn cudaGetDeviceFlags(out: *mut u32) {
        required(out, "flags")?;
        let (number, mut flags, mut active) = (device()?, 0, 0);
        driver::cuDevicePrimaryCtxGetState(number, &mut flags, &mut active)?;
        set(out, flags, "flags")
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
