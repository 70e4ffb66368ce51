//! Functions that return modes of a card, all of which are off.

use std::ffi::c_uint;

use c_abi::export;

use crate::ffi::Out;
use crate::session::Handle;

/// Declares functions that return 0 for every card.
macro_rules! zeros {
    ($($(#[$meta:meta])* fn $name:ident($device:ident: $handle:ty, $out:ident: $place:ty);)*) => {
        export! {$(
            $(#[$meta])*
            fn $name($device: $handle, $out: $place) {
                $device.number()?;
                $out.set(0)
            }
        )*}
    };
}

zeros! {
    /// Returns the compute mode, always `NVML_COMPUTEMODE_DEFAULT`: as in the emulated driver, a device can have any
    /// number of contexts.
    fn nvmlDeviceGetComputeMode(device: Handle, out: Out<'_, c_uint>);

    /// Returns the persistence mode, which is off: the driver does not stay loaded while no process uses the card.
    fn nvmlDeviceGetPersistenceMode(device: Handle, out: Out<'_, c_uint>);

    /// Returns whether a display is connected, which is never the case.
    fn nvmlDeviceGetDisplayMode(device: Handle, out: Out<'_, c_uint>);

    /// Returns whether a display is active, which is never the case.
    fn nvmlDeviceGetDisplayActive(device: Handle, out: Out<'_, c_uint>);

    /// Returns whether the handle identifies a MIG device, which is never the case.
    fn nvmlDeviceIsMigDeviceHandle(device: Handle, out: Out<'_, c_uint>);

    /// Returns the maximum number of MIG devices, which is 0.
    fn nvmlDeviceGetMaxMigDeviceCount(device: Handle, out: Out<'_, c_uint>);

    /// Returns whether a board has several cards, which is never the case.
    fn nvmlDeviceGetMultiGpuBoard(device: Handle, out: Out<'_, c_uint>);

    /// Returns the set of supported events, which is empty.
    fn nvmlDeviceGetSupportedEventTypes(device: Handle, out: Out<'_, u64>);

    /// `NVML_BRAND_UNKNOWN`
    fn nvmlDeviceGetBrand(device: Handle, out: Out<'_, c_uint>);
}
