//! NVIDIA's NVRTC, if the environment names its file. That library then compiles all programs, but to PTX instead of
//! machine code.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

use c_abi::{NvidiaObject, SizeAndCopy, nvidia_functions};
use device_image::fatbin;

use crate::ffi::{Result, Status, report};
use crate::program::{Outcome, Program};

/// The environment variable that names the file of NVIDIA's library.
const VARIABLE: &str = "EMULATED_GPU_NVRTC";

/// `nvrtcProgram`
type Handle = *mut c_void;

nvidia_functions! {
    /// The functions of NVIDIA's library that are used; the optional ones are missing in older
    /// versions.
    struct Nvidia;
    required {
        version = nvrtcVersion(*mut c_int, *mut c_int);
        architecture_count = nvrtcGetNumSupportedArchs(*mut c_int);
        architectures = nvrtcGetSupportedArchs(*mut c_int);
        create = nvrtcCreateProgram(
            *mut Handle, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char
        );
        destroy = nvrtcDestroyProgram(*mut Handle);
        add_name = nvrtcAddNameExpression(Handle, *const c_char);
        lowered = nvrtcGetLoweredName(Handle, *const c_char, *mut *const c_char);
        compile = nvrtcCompileProgram(Handle, c_int, *const *const c_char);
        log_size = nvrtcGetProgramLogSize(Handle, *mut usize);
        log = nvrtcGetProgramLog(Handle, *mut u8);
        ptx_size = nvrtcGetPTXSize(Handle, *mut usize);
        ptx = nvrtcGetPTX(Handle, *mut u8);
    }
    optional {
        pch_heap_size = nvrtcGetPCHHeapSize(*mut usize);
        set_pch_heap_size = nvrtcSetPCHHeapSize(usize);
        lto_size = nvrtcGetLTOIRSize(Handle, *mut usize);
        lto = nvrtcGetLTOIR(Handle, *mut u8);
        optix_size = nvrtcGetOptiXIRSize(Handle, *mut usize);
        optix = nvrtcGetOptiXIR(Handle, *mut u8);
        pch_status = nvrtcGetPCHCreateStatus(Handle);
        pch_heap_required = nvrtcGetPCHHeapSizeRequired(Handle, *mut usize);
        set_flow = nvrtcSetFlowCallback(Handle, *const c_void, *mut c_void);
    }
}

/// NVIDIA's library; `None` if the variable doesn't name one.
///
/// # Errors
/// `InternalError` if the file can't be used; the reason is reported once on standard error.
pub(crate) fn library() -> Result<Option<&'static Nvidia>> {
    static LIBRARY: OnceLock<std::result::Result<Option<Nvidia>, ()>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        c_abi::load_named(VARIABLE, "emulatedNvrtc", Nvidia::find).map_err(|why| {
            report(&format!(
                "{why}; name NVIDIA's libnvrtc.so, or unset it to compile with cuda-c"
            ));
        })
    });
    library.as_ref().map(Option::as_ref).map_err(|()| Status::InternalError)
}

impl Nvidia {
    /// Compiles a program to PTX, also if machine code is requested.
    ///
    /// # Errors
    /// NVIDIA's error. The outcome is returned even after an error, because it contains the log.
    pub(crate) fn compile(&self, program: &Program, options: &[CString]) -> (Outcome, Result) {
        let nvidia_program = match NvidiaProgram::new(self, program) {
            Ok(nvidia_program) => nvidia_program,
            Err(status) => return (Outcome::default(), Err(status)),
        };
        let (options, card) = without_real_architecture(options);
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the program exists, and `options` has as many C strings as its length says.
        let status = Status::check(unsafe {
            (self.compile)(nvidia_program.program.handle, options.len() as c_int, options.as_ptr())
        });
        let mut outcome =
            Outcome { log: nvidia_program.text((self.log_size, self.log)), ..Outcome::default() };
        if let Some(pch_status) = self.pch_status {
            // SAFETY: the program exists.
            outcome.pch_status = unsafe { pch_status(nvidia_program.program.handle) };
        }
        if let Some(required) = self.pch_heap_required {
            // SAFETY: the program exists, and the pointer for the result is valid.
            let status =
                unsafe { required(nvidia_program.program.handle, &raw mut outcome.pch_heap) };
            outcome.pch_heap = if status == 0 { outcome.pch_heap } else { 0 };
        }
        if status.is_ok() {
            let ptx = nvidia_program.text((self.ptx_size, self.ptx));
            outcome.image =
                card.map_or_else(Vec::new, |card| fatbin::from_ptx(ptx.as_bytes(), card));
            let part = |part: Option<SizeAndCopy>| {
                part.map(|part| nvidia_program.bytes(part)).unwrap_or_default()
            };
            outcome.lto = part(self.lto_size.zip(self.lto));
            outcome.optix = part(self.optix_size.zip(self.optix));
            outcome.compiled = Some((
                ptx,
                program.expressions.iter().map(|name| nvidia_program.lowered(name)).collect(),
            ));
        }
        (outcome, status)
    }
}

/// A program of NVIDIA's library.
struct NvidiaProgram<'a> {
    library: &'a Nvidia,
    program: NvidiaObject,
}

impl<'a> NvidiaProgram<'a> {
    fn new(library: &'a Nvidia, program: &Program) -> Result<Self> {
        // SAFETY: only a program of this library is stored in the object below.
        let object = unsafe { NvidiaObject::new(library.destroy) };
        let mut nvidia_program = Self { library, program: object };
        let pointers = |texts: Vec<&CString>| -> Vec<*const c_char> {
            texts.into_iter().map(|text| text.as_ptr()).collect()
        };
        let names = pointers(program.headers.iter().map(|(name, _)| name).collect());
        let headers = pointers(program.headers.iter().map(|(_, text)| text).collect());
        // SAFETY: all strings are C strings that outlive the call, both arrays have `names.len()` elements, and the
        // pointer for the program is valid.
        Status::check(unsafe {
            (library.create)(
                &raw mut nvidia_program.program.handle,
                program.source.as_ptr(),
                program.name.as_ptr(),
                names.len() as c_int,
                headers.as_ptr(),
                names.as_ptr(),
            )
        })?;
        let handle = nvidia_program.program.handle;
        for name in &program.expressions {
            // SAFETY: the program exists, and the name is a C string.
            Status::check(unsafe { (library.add_name)(handle, name.as_ptr()) })?;
        }
        if let (Some(set), Some(flow)) = (library.set_flow, program.cancel_callback) {
            let (function, data) = (flow.function as *const c_void, flow.data as *mut c_void);
            // SAFETY: the program exists, and the program's user passed the function and its data as a callback.
            Status::check(unsafe { set(handle, function, data) })?;
        }
        Ok(nvidia_program)
    }

    /// Reads a part of the output, which may be empty.
    fn bytes(&self, part: SizeAndCopy) -> Vec<u8> {
        // SAFETY: the functions belong to the library that made the program.
        unsafe { self.program.bytes(part) }.unwrap_or_default()
    }

    /// Reads a part of the output that is a text and ends in a zero.
    fn text(&self, part: SizeAndCopy) -> CString {
        CStr::from_bytes_until_nul(&self.bytes(part)).map(CStr::to_owned).unwrap_or_default()
    }

    fn lowered(&self, name: &CStr) -> CString {
        let (handle, mut found) = (self.program.handle, std::ptr::null());
        // SAFETY: the program exists, the name is a C string, and the place for the result is
        // valid. The result is a C string that lives as long as the program.
        unsafe {
            let status = (self.library.lowered)(handle, name.as_ptr(), &raw mut found);
            if status == 0 && !found.is_null() {
                CStr::from_ptr(found).to_owned()
            } else {
                CString::default()
            }
        }
    }
}

/// Replaces a real architecture by its virtual one, `compute_90` for `sm_90`, and returns the
/// options and the architecture's number. Without a request for machine code, the options stay as
/// they are.
fn without_real_architecture(options: &[CString]) -> (Vec<CString>, Option<u32>) {
    let texts: Vec<&str> =
        options.iter().map(|option| option.to_str().unwrap_or("").trim()).collect();
    let other_code = ["-dlto", "--dlink-time-opt", "-optix-ir", "--optix-ir"];
    if texts.iter().any(|text| other_code.contains(&text.split('=').next().unwrap_or(""))) {
        return (options.to_vec(), None);
    }
    let is_name = |name: &str| matches!(name, "-arch" | "--gpu-architecture");
    let mut card = None;
    let replaced = texts.iter().enumerate().map(|(index, one)| {
        let before = index.checked_sub(1).is_some_and(|index| is_name(texts[index]));
        let (name, value) = match one.split_once('=') {
            Some((name, value)) if is_name(name) => (&one[..=name.len()], value),
            _ if before => ("", *one),
            _ => return options[index].clone(),
        };
        let Some(architecture) = value.trim().strip_prefix("sm_") else {
            return options[index].clone();
        };
        let Ok(number) = architecture.trim_end_matches(['a', 'f']).parse() else {
            return options[index].clone();
        };
        card = Some(number);
        CString::new(format!("{name}compute_{architecture}"))
            .unwrap_or_else(|_| options[index].clone())
    });
    let replaced = replaced.collect();
    (replaced, card)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_architectures_become_virtual_ones() {
        for (given, expected, card) in [
            (&["-DA=sm_80", "-arch=sm_90a"][..], &["-DA=sm_80", "-arch=compute_90a"][..], Some(90)),
            (&["--gpu-architecture", "sm_75"], &["--gpu-architecture", "compute_75"], Some(75)),
            (&["--gpu-architecture=sm_100f"], &["--gpu-architecture=compute_100f"], Some(100)),
            (&["-arch=compute_80", "-G"], &["-arch=compute_80", "-G"], None),
            (&["-arch=sm_new"], &["-arch=sm_new"], None),
            (&["-arch=sm_80", "-dlto"], &["-arch=sm_80", "-dlto"], None),
            (&["-D", "sm_80"], &["-D", "sm_80"], None),
            (&[], &[], None),
        ] {
            let texts = |list: &[&str]| -> Vec<CString> {
                list.iter().map(|&one| CString::new(one).unwrap()).collect()
            };
            let actual = without_real_architecture(&texts(given));
            assert_eq!(actual, (texts(expected), card), "{given:?}");
        }
    }
}
