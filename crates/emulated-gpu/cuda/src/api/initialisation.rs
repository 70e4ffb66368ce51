//! Initialisation, version, and error texts.

use std::ffi::c_char;

use crate::abi::Out;
use crate::abi::error::{Code, fail_if};
use crate::abi::ffi::{export, report};
use crate::api::driver::{VERSION, initialise};
use crate::api::exit_report::at_exit;

export! {
    2000 fn cuInit(flags: u32) early {
        fail_if!(flags != 0, INVALID_VALUE, "cuInit takes no flags");
        let initialised = initialise().inspect(|driver| at_exit(driver));
        // The message is printed, because a program with an invalid environment variable would
        // otherwise only show an error code.
        if let Err(error) = &initialised
            && let Some(why) = &error.why
        {
            report(why);
        }
        initialised.map(|_| ())
    }

    2020 fn cuDriverGetVersion(version: Out<i32>) early {
        version.set(VERSION)
    }

    6000 fn cuGetErrorName(error: Code, text: Out<*const c_char>) early {
        let texts = error.driver_texts();
        text.set(texts.map_or(std::ptr::null(), |(name, _)| name.as_ptr()))?;
        if texts.is_some() { Ok(()) } else { Err(Code::INVALID_VALUE.into()) }
    }

    6000 fn cuGetErrorString(error: Code, text: Out<*const c_char>) early {
        let texts = error.driver_texts();
        text.set(texts.map_or(std::ptr::null(), |(_, text)| text.as_ptr()))?;
        if texts.is_some() { Ok(()) } else { Err(Code::INVALID_VALUE.into()) }
    }
}
