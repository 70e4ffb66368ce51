//! Modes of a card; all of them are off.

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
    /// Always `NVML_COMPUTEMODE_DEFAULT`: as in the emulated driver, a device can have any number of contexts.
    fn nvmlDeviceGetComputeMode(device: Handle, out: Out<'_, c_uint>);

    /// The driver does not stay loaded while no process uses the card.
    fn nvmlDeviceGetPersistenceMode(device: Handle, out: Out<'_, c_uint>);

    /// No display is connected.
    fn nvmlDeviceGetDisplayMode(device: Handle, out: Out<'_, c_uint>);

    /// No display is active.
    fn nvmlDeviceGetDisplayActive(device: Handle, out: Out<'_, c_uint>);

    /// Cards are not MIG devices.
    fn nvmlDeviceIsMigDeviceHandle(device: Handle, out: Out<'_, c_uint>);

    /// Cards can't be split into MIG devices.
    fn nvmlDeviceGetMaxMigDeviceCount(device: Handle, out: Out<'_, c_uint>);

    /// Each card is the only one on its board.
    fn nvmlDeviceGetMultiGpuBoard(device: Handle, out: Out<'_, c_uint>);

    /// No events are supported.
    fn nvmlDeviceGetSupportedEventTypes(device: Handle, out: Out<'_, u64>);

    /// `NVML_BRAND_UNKNOWN`
    fn nvmlDeviceGetBrand(device: Handle, out: Out<'_, c_uint>);
}
