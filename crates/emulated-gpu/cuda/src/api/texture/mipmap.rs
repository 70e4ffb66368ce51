//! Mipmapped arrays.

use crate::abi::error::Code;
use crate::abi::ffi::export;
use crate::abi::texture::Array3dDescription;
use crate::abi::{Handle, In, Out};
use crate::api::calling_thread;
use crate::api::context::synchronize_users;
use crate::api::driver::driver;
use crate::stream::capture;

export! {
    5000 fn cuMipmappedArrayCreate(
        out as required: Out<Handle>, description: In<Array3dDescription>, levels: u32,
    ) {
        capture::forbid_unsafe_call(&driver()?.captures)?;
        let context = calling_thread::context()?;
        out.set(driver()?.arrays.create_mipmap(&context, description.get()?, levels)?)
    }

    5000 fn cuMipmappedArrayGetLevel(out as required: Out<Handle>, mipmap: Handle, level: u32) {
        let mipmap = driver()?.arrays.mipmap(mipmap)?;
        let missing = || Code::INVALID_VALUE.because(format!(
            "there is no level {level}; the mipmapped array has {} levels", mipmap.levels.len()
        ));
        out.set(mipmap.levels.get(level as usize).ok_or_else(missing)?.handle)
    }

    5000 fn cuMipmappedArrayDestroy(mipmap: Handle) {
        capture::forbid_unsafe_call(&driver()?.captures)?;
        let mipmap = driver()?.arrays.mipmap(mipmap)?;
        synchronize_users(Some(mipmap.context))?;
        driver()?.arrays.destroy_mipmap(&mipmap)
    }
}
