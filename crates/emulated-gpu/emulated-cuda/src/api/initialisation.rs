//! Initialisation, version, and the texts of errors.

use std::ffi::c_char;

use crate::abi::{In, Out};
use crate::driver::{VERSION, initialise};
use crate::error::Code;
use crate::ffi::{export, say};

/// The tables that NVRTC 12.9 asks for.
const NVRTC_TABLES: [[u8; 16]; 2] = [
    0xda91_51d3_3ae6_cc41_a5c0_4f26_d533_e328_u128.to_be_bytes(),
    0x1734_dc26_800d_4745_8726_c0f1_e7dd_8bca_u128.to_be_bytes(),
];

export! {
    early fn cuInit(flags: u32) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE.because("cuInit takes no flags"));
        }
        let made = initialise();
        // Without this, whoever mistyped a variable would see a number and nothing else.
        if let Err(error) = &made
            && let Some(why) = &error.why
        {
            say(why);
        }
        made.map(|_| ())
    }

    early fn cuDriverGetVersion(version: Out<i32>) {
        version.set(VERSION)
    }

    early fn cuGetErrorName(error: Code, text: Out<*const c_char>) {
        let texts = error.texts();
        text.set(texts.map_or(std::ptr::null(), |(name, _)| name.as_ptr()))?;
        if texts.is_some() { Ok(()) } else { Err(Code::INVALID_VALUE.into()) }
    }

    early fn cuGetErrorString(error: Code, text: Out<*const c_char>) {
        let texts = error.texts();
        text.set(texts.map_or(std::ptr::null(), |(_, text)| text.as_ptr()))?;
        if texts.is_some() { Ok(()) } else { Err(Code::INVALID_VALUE.into()) }
    }

    /// The tables behind NVIDIA's own libraries, which no documentation describes. NVRTC looks for
    /// one when it finds a driver, and does without when it has nothing in it; a table begins with
    /// its size in bytes, so 8 says that. The runtime library (libcudart) could not do without.
    early fn cuGetExportTable(table: Out<*const usize>, id: In<[u8; 16]>) {
        static EMPTY: [usize; 1] = [size_of::<usize>()];
        if NVRTC_TABLES.contains(&id.get()?) {
            return table.set(EMPTY.as_ptr());
        }
        table.set(std::ptr::null())?;
        Err(Code::NOT_SUPPORTED.because("there is no such table"))
    }
}
