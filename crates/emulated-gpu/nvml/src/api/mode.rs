//! In which modes a card is: none of those that can be switched on.

use std::ffi::c_uint;

use c_abi::export;

use crate::ffi::Out;
use crate::session::Handle;

/// Declares functions that answer 0 of every card.
macro_rules! none {
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

none! {
    /// Any number of contexts: `NVML_COMPUTEMODE_DEFAULT`, as the driver has it.
    fn nvmlDeviceGetComputeMode(device: Handle, out: Out<'_, c_uint>);

    /// Nothing stays loaded where no process uses the card.
    fn nvmlDeviceGetPersistenceMode(device: Handle, out: Out<'_, c_uint>);

    /// No screen is connected.
    fn nvmlDeviceGetDisplayMode(device: Handle, out: Out<'_, c_uint>);

    /// None is in use.
    fn nvmlDeviceGetDisplayActive(device: Handle, out: Out<'_, c_uint>);

    /// A whole card, no part of one.
    fn nvmlDeviceIsMigDeviceHandle(device: Handle, out: Out<'_, c_uint>);

    /// How many parts it can be cut into: none.
    fn nvmlDeviceGetMaxMigDeviceCount(device: Handle, out: Out<'_, c_uint>);

    /// It stands alone on its board.
    fn nvmlDeviceGetMultiGpuBoard(device: Handle, out: Out<'_, c_uint>);

    /// Which events can be waited for: none.
    fn nvmlDeviceGetSupportedEventTypes(device: Handle, out: Out<'_, u64>);

    /// No brand: `NVML_BRAND_UNKNOWN`.
    fn nvmlDeviceGetBrand(device: Handle, out: Out<'_, c_uint>);
}
