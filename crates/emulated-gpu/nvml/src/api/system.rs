//! Beginning and end, versions, the texts of statuses, and what belongs to no card.

use std::ffi::{c_char, c_int, c_uint};

use c_abi::export;

use crate::driver::{version, version_text};
use crate::ffi::{Out, Status, text};
use crate::host;
use crate::out::TextOut;
use crate::session::{initialise, initialised, shut_down};

/// `NVML_INIT_FLAG_NO_GPUS`, `…_NO_ATTACH` and `…_FORCE_INIT`
const FLAGS: c_uint = 7;

export! {
    /// Begins.
    fn nvmlInit / nvmlInit_v2() {
        initialise()
    }

    /// The same; what the flags are about, cards that are attached or missing, is no matter here.
    fn nvmlInitWithFlags(flags: c_uint) {
        if flags & !FLAGS != 0 {
            return Err(Status::InvalidArgument);
        }
        initialise()
    }

    /// Ends, when it was called as often as one that begins.
    fn nvmlShutdown() {
        shut_down()
    }

    /// The version of the driver, which has none but CUDA's: "13.5".
    fn nvmlSystemGetDriverVersion(to: Out<'_, u8>, len: c_uint) {
        initialised()?;
        // SAFETY: the caller vouches for as many bytes.
        unsafe { TextOut::new(to, len) }.set(&version_text()?)
    }

    /// The version of NVML, which NVIDIA's makes of the first number of CUDA's and of the driver's:
    /// "13.13.5". Needs no beginning.
    fn nvmlSystemGetNVMLVersion(to: Out<'_, u8>, len: c_uint) {
        let version = format!("{}.{}", version()? / 1000, version_text()?);
        // SAFETY: the caller vouches for as many bytes.
        unsafe { TextOut::new(to, len) }.set(&version)
    }

    /// CUDA's version, as 13050 for 13.5. Needs no beginning.
    fn nvmlSystemGetCudaDriverVersion / nvmlSystemGetCudaDriverVersion_v2(out: Out<'_, c_int>) {
        out.required()?;
        out.set(version()?)
    }

    /// The name of a process, as much of it as there is place for.
    fn nvmlSystemGetProcessName(process: c_uint, to: Out<'_, u8>, len: c_uint) {
        initialised()?;
        to.required()?;
        // SAFETY: the caller vouches for as many bytes.
        unsafe { TextOut::new(to, len) }.set_cropped(&host::process_name(process)?)
    }

    /// How many units of an S-class system there are: none.
    fn nvmlUnitGetCount(count: Out<'_, c_uint>) {
        initialised()?;
        count.set(0)
    }

    /// How many cards the driver leaves out: none.
    fn nvmlGetExcludedDeviceCount(count: Out<'_, c_uint>) {
        count.set(0)
    }
}

/// The text of a status. Needs no beginning.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlErrorString(status: c_uint) -> *const c_char {
    text(status).as_ptr()
}
