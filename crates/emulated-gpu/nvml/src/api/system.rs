//! Initialisation, versions, error strings, and functions that don't concern a card.

use std::ffi::{c_char, c_int, c_uint};

use c_abi::export;

use crate::driver::{version, version_text};
use crate::ffi::{Out, Status, text};
use crate::host;
use crate::out::TextOut;
use crate::session::{initialise, initialised, shut_down};

/// The valid flags: `NVML_INIT_FLAG_NO_GPUS`, `…_NO_ATTACH` and `…_FORCE_INIT`.
const FLAGS: c_uint = 7;

export! {
    /// Initialises NVML.
    fn nvmlInit / nvmlInit_v2() {
        initialise()
    }

    /// Initialises NVML. The flags concern cards that are attached or missing, so they have no
    /// effect here.
    fn nvmlInitWithFlags(flags: c_uint) {
        if flags & !FLAGS != 0 {
            return Err(Status::InvalidArgument);
        }
        initialise()
    }

    /// Undoes one initialisation. NVML shuts down once all of them have been undone.
    fn nvmlShutdown() {
        shut_down()
    }

    /// Returns the driver's version. The emulated driver has no version other than that of CUDA, such as "13.5".
    fn nvmlSystemGetDriverVersion(to: Out<'_, u8>, len: c_uint) {
        initialised()?;
        TextOut::new(to, len).set(&version_text()?)
    }

    /// Returns the version of NVML. Like NVIDIA's, it consists of CUDA's major version and the driver's version, such
    /// as "13.13.5". Works without initialisation.
    fn nvmlSystemGetNVMLVersion(to: Out<'_, u8>, len: c_uint) {
        let version = format!("{}.{}", version()? / 1000, version_text()?);
        TextOut::new(to, len).set(&version)
    }

    /// Returns CUDA's version, such as 13050 for 13.5. Works without initialisation.
    fn nvmlSystemGetCudaDriverVersion / nvmlSystemGetCudaDriverVersion_v2(out: Out<'_, c_int>) {
        out.required()?;
        out.set(version()?)
    }

    /// Returns the name of a process, truncated to the size of the buffer.
    fn nvmlSystemGetProcessName(process: c_uint, to: Out<'_, u8>, len: c_uint) {
        initialised()?;
        to.required()?;
        TextOut::new(to, len).set_truncated(&host::process_name(process)?)
    }

    /// Returns the number of S-class units, which is 0.
    fn nvmlUnitGetCount(count: Out<'_, c_uint>) {
        initialised()?;
        count.set(0)
    }

    /// Returns the number of cards that the driver excludes, which is 0.
    fn nvmlGetExcludedDeviceCount(count: Out<'_, c_uint>) {
        count.set(0)
    }
}

/// Returns the description of a status. Works without initialisation.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlErrorString(status: c_uint) -> *const c_char {
    text(status).as_ptr()
}
