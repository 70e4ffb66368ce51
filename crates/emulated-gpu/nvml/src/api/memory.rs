//! How much memory a card has. What is used of it is known of the calling process, which has a card of its own
//! as far as memory goes.

use std::ffi::c_uint;

use c_abi::export;

use crate::ffi::Out;
use crate::out::versioned;
use crate::session::Handle;

/// `nvmlMemory_t`, bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

/// `nvmlMemory_v2_t`, bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Memory2 {
    version: c_uint,
    /// What C leaves empty.
    gap: c_uint,
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

export! {
    /// Its memory, and what the process uses of it.
    fn nvmlDeviceGetMemoryInfo(device: Handle, out: Out<'_, Memory>) {
        let card = device.card()?;
        out.set(Memory { total: card.memory, free: card.free(), used: card.used })
    }

    /// The same; nothing is reserved.
    fn nvmlDeviceGetMemoryInfo_v2(device: Handle, out: Out<'_, Memory2>) {
        let card = device.card()?;
        // SAFETY: the caller has written such a structure there.
        let Memory2 { version, .. } = unsafe { versioned::<2, _>(out)? };
        out.set(Memory2 {
            version,
            gap: 0,
            total: card.memory,
            reserved: 0,
            free: card.free(),
            used: card.used,
        })
    }
}
