//! NVIDIA's nvJitLink, if the environment names its file. It compiles LTO-IR to PTX, and needs no
//! GPU for that.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use c_abi::{NvidiaObject, SizeAndCopy, nvidia_functions};

/// The environment variable that names the file of NVIDIA's library.
const VARIABLE: &str = "EMULATED_GPU_NVJITLINK";
/// `NVJITLINK_INPUT_LTOIR`
const LTO_IR: c_int = 3;
/// Options that only matter after LTO-IR has been compiled, so NVIDIA's library doesn't get them.
const NOT_FORWARDED: [&str; 6] = ["-lto", "-dlto", "-ptx", "-r", "-time", "-verbose"];

/// `nvJitLinkHandle`
type Handle = *mut c_void;

nvidia_functions! {
    /// The functions of NVIDIA's library that are used. Versions 12.3 and later have them.
    struct Nvidia;
    required {
        version = nvJitLinkVersion(*mut c_uint, *mut c_uint);
        create = nvJitLinkCreate(*mut Handle, u32, *const *const c_char);
        destroy = nvJitLinkDestroy(*mut Handle);
        add = nvJitLinkAddData(Handle, c_int, *const u8, usize, *const c_char);
        complete = nvJitLinkComplete(Handle);
        ptx_size = nvJitLinkGetLinkedPtxSize(Handle, *mut usize);
        ptx = nvJitLinkGetLinkedPtx(Handle, *mut u8);
        errors_size = nvJitLinkGetErrorLogSize(Handle, *mut usize);
        errors = nvJitLinkGetErrorLog(Handle, *mut u8);
    }
    optional {}
}

/// An input of LTO-IR, and its name.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// NVIDIA's library; `None` if the variable doesn't name one.
///
/// # Errors
/// If the file can't be used. The error is the reason.
pub(crate) fn library() -> Result<Option<&'static Nvidia>, String> {
    static LIBRARY: OnceLock<Result<Option<Nvidia>, String>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        c_abi::load_named(VARIABLE, "emulatedNvJitLink", Nvidia::find).map_err(|why| {
            format!(
                "{why}; name NVIDIA's libnvJitLink.so of version 12.3 or later, or unset it, to link only PTX"
            )
        })
    });
    library.as_ref().map(Option::as_ref).map_err(Clone::clone)
}

impl Nvidia {
    /// The library's version.
    pub(crate) fn version(&self) -> Option<(c_uint, c_uint)> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are valid for writes.
        let status = unsafe { (self.version)(&raw mut major, &raw mut minor) };
        (status == 0).then_some((major, minor))
    }

    /// Links LTO-IR with the options of a link, and returns optimised PTX.
    ///
    /// # Errors
    /// If the library fails. The error is its log.
    pub(crate) fn link(&self, written: &[String], parts: &[Part]) -> Result<String, String> {
        let kept = written.iter().filter(|option| !NOT_FORWARDED.contains(&option.as_str()));
        let options = kept.cloned().chain(["-lto".to_owned(), "-ptx".to_owned()]);
        let options: Vec<CString> = options.map(c_string).collect();
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: only a link of this library is stored in the object.
        let mut link = unsafe { NvidiaObject::new(self.destroy) };
        // SAFETY: the pointer for the link is valid, and `options` has as many C strings as its length says.
        let mut status =
            unsafe { (self.create)(&raw mut link.handle, options.len() as u32, options.as_ptr()) };
        for part in parts {
            if status == 0 {
                let name = c_string(part.name.clone());
                // SAFETY: the link exists, `part.bytes` has the given length, and the name is a C string.
                status = unsafe {
                    (self.add)(
                        link.handle,
                        LTO_IR,
                        part.bytes.as_ptr(),
                        part.bytes.len(),
                        name.as_ptr(),
                    )
                };
            }
        }
        if status == 0 {
            // SAFETY: the link exists.
            status = unsafe { (self.complete)(link.handle) };
        }
        let linked = if status == 0 { text(&link, (self.ptx_size, self.ptx)) } else { None };
        linked.ok_or_else(|| {
            let log = text(&link, (self.errors_size, self.errors)).unwrap_or_default();
            format!("error   : NVIDIA's nvJitLink gives {status} for LTO-IR: {}", log.trim_end())
        })
    }
}

/// A text of a link, without the final zero; `None` for an empty text.
fn text(link: &NvidiaObject, functions: SizeAndCopy) -> Option<String> {
    // SAFETY: the functions belong to the library that made the link.
    let bytes = unsafe { link.bytes(functions) }?;
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    Some(String::from_utf8_lossy(text).into_owned())
}

/// Makes a C string. Zeros inside the text are replaced; options and names shouldn't contain any.
fn c_string(text: String) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}
