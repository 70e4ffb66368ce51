//! NVIDIA's own nvJitLink, where the environment names its file: it makes PTX of LTO-IR then, for which it
//! needs no card.

use std::ffi::{CString, OsStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// Names the file of NVIDIA's library.
const VARIABLE: &str = "EMULATED_GPU_NVJITLINK";
/// `NVJITLINK_INPUT_LTOIR`
const LTO_IR: c_int = 3;
/// Options that are about what is made of the PTX.
const LATER: [&str; 6] = ["-lto", "-dlto", "-ptx", "-r", "-time", "-verbose"];

/// `nvJitLinkHandle`
type Handle = *mut c_void;
type SizeOf = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Copy = unsafe extern "C" fn(Handle, *mut u8) -> c_int;
type AddData = unsafe extern "C" fn(Handle, c_int, *const u8, usize, *const c_char) -> c_int;

/// NVIDIA's library, by the functions that are used.
pub(crate) struct Nvidia {
    version: unsafe extern "C" fn(*mut c_uint, *mut c_uint) -> c_int,
    create: unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
    add: AddData,
    complete: unsafe extern "C" fn(Handle) -> c_int,
    ptx: (SizeOf, Copy),
    errors: (SizeOf, Copy),
    /// The functions are its own.
    _library: Library,
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
        let Some(file) = std::env::var_os(VARIABLE).filter(|file| !file.is_empty()) else {
            return Ok(None);
        };
        Nvidia::load(&file).map(Some).map_err(|why| {
            format!(
                "{VARIABLE} names {}: {why}; name NVIDIA's libnvJitLink.so, or unset it, to link PTX alone",
                file.display()
            )
        })
    });
    library.as_ref().map(Option::as_ref).map_err(Clone::clone)
}

impl Nvidia {
    fn load(file: &OsStr) -> Result<Self, String> {
        // SAFETY: who names the file says that it is NVIDIA's.
        let library = unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|error| error.to_string())?;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type is that of the function in nvJitLink.h.
                unsafe { library.get($name) }
                    .map(|symbol| *symbol)
                    .map_err(|_| format!("it has no {}, which came with version 12.3", $name))?
            };
        }
        // SAFETY: only whether it is there is asked.
        let own = unsafe { library.get::<unsafe extern "C" fn()>("emulatedNvJitLink") };
        if own.is_ok() {
            return Err("that is this library itself".to_owned());
        }
        Ok(Self {
            version: function!("nvJitLinkVersion"),
            create: function!("nvJitLinkCreate"),
            destroy: function!("nvJitLinkDestroy"),
            add: function!("nvJitLinkAddData"),
            complete: function!("nvJitLinkComplete"),
            ptx: (function!("nvJitLinkGetLinkedPtxSize"), function!("nvJitLinkGetLinkedPtx")),
            errors: (function!("nvJitLinkGetErrorLogSize"), function!("nvJitLinkGetErrorLog")),
            _library: library,
        })
    }

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
    pub(crate) fn ptx(&self, written: &[String], parts: &[Part]) -> Result<String, String> {
        let kept = written.iter().filter(|option| !LATER.contains(&option.as_str()));
        let options = kept.cloned().chain(["-lto".to_owned(), "-ptx".to_owned()]);
        let options: Vec<CString> = options.map(c_string).collect();
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut link = Theirs { library: self, handle: std::ptr::null_mut() };
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
        let text = if status == 0 { link.text(self.ptx) } else { None };
        text.ok_or_else(|| {
            let log = link.text(self.errors).unwrap_or_default();
            format!("error   : NVIDIA's nvJitLink gives {status} for LTO-IR: {}", log.trim_end())
        })
    }
}

/// A link of NVIDIA's library.
struct Theirs<'a> {
    library: &'a Nvidia,
    handle: Handle,
}

impl Theirs<'_> {
    /// A text, before its zero; nothing where there is none.
    fn text(&self, (size_of, copy): (SizeOf, Copy)) -> Option<String> {
        let (mut size, mut bytes) = (0usize, Vec::new());
        // SAFETY: whatever the handle is, and a place for the result.
        let told = unsafe { size_of(self.handle, &raw mut size) };
        if told != 0 || bytes.try_reserve_exact(size).is_err() {
            return None;
        }
        bytes.resize(size, 0u8);
        // SAFETY: there is room for as many bytes as it said.
        let copied = unsafe { copy(self.handle, bytes.as_mut_ptr()) };
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(size);
        (copied == 0).then(|| String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

impl Drop for Theirs<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: a link that lives, once.
            unsafe { (self.library.destroy)(&raw mut self.handle) };
        }
    }
}

/// A text of C's; it was one before, or a sentence of this library's.
fn c_string(text: String) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}
