//! For libraries that only look at cards. `include/emulated_gpu.h` declares the functions.

use crate::abi::Out;
use crate::card::{self, Card};
use crate::ffi::export;

export! {
    /// `CUresult emulatedGpuGetCardCount(unsigned int *count)`: how many cards there are; also before
    /// `cuInit`.
    0 fn emulatedGpuGetCardCount(count: Out<u32>) early {
        count.required()?;
        count.set(card::count()?)
    }

    /// `CUresult emulatedGpuGetCard(unsigned int number, EmulatedGpuCard *card, size_t size)`: one of
    /// them. `size` is that of the caller's structure, which may be older and shorter.
    0 fn emulatedGpuGetCard(number: u32, out: Out<u8>, size: usize) early {
        out.required()?;
        let card = card::card(number)?;
        // SAFETY: it is the structure's own bytes, of which none is a gap between fields.
        let bytes: [u8; size_of::<Card>()] = unsafe { std::mem::transmute(card) };
        out.set_all(bytes.into_iter().take(size));
        Ok(())
    }
}
