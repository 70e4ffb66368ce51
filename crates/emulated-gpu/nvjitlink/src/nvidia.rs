//! NVIDIA's own nvJitLink, where the environment names its file: it makes PTX of LTO-IR then, for which it
//! needs no card.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use c_abi::{NvidiaObject, SizeAndCopy, nvidia_functions};

/// Names the file of NVIDIA's library.
const VARIABLE: &str = "EMULATED_GPU_NVJITLINK";
/// `NVJITLINK_INPUT_LTOIR`
const LTO_IR: c_int = 3;
/// Options that are about what is made of the PTX.
const LATER: [&str; 6] = ["-lto", "-dlto", "-ptx", "-r", "-time", "-verbose"];

/// `nvJitLinkHandle`
type Handle = *mut c_void;

nvidia_functions! {
    /// NVIDIA's library, by the functions that are used, which it has since version 12.3.
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

/// LTO-IR that is to be linked, with its name.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// NVIDIA's library; nothing where none is named.
///
/// # Errors
/// Why the file that is named can't serve.
pub(crate) fn library() -> Result<Option<&'static Nvidia>, String> {
    static LIBRARY: OnceLock<Result<Option<Nvidia>, String>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        c_abi::load_named(VARIABLE, "emulatedNvJitLink", Nvidia::find).map_err(|why| {
            format!(
                "{why}; name NVIDIA's libnvJitLink.so of version 12.3 or later, or unset it, to link PTX alone"
            )
        })
    });
    library.as_ref().map(Option::as_ref).map_err(Clone::clone)
}

impl Nvidia {
    /// Its version.
    pub(crate) fn version(&self) -> Option<(c_uint, c_uint)> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: places for the numbers.
        let status = unsafe { (self.version)(&raw mut major, &raw mut minor) };
        (status == 0).then_some((major, minor))
    }

    /// The PTX of LTO-IR, linked and optimised by the options of a link.
    ///
    /// # Errors
    /// Its log.
    pub(crate) fn link(&self, written: &[String], parts: &[Part]) -> Result<String, String> {
        let kept = written.iter().filter(|option| !LATER.contains(&option.as_str()));
        let options = kept.cloned().chain(["-lto".to_owned(), "-ptx".to_owned()]);
        let options: Vec<CString> = options.map(c_string).collect();
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: a link of this library is put there.
        let mut link = unsafe { NvidiaObject::new(self.destroy) };
        // SAFETY: a place for the link, and as many C strings as are told.
        let mut status =
            unsafe { (self.create)(&raw mut link.handle, options.len() as u32, options.as_ptr()) };
        for part in parts {
            if status == 0 {
                let name = c_string(part.name.clone());
                // SAFETY: a link that lives, as many bytes as are told, and a C string.
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
            // SAFETY: a link that lives.
            status = unsafe { (self.complete)(link.handle) };
        }
        let linked = if status == 0 { text(&link, (self.ptx_size, self.ptx)) } else { None };
        linked.ok_or_else(|| {
            let log = text(&link, (self.errors_size, self.errors)).unwrap_or_default();
            format!("error   : NVIDIA's nvJitLink gives {status} for LTO-IR: {}", log.trim_end())
        })
    }
}

/// A text of a link, before its zero; nothing where there is none.
fn text(link: &NvidiaObject, functions: SizeAndCopy) -> Option<String> {
    // SAFETY: the functions are of the link's library.
    let bytes = unsafe { link.bytes(functions) }?;
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    Some(String::from_utf8_lossy(text).into_owned())
}

/// A text of C's; it was one before, or a sentence of this library's.
fn c_string(text: String) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}
