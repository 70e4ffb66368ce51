//! Memory of a card. Only the calling process's use is known, because each process has its own emulated card.

use std::ffi::c_uint;

use c_abi::export;

use crate::ffi::Out;
use crate::out::versioned;
use crate::session::Handle;

/// `nvmlMemory_t`, in bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

/// `nvmlMemory_v2_t`, in bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct MemoryV2 {
    version: c_uint,
    /// Padding.
    padding: c_uint,
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

export! {
    /// Returns the total, free and used memory; only this process's use counts.
    fn nvmlDeviceGetMemoryInfo(device: Handle, out: Out<'_, Memory>) {
        let card = device.card()?;
        out.set(Memory { total: card.memory, free: card.free(), used: card.used })
    }

    /// Returns the total, reserved, free and used memory; the reserved memory is 0.
    fn nvmlDeviceGetMemoryInfo_v2(device: Handle, out: Out<'_, MemoryV2>) {
        let card = device.card()?;
        let MemoryV2 { version, .. } = versioned::<2, _>(out)?;
        out.set(MemoryV2 {
            version,
            padding: 0,
            total: card.memory,
            reserved: 0,
            free: card.free(),
            used: card.used,
        })
    }
}
