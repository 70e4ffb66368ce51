//! NVIDIA's own NVRTC, where the environment names its file: it compiles then, and what it would make machine
//! code of is given as PTX.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::io::Write;
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::image;
use crate::program::{Outcome, Program};
use crate::status::Status;

/// Names the file of NVIDIA's library.
const VARIABLE: &str = "EMULATED_GPU_NVRTC";

/// `nvrtcProgram`
type Handle = *mut c_void;
type SizeOf = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Copy = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;
/// Of functions that give one part of what was made: that for its size, and that for its bytes.
type Part = (SizeOf, Copy);
type Create = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;

/// NVIDIA's library, by the functions that are used; those that older ones lack may be missing.
pub(crate) struct Nvidia {
    pub(crate) version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int,
    pub(crate) architecture_count: unsafe extern "C" fn(*mut c_int) -> c_int,
    pub(crate) architectures: unsafe extern "C" fn(*mut c_int) -> c_int,
    pub(crate) pch_heap_size: Option<unsafe extern "C" fn(*mut usize) -> c_int>,
    pub(crate) set_pch_heap_size: Option<unsafe extern "C" fn(usize) -> c_int>,
    create: Create,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
    add_name: unsafe extern "C" fn(Handle, *const c_char) -> c_int,
    lowered: unsafe extern "C" fn(Handle, *const c_char, *mut *const c_char) -> c_int,
    compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int,
    log: Part,
    ptx: Part,
    lto: Option<Part>,
    optix: Option<Part>,
    pch_status: Option<unsafe extern "C" fn(Handle) -> c_int>,
    pch_heap_required: Option<SizeOf>,
    set_flow: Option<unsafe extern "C" fn(Handle, *const c_void, *mut c_void) -> c_int>,
    /// The functions are its own.
    _library: Library,
}

/// NVIDIA's library; nothing where none is named.
///
/// # Errors
/// `InternalError` where the file that is named can't serve; standard error has the reason, once.
pub(crate) fn library() -> Result<Option<&'static Nvidia>, Status> {
    static LIBRARY: OnceLock<Result<Option<Nvidia>, ()>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        let Some(file) = std::env::var_os(VARIABLE).filter(|file| !file.is_empty()) else {
            return Ok(None);
        };
        Nvidia::load(&file).map(Some).map_err(|why| {
            let said = format!(
                "emulated NVRTC: {VARIABLE} names {}: {why}; name NVIDIA's libnvrtc.so, or unset it, \
                 for the compiler of this library\n",
                file.display()
            );
            // Where standard error is full or closed, there is nobody to tell.
            let _ = std::io::stderr().lock().write_all(said.as_bytes());
        })
    });
    library.as_ref().map(Option::as_ref).map_err(|()| Status::InternalError)
}

impl Nvidia {
    fn load(file: &OsStr) -> Result<Self, String> {
        // SAFETY: who names the file says that it is NVIDIA's.
        let library = unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|error| error.to_string())?;
        let wanted = |name: &str| format!("it has no {name}");
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type is that of the function in nvrtc.h.
                unsafe { library.get($name) }.map(|symbol| *symbol).ok()
            };
            ($name:literal, required) => {
                function!($name).ok_or_else(|| wanted($name))?
            };
        }
        macro_rules! part {
            ($size:literal, $bytes:literal) => {
                function!($size).zip(function!($bytes))
            };
            ($size:literal, $bytes:literal, required) => {
                (function!($size, required), function!($bytes, required))
            };
        }
        let own: Option<unsafe extern "C" fn() -> *const c_char> = function!("emulatedNvrtc");
        if own.is_some() {
            return Err("that is this library itself".to_owned());
        }
        Ok(Self {
            version: function!("nvrtcVersion", required),
            architecture_count: function!("nvrtcGetNumSupportedArchs", required),
            architectures: function!("nvrtcGetSupportedArchs", required),
            pch_heap_size: function!("nvrtcGetPCHHeapSize"),
            set_pch_heap_size: function!("nvrtcSetPCHHeapSize"),
            create: function!("nvrtcCreateProgram", required),
            destroy: function!("nvrtcDestroyProgram", required),
            add_name: function!("nvrtcAddNameExpression", required),
            lowered: function!("nvrtcGetLoweredName", required),
            compile: function!("nvrtcCompileProgram", required),
            log: part!("nvrtcGetProgramLogSize", "nvrtcGetProgramLog", required),
            ptx: part!("nvrtcGetPTXSize", "nvrtcGetPTX", required),
            lto: part!("nvrtcGetLTOIRSize", "nvrtcGetLTOIR"),
            optix: part!("nvrtcGetOptiXIRSize", "nvrtcGetOptiXIR"),
            pch_status: function!("nvrtcGetPCHCreateStatus"),
            pch_heap_required: function!("nvrtcGetPCHHeapSizeRequired"),
            set_flow: function!("nvrtcSetFlowCallback"),
            _library: library,
        })
    }

    /// Compiles a program, with PTX in place of machine code.
    ///
    /// # Errors
    /// NVIDIA's; what came of it is said all the same, its log above all.
    pub(crate) fn compile(
        &self,
        program: &Program,
        options: &[CString],
    ) -> (Outcome, Result<(), Status>) {
        let theirs = match Theirs::new(self, program) {
            Ok(theirs) => theirs,
            Err(status) => return (Outcome::default(), Err(status)),
        };
        let (options, card) = without_card(options);
        let options: Vec<*const c_char> = options.iter().map(|one| one.as_ptr()).collect();
        // SAFETY: a program that lives, and as many C strings as are told.
        let status = Status::check(unsafe {
            (self.compile)(theirs.handle, options.len() as c_int, options.as_ptr())
        });
        let mut outcome = Outcome { log: theirs.text(self.log), ..Outcome::default() };
        if let Some(pch_status) = self.pch_status {
            // SAFETY: a program that lives.
            outcome.pch_status = unsafe { pch_status(theirs.handle) };
        }
        if let Some(required) = self.pch_heap_required {
            // SAFETY: a program that lives, and a place for the result.
            let status = unsafe { required(theirs.handle, &raw mut outcome.pch_heap) };
            outcome.pch_heap = if status == 0 { outcome.pch_heap } else { 0 };
        }
        if status.is_ok() {
            let ptx = theirs.text(self.ptx);
            outcome.image = card.map_or_else(Vec::new, |card| image::fatbin(ptx.as_bytes(), card));
            outcome.lto = self.lto.map_or_else(Vec::new, |part| theirs.bytes(part));
            outcome.optix = self.optix.map_or_else(Vec::new, |part| theirs.bytes(part));
            outcome.made =
                Some((ptx, program.expressions.iter().map(|name| theirs.lowered(name)).collect()));
        }
        (outcome, status)
    }
}

/// A program of NVIDIA's library.
struct Theirs<'a> {
    library: &'a Nvidia,
    handle: Handle,
}

impl<'a> Theirs<'a> {
    fn new(library: &'a Nvidia, program: &Program) -> Result<Self, Status> {
        let mut theirs = Self { library, handle: std::ptr::null_mut() };
        let pointers = |texts: Vec<&CString>| -> Vec<*const c_char> {
            texts.into_iter().map(|text| text.as_ptr()).collect()
        };
        let names = pointers(program.headers.iter().map(|(name, _)| name).collect());
        let headers = pointers(program.headers.iter().map(|(_, text)| text).collect());
        // SAFETY: C strings that live, and as many as are told; a place for the program.
        Status::check(unsafe {
            (library.create)(
                &raw mut theirs.handle,
                program.source.as_ptr(),
                program.name.as_ptr(),
                names.len() as c_int,
                headers.as_ptr(),
                names.as_ptr(),
            )
        })?;
        for name in &program.expressions {
            // SAFETY: a program that lives, and a C string.
            Status::check(unsafe { (library.add_name)(theirs.handle, name.as_ptr()) })?;
        }
        if let (Some(set), Some(flow)) = (library.set_flow, program.flow) {
            // SAFETY: a program that lives, and what the caller gave for this.
            Status::check(unsafe {
                set(theirs.handle, flow.function as *const c_void, flow.data as *mut c_void)
            })?;
        }
        Ok(theirs)
    }

    /// One part of what was made; nothing where there is none.
    fn bytes(&self, (size_of, copy): Part) -> Vec<u8> {
        let (mut size, mut bytes) = (0usize, Vec::new());
        // SAFETY: a program that lives, and a place for the result.
        let told = unsafe { size_of(self.handle, &raw mut size) };
        if told != 0 || size == 0 || bytes.try_reserve_exact(size).is_err() {
            return Vec::new();
        }
        bytes.resize(size, 0u8);
        // SAFETY: there is room for as many bytes as it said.
        let copied = unsafe { copy(self.handle, bytes.as_mut_ptr().cast()) };
        if copied == 0 { bytes } else { Vec::new() }
    }

    /// The same, of a text that ends in a zero.
    fn text(&self, part: Part) -> CString {
        let bytes = self.bytes(part);
        CStr::from_bytes_until_nul(&bytes).map(CStr::to_owned).unwrap_or_default()
    }

    fn lowered(&self, name: &CStr) -> CString {
        let mut found = std::ptr::null();
        // SAFETY: a program that lives, a C string, and a place for the result, which is a C string that
        // lives as long as the program.
        unsafe {
            let status = (self.library.lowered)(self.handle, name.as_ptr(), &raw mut found);
            if status == 0 && !found.is_null() {
                CStr::from_ptr(found).to_owned()
            } else {
                CString::default()
            }
        }
    }
}

impl Drop for Theirs<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: a program that lives, once.
            unsafe { (self.library.destroy)(&raw mut self.handle) };
        }
    }
}

/// The options with the architecture in place of a card of it, `compute_90` for `sm_90`, and its number; as
/// they are where no machine code is asked for.
fn without_card(options: &[CString]) -> (Vec<CString>, Option<u32>) {
    let texts: Vec<&str> = options.iter().map(|one| one.to_str().unwrap_or("").trim()).collect();
    let other_code = ["-dlto", "--dlink-time-opt", "-optix-ir", "--optix-ir"];
    if texts.iter().any(|one| other_code.contains(&one.split('=').next().unwrap_or(""))) {
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
    fn machine_code_becomes_ptx() {
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
            assert_eq!(without_card(&texts(given)), (texts(expected), card), "{given:?}");
        }
    }
}
