//! Mipmapped arrays.

use crate::abi::texture::Array3dDescription;
use crate::abi::{Handle, In, Out};
use crate::capture;
use crate::context;
use crate::error::Code;
use crate::ffi::export;
use crate::mipmap::{self, Mipmap};

use super::context::synchronize_users;

export! {
    5000 fn cuMipmappedArrayCreate(
        out: Out<Handle>, description: In<Array3dDescription>, levels: u32,
    ) {
        out.required()?;
        capture::forbid_unsafe_call()?;
        let context = context::current()?;
        out.set(Mipmap::new(&context, description.get()?, levels)?.handle)
    }

    5000 fn cuMipmappedArrayGetLevel(out: Out<Handle>, mipmap: Handle, level: u32) {
        out.required()?;
        let mipmap = mipmap::find(mipmap)?;
        let missing = || Code::INVALID_VALUE.because(format!(
            "there is no level {level} of a mipmapped array of {}", mipmap.levels.len()
        ));
        out.set(mipmap.levels.get(level as usize).ok_or_else(missing)?.handle)
    }

    5000 fn cuMipmappedArrayDestroy(mipmap: Handle) {
        capture::forbid_unsafe_call()?;
        let mipmap = mipmap::find(mipmap)?;
        synchronize_users(Some(mipmap.context))?;
        mipmap.destroy()
    }
}
