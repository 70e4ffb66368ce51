//! Initialisation, version, and the texts of errors.

use std::ffi::c_char;

use crate::abi::Out;
use crate::driver::{VERSION, initialise};
use crate::error::Code;
use crate::ffi::{export, say};

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
}
