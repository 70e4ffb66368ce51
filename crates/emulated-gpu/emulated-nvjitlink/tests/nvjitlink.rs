//! The library as C and NVIDIA's bindings call it; what it links is loaded and run by the emulated driver.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the functions are C")]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_uint, c_void};
use std::path::PathBuf;
use std::process::Command;
use std::ptr;
use std::sync::OnceLock;

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

/// Results, by the header of version 13.
const SUCCESS: c_int = 0;
const UNRECOGNIZED_OPTION: c_int = 1;
const MISSING_ARCH: c_int = 2;
const INVALID_INPUT: c_int = 3;
const PTX_COMPILE: c_int = 4;
const NVVM_COMPILE: c_int = 5;
const INTERNAL: c_int = 6;
const NULL_INPUT: c_int = 10;
const INCORRECT_INPUT_TYPE: c_int = 12;

/// Inputs.
const CUBIN: c_int = 1;
const PTX: c_int = 2;
const LTOIR: c_int = 3;
const FATBIN: c_int = 4;
const ANY: c_int = 10;

type Handle = *mut c_void;

/// nvJitLink; whoever asks for `libcuda.so` from now on gets the emulated driver.
fn library() -> &'static Library {
    static LIBRARIES: OnceLock<[Library; 2]> = OnceLock::new();
    let libraries = LIBRARIES.get_or_init(|| {
        let own = emulated_blas::library_beside_program(emulated_nvjitlink::FILE).unwrap();
        // SAFETY: the libraries do nothing when they are loaded.
        [emulated_cuda::library_path().unwrap(), own]
            .map(|path| unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.unwrap())
    });
    &libraries[1]
}

/// A function by its name, of a type that the caller knows.
fn function<F: Copy>(name: &str) -> F {
    // SAFETY: the type is that of the header, as the caller promises.
    *unsafe { library().get::<F>(name.as_bytes()) }
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A link that is destroyed in the end, by the functions of a header.
struct Link {
    handle: Handle,
    /// What the names of the functions have before and behind the plain ones.
    names: (&'static str, &'static str),
}

/// The plain names, and those of headers.
const PLAIN: (&str, &str) = ("", "");
const THIRTEEN: (&str, &str) = ("__", "_13_5");

impl Link {
    fn with(names: (&'static str, &'static str), options: &[&str]) -> (Self, c_int) {
        let options: Vec<CString> = options.iter().map(|&one| CString::new(one).unwrap()).collect();
        let options: Vec<*const c_char> = options.iter().map(|one| one.as_ptr()).collect();
        let mut link = Self { handle: ptr::null_mut(), names };
        type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int;
        let create: Create = link.of("nvJitLinkCreate");
        // SAFETY: as many C strings as are told, and a place for the handle.
        let status =
            unsafe { create(&raw mut link.handle, options.len() as u32, options.as_ptr()) };
        (link, status)
    }

    fn new(options: &[&str]) -> Self {
        let (link, status) = Self::with(THIRTEEN, options);
        assert_eq!(status, SUCCESS, "{options:?}: {}", link.log("Error"));
        link
    }

    fn of<F: Copy>(&self, name: &str) -> F {
        function(&format!("{}{name}{}", self.names.0, self.names.1))
    }

    fn add(&self, kind: c_int, bytes: impl AsRef<[u8]>, name: &str) -> c_int {
        let (bytes, name) = (bytes.as_ref(), CString::new(name).unwrap());
        type Add = unsafe extern "C" fn(Handle, c_int, *const u8, usize, *const c_char) -> c_int;
        let add: Add = self.of("nvJitLinkAddData");
        // SAFETY: as many bytes as are told, and a C string.
        unsafe { add(self.handle, kind, bytes.as_ptr(), bytes.len(), name.as_ptr()) }
    }

    fn add_file(&self, kind: c_int, path: &str) -> c_int {
        let path = CString::new(path).unwrap();
        let add: unsafe extern "C" fn(Handle, c_int, *const c_char) -> c_int =
            self.of("nvJitLinkAddFile");
        // SAFETY: a C string.
        unsafe { add(self.handle, kind, path.as_ptr()) }
    }

    fn complete(&self) -> c_int {
        let complete: unsafe extern "C" fn(Handle) -> c_int = self.of("nvJitLinkComplete");
        // SAFETY: whatever the handle is.
        unsafe { complete(self.handle) }
    }

    /// What `nvJitLinkGet…Size` and `nvJitLinkGet…` give.
    fn get(&self, what: &str) -> Result<Vec<u8>, c_int> {
        let mut size = 0usize;
        let of_size: unsafe extern "C" fn(Handle, *mut usize) -> c_int =
            self.of(&format!("nvJitLinkGet{what}Size"));
        // SAFETY: a place for the size.
        match unsafe { of_size(self.handle, &raw mut size) } {
            SUCCESS => {}
            status => return Err(status),
        }
        // What is behind stays as it was.
        let mut bytes = vec![0xa5; size + 1];
        let get: unsafe extern "C" fn(Handle, *mut u8) -> c_int =
            self.of(&format!("nvJitLinkGet{what}"));
        // SAFETY: room for what was said.
        assert_eq!(unsafe { get(self.handle, bytes.as_mut_ptr()) }, SUCCESS);
        assert_eq!(bytes.pop(), Some(0xa5));
        Ok(bytes)
    }

    fn log(&self, which: &str) -> String {
        let bytes = self.get(&format!("{which}Log")).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.is_empty() || text.ends_with("\n\0"), "{text:?}");
        text.trim_end_matches('\0').to_owned()
    }

    /// Links, and gives the image.
    fn image(&self) -> Vec<u8> {
        assert_eq!(self.complete(), SUCCESS, "{}", self.log("Error"));
        self.get("LinkedCubin").unwrap()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let destroy: unsafe extern "C" fn(*mut Handle) -> c_int = self.of("nvJitLinkDestroy");
        // SAFETY: it was made, and is destroyed once.
        let status = unsafe { destroy(&raw mut self.handle) };
        assert!(status == SUCCESS && self.handle.is_null());
    }
}

const HEADER: &str = ".version 7.0\n.target sm_80\n.address_size 64\n";

/// A kernel that writes what `next`, of another text, makes of 5.
fn kernel() -> String {
    format!(
        "{HEADER}.extern .func (.param .b32 r) next(.param .b32 a);
.visible .entry put(.param .u64 p) {{
    .reg .b64 %rd<3>; .reg .b32 %r<3>;
    ld.param.u64 %rd1, [p];
    {{
        .param .b32 given; .param .b32 made;
        mov.u32 %r1, 5; st.param.b32 [given], %r1;
        call (made), next, (given);
        ld.param.b32 %r2, [made];
    }}
    st.global.u32 [%rd1], %r2; ret;
}}"
    )
}

/// `next`, which adds a number.
fn next(number: u32) -> String {
    format!(
        "{HEADER}.visible .func (.param .b32 r) next(.param .b32 a) {{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [a]; add.s32 %r2, %r1, {number}; st.param.b32 [r], %r2; ret;
}}"
    )
}

/// What the kernel of an image writes.
fn run(image: Ptx) -> u32 {
    let context = CudaContext::new(0).unwrap();
    let stream = context.default_stream();
    let put = context.load_module(image).unwrap().load_function("put").unwrap();
    let mut out = stream.alloc_zeros::<u32>(1).unwrap();
    let mut launch = stream.launch_builder(&put);
    launch.arg(&mut out);
    // SAFETY: the kernel's parameter, which has room for the one number that it writes.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1)) }.unwrap();
    stream.clone_dtoh(&out).unwrap()[0]
}

#[test]
fn texts_in_any_order_and_form_are_linked_loaded_and_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (number, names) in [(1, PLAIN), (2, ("__", "_12_0")), (3, ("__", "_12_9")), (4, THIRTEEN)] {
        let open = || Link::with(names, &["-arch=sm_80", "-lineinfo", "-O3"]).0;
        let link = open();
        assert_eq!(link.add(PTX, kernel(), "kernel"), SUCCESS);
        assert_eq!(link.add(ANY, next(number) + "\0", "next"), SUCCESS);
        let image = link.image();
        assert_eq!(run(Ptx::from_binary(image.clone())), 5 + number);

        // What was linked is a fatbin, which is linked as one, and as a cubin.
        for kind in [FATBIN, CUBIN, ANY] {
            let again = open();
            assert_eq!(again.add(kind, &image, "image"), SUCCESS, "{}", again.log("Error"));
            assert_eq!(run(Ptx::from_binary(again.image())), 5 + number);
        }

        std::fs::write(path("kernel"), kernel()).unwrap();
        std::fs::write(path("next.ptx"), next(number + 10)).unwrap();
        let link = open();
        assert_eq!(link.add_file(ANY, &path("next.ptx")), SUCCESS);
        assert_eq!(link.add_file(PTX, &path("kernel")), SUCCESS);
        std::fs::write(path("image"), link.image()).unwrap();
        assert_eq!(run(Ptx::from_file(path("image"))), 15 + number);
    }
}

#[test]
fn what_is_relocatable_is_linked_in_two_steps() {
    let first = Link::new(&["-arch=sm_80", "-r"]);
    assert_eq!(first.add(PTX, kernel(), "kernel"), SUCCESS);
    let first = first.image();
    let second = Link::new(&["-arch=sm_80"]);
    assert_eq!(second.add(CUBIN, first, "first"), SUCCESS);
    assert_eq!(second.add(PTX, next(3), "next"), SUCCESS);
    assert_eq!(run(Ptx::from_binary(second.image())), 8);
}

#[test]
fn with_lto_what_stands_for_lto_ir_becomes_ptx() {
    let part = |text: String| {
        let link = Link::new(&["-arch=sm_80", "-r"]);
        assert_eq!(link.add(PTX, text, "part"), SUCCESS);
        link.image()
    };
    let (kernel, next) = (part(kernel()), part(next(7)));
    let link = Link::new(&["-arch=compute_80", "-lto", "-ptx"]);
    assert_eq!(link.add(LTOIR, &kernel, "kernel"), SUCCESS);
    assert_eq!(link.add(LTOIR, &next, "next"), SUCCESS);
    assert_eq!(link.complete(), SUCCESS, "{}", link.log("Error"));
    assert_eq!(link.get("LinkedCubin"), Err(INTERNAL));
    let text = String::from_utf8(link.get("LinkedPtx").unwrap()).unwrap();
    assert_eq!(run(Ptx::from_src(text.trim_end_matches('\0'))), 12);
    assert_eq!(link.get("LinkedLTOIR"), Err(INVALID_INPUT));

    let link = Link::new(&["-arch=sm_80", "-lto"]);
    assert_eq!(link.add(LTOIR, kernel, "kernel"), SUCCESS);
    assert_eq!(link.add(PTX, self::next(1), "next"), SUCCESS);
    assert_eq!(link.get("LinkedPtx"), Err(INVALID_INPUT));
    assert_eq!(run(Ptx::from_binary(link.image())), 6);
    // Without any, as NVIDIA's.
    let link = Link::new(&["-arch=sm_80", "-lto"]);
    assert_eq!(link.add(PTX, self::next(1), "next"), SUCCESS);
    assert_eq!(link.complete(), NVVM_COMPILE);
    let link = Link::new(&["-arch=sm_80", "-lto", "-ptx"]);
    assert_eq!(link.add(LTOIR, next, "next"), SUCCESS);
    assert_eq!(link.add(PTX, self::kernel(), "kernel"), SUCCESS);
    assert_eq!(link.complete(), INCORRECT_INPUT_TYPE);
    assert_eq!(link.get("LinkedPtx"), Err(INTERNAL));
}

#[test]
fn nothing_makes_an_image_without_kernels() {
    let link = Link::new(&["-arch=sm_90"]);
    let image = link.image();
    let context = CudaContext::new(0).unwrap();
    let module = context.load_module(Ptx::from_binary(image)).unwrap();
    assert!(module.load_function("put").is_err());
    assert_eq!((link.log("Error"), link.log("Info")), (String::new(), String::new()));
}

#[test]
fn symbols_that_are_missing_or_there_twice_are_named() {
    let link = Link::new(&["-arch=sm_80"]);
    assert_eq!(link.add(PTX, kernel(), "kernel"), SUCCESS);
    assert_eq!(link.complete(), INTERNAL);
    assert!(link.log("Error").contains("`next`"), "{}", link.log("Error"));
    assert_eq!(link.get("LinkedCubin"), Err(INTERNAL));

    let link = Link::new(&["-arch=sm_80"]);
    for (number, name) in ["kernel", "one", "other"].into_iter().enumerate() {
        let text = if number == 0 { kernel() } else { next(number as u32) };
        assert_eq!(link.add(PTX, text, name), SUCCESS);
    }
    assert_eq!(link.complete(), INTERNAL);
    let log = link.log("Error");
    assert!(log.contains("`next` is defined in one, too") && log.contains("other"), "{log}");
    // Nothing comes after it.
    assert_eq!(link.add(PTX, next(1), "late"), INTERNAL);
    assert_eq!(link.complete(), INTERNAL);
}

#[test]
fn variables_are_linked_too() {
    let reads = format!(
        "{HEADER}.extern .global .u32 shared;
.visible .entry put(.param .u64 p) {{
    .reg .b64 %rd<3>; .reg .b32 %r<3>;
    ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [shared]; st.global.u32 [%rd1], %r1; ret;
}}"
    );
    let link = Link::new(&["-arch=sm_80"]);
    assert_eq!(link.add(PTX, &reads, "reads"), SUCCESS);
    assert_eq!(link.complete(), INTERNAL);
    assert!(link.log("Error").contains("Undefined reference to 'shared'"), "{}", link.log("Error"));
    let link = Link::new(&["-arch=sm_80"]);
    assert_eq!(link.add(PTX, &reads, "reads"), SUCCESS);
    let has = format!("{HEADER}.visible .global .u32 shared = 7;");
    assert_eq!(link.add(PTX, has, "has"), SUCCESS);
    assert_eq!(run(Ptx::from_binary(link.image())), 7);
}

#[test]
fn wrong_texts_are_in_the_log_and_not_in_the_link() {
    let link = Link::new(&["-arch=sm_75"]);
    assert_eq!(link.add(PTX, next(1), "newer"), PTX_COMPILE);
    let older = next(1).replace("sm_80", "sm_75");
    assert_eq!(link.add(PTX, older.replace("add.s32", "nonsense.s32"), "wrong"), PTX_COMPILE);
    assert_eq!(link.add(PTX, "", "nothing"), INVALID_INPUT);
    assert_eq!(link.add(PTX, "nonsense", "nonsense"), INCORRECT_INPUT_TYPE);
    assert_eq!(link.add(FATBIN, &older, "other"), INCORRECT_INPUT_TYPE);
    assert_eq!(link.add(99, &older, "kind"), INCORRECT_INPUT_TYPE);
    assert_eq!(link.add_file(ANY, "/there/is no/file"), INVALID_INPUT);
    assert_eq!(link.add_file(ANY, "/"), INVALID_INPUT);
    let log = link.log("Error");
    for words in [
        "newer: SM version",
        "nonsense.s32",
        "nothing: ",
        "nonsense: it is no PTX",
        "NVJITLINK_INPUT_FATBIN",
        "input 99",
        "/there/is no/file",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
    assert_eq!(link.add(PTX, older, "right"), SUCCESS);
    assert_eq!(link.add(PTX, kernel().replace("sm_80", "sm_75"), "kernel"), SUCCESS);
    assert_eq!(run(Ptx::from_binary(link.image())), 6);
}

#[test]
fn options_are_taken_or_named() {
    for (options, expected, words) in [
        (
            &["-arch=sm_80", "-fictitious"][..],
            UNRECOGNIZED_OPTION,
            "unrecognized option: -fictitious",
        ),
        (&["-arch=sm_XX"], UNRECOGNIZED_OPTION, "-arch=sm_XX"),
        (&[], MISSING_ARCH, "-arch"),
    ] {
        let (link, status) = Link::with(PLAIN, options);
        assert_eq!(status, expected, "{options:?}");
        assert!(link.log("Error").contains(words), "{}", link.log("Error"));
        assert_eq!(link.add(PTX, next(1), "next"), INTERNAL);
        assert_eq!(link.complete(), INTERNAL);
    }
    let link = Link::new(&["-arch=sm_80", "-time", "-verbose"]);
    assert_eq!(link.add(PTX, next(1), "next"), SUCCESS);
    assert_eq!(link.add(PTX, kernel(), "kernel"), SUCCESS);
    link.image();
    let log = link.log("Info");
    for words in
        ["next: PTX 7.0 for sm_80, ", " bytes, 0 kernels", " bytes, 1 kernels", "time to finish: "]
    {
        assert!(log.contains(words), "{words}: {log}");
    }
}

#[test]
fn a_limit_of_registers_goes_with_the_image() {
    use cudarc::driver::sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_NUM_REGS;
    // As many as a kernel has that adds 100 numbers which it has read before.
    let many = |line: &dyn Fn(u32) -> String| (0..100).map(line).collect::<String>();
    let text = format!(
        "{HEADER}.visible .entry put(.param .u64 p) {{ .reg .b64 %rd<3>; .reg .b32 %r<200>;
ld.param.u64 %rd1, [p]; mov.u32 %r150, 0;\n{}{}st.global.u32 [%rd1], %r150; ret; }}",
        many(&|at| format!("ld.global.u32 %r{at}, [%rd1+{}];\n", 4 * at)),
        many(&|at| format!("add.u32 %r150, %r150, %r{at};\n")),
    );
    let registers = |option: Option<&'static str>| {
        let options: Vec<_> = ["-arch=sm_80"].into_iter().chain(option).collect();
        let link = Link::new(&options);
        assert_eq!(link.add(PTX, &text, "text"), SUCCESS);
        let context = CudaContext::new(0).unwrap();
        let module = context.load_module(Ptx::from_binary(link.image())).unwrap();
        let put = module.load_function("put").unwrap();
        put.get_attribute(CU_FUNC_ATTRIBUTE_NUM_REGS).unwrap()
    };
    assert!(registers(None) > 32);
    assert_eq!(registers(Some("-maxrregcount=32")), 32);
}

#[test]
fn every_name_of_the_headers_is_there() {
    const FUNCTIONS: [&str; 13] = [
        "Create",
        "Destroy",
        "AddData",
        "AddFile",
        "Complete",
        "GetLinkedCubinSize",
        "GetLinkedCubin",
        "GetLinkedPtxSize",
        "GetLinkedPtx",
        "GetErrorLogSize",
        "GetErrorLog",
        "GetInfoLogSize",
        "GetInfoLog",
    ];
    let versions = (0..=9).map(|minor| format!("_12_{minor}"));
    let thirteen: Vec<String> = (0..=5).map(|minor| format!("_13_{minor}")).collect();
    for version in versions.chain(thirteen.iter().cloned()) {
        for name in FUNCTIONS {
            let _: unsafe extern "C" fn() = function(&format!("__nvJitLink{name}{version}"));
        }
    }
    for name in ["GetLinkedLTOIRSize", "GetLinkedLTOIR"] {
        for version in &thirteen {
            let _: unsafe extern "C" fn() = function(&format!("__nvJitLink{name}{version}"));
        }
        let _: unsafe extern "C" fn() = function(&format!("nvJitLink{name}"));
    }
    for name in FUNCTIONS {
        let _: unsafe extern "C" fn() = function(&format!("nvJitLink{name}"));
    }
    let _: unsafe extern "C" fn() = function("emulatedNvJitLink");
    let version: Version = function("nvJitLinkVersion");
    let mut minor = 0;
    // SAFETY: a place for a number, and none.
    assert_eq!(unsafe { version(ptr::null_mut(), &raw mut minor) }, INVALID_INPUT);
}

type Version = unsafe extern "C" fn(*mut c_uint, *mut c_uint) -> c_int;

fn version() -> (c_uint, c_uint) {
    let version: Version = function("nvJitLinkVersion");
    let (mut major, mut minor) = (0, 0);
    // SAFETY: places for the numbers.
    assert_eq!(unsafe { version(&raw mut major, &raw mut minor) }, SUCCESS);
    (major, minor)
}

#[test]
fn what_is_no_link_is_refused_by_the_result_that_the_header_has() {
    type OfHandle = unsafe extern "C" fn(Handle) -> c_int;
    type OfPlace = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
    type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int;
    let link = Link::new(&["-arch=sm_80"]);
    for (version, null) in [("_12_9", INVALID_INPUT), ("_13_0", NULL_INPUT)] {
        let complete: OfHandle = function(&format!("__nvJitLinkComplete{version}"));
        let destroy: unsafe extern "C" fn(*mut Handle) -> c_int =
            function(&format!("__nvJitLinkDestroy{version}"));
        let size: OfPlace = function(&format!("__nvJitLinkGetErrorLogSize{version}"));
        let create: Create = function(&format!("__nvJitLinkCreate{version}"));
        let (mut none, mut nowhere) = (ptr::null_mut(), 0xdead_0000_usize as Handle);
        // SAFETY: what is null or no link is refused, which is what is tested.
        unsafe {
            assert_eq!(complete(none), null);
            assert_eq!(complete(nowhere), INVALID_INPUT);
            assert_eq!(destroy(ptr::null_mut()), null);
            assert_eq!(destroy(&raw mut none), null);
            assert_eq!(destroy(&raw mut nowhere), INVALID_INPUT);
            assert_eq!(size(link.handle, ptr::null_mut()), null);
            assert_eq!(create(ptr::null_mut(), 0, ptr::null()), null);
            assert_eq!(create(&raw mut none, 1, ptr::null()), null);
            assert_eq!(create(&raw mut none, 1, &ptr::null()), null);
        }
        let add: unsafe extern "C" fn(Handle, c_int, *const u8, usize, *const c_char) -> c_int =
            function(&format!("__nvJitLinkAddData{version}"));
        // SAFETY: as above.
        unsafe {
            assert_eq!(add(link.handle, PTX, ptr::null(), 9, ptr::null()), INVALID_INPUT);
            assert_eq!(
                add(link.handle, PTX, HEADER.as_ptr(), usize::MAX, ptr::null()),
                INVALID_INPUT
            );
        }
    }
    assert_eq!(link.get("LinkedCubin"), Err(INTERNAL));
}

#[test]
fn threads_link_side_by_side() {
    std::thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || {
                for _ in 0..20 {
                    let link = Link::new(&["-arch=sm_80"]);
                    assert_eq!(link.add(PTX, kernel(), "kernel"), SUCCESS);
                    assert_eq!(link.add(PTX, next(number), "next"), SUCCESS);
                    assert_eq!(run(Ptx::from_binary(link.image())), 5 + number);
                }
            });
        }
    });
}

/// Names the file of NVIDIA's library.
const VARIABLE: &str = "EMULATED_GPU_NVJITLINK";
const CHILD: &str = "EMULATED_NVJITLINK_TEST_CHILD";

/// Whether this is the process in which a test is to be done that is about the variable: otherwise it is begun,
/// with this value.
fn is_child(test: &str, value: &OsStr) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(VARIABLE, value).env(CHILD, "1");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{errors}");
    false
}

#[test]
fn lto_ir_is_refused_with_what_to_ask_for() {
    if !is_child("lto_ir_is_refused_with_what_to_ask_for", OsStr::new("")) {
        return;
    }
    let link = Link::new(&["-arch=sm_80", "-lto"]);
    for lto_ir in [b"\xedCN\x7f", b"BC\xc0\xde"] {
        assert_eq!(link.add(ANY, lto_ir, "ir"), NVVM_COMPILE);
    }
    let log = link.log("Error");
    assert!(log.contains("ir: it is LTO-IR") && log.contains("lto=False"), "{log}");
    assert_eq!(version(), (12, 2));
}

#[test]
fn a_file_that_is_not_nvidias_library_is_named() {
    let own = emulated_blas::library_beside_program(emulated_nvjitlink::FILE).unwrap();
    for file in [own.as_os_str(), OsStr::new("/there/is no/file")] {
        if !is_child("a_file_that_is_not_nvidias_library_is_named", file) {
            continue;
        }
        let link = Link::new(&["-arch=sm_80", "-lto"]);
        assert_eq!(link.add(LTOIR, b"\xedCN\x7f", "ir"), INTERNAL);
        let (log, file) = (link.log("Error"), std::env::var(VARIABLE).unwrap());
        assert!(log.contains(VARIABLE) && log.contains(&file), "{log}");
        assert_eq!(version(), (12, 2));
        return;
    }
}

/// A library of NVIDIA's wheels, where there is one.
fn wheel(path: &str) -> Option<PathBuf> {
    let wheels = std::env::var_os("CUDA_WHEELS").map(PathBuf::from)?;
    Some(wheels.join("nvidia").join(path)).filter(|file| file.is_file())
}

/// What NVIDIA's NVRTC gives for a source with `-dlto`.
fn lto_ir(source: &CStr) -> Vec<u8> {
    type Create = unsafe extern "C" fn(
        *mut Handle,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int;
    let file = wheel("cuda_nvrtc/lib/libnvrtc.so.12").unwrap();
    let (none, mut program, mut size) = (ptr::null::<*const c_char>(), ptr::null_mut(), 0usize);
    let options = [c"-dlto".as_ptr(), c"-arch=sm_80".as_ptr()];
    // SAFETY: the types are those of nvrtc.h, and so is what is given: C strings, as many options as are told,
    // places for results, and room for as many bytes as were told.
    unsafe {
        let nvrtc = Library::open(Some(file), RTLD_NOW).unwrap();
        let create: Create = *nvrtc.get("nvrtcCreateProgram").unwrap();
        let compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int =
            *nvrtc.get("nvrtcCompileProgram").unwrap();
        let size_of: unsafe extern "C" fn(Handle, *mut usize) -> c_int =
            *nvrtc.get("nvrtcGetLTOIRSize").unwrap();
        let copy: unsafe extern "C" fn(Handle, *mut u8) -> c_int =
            *nvrtc.get("nvrtcGetLTOIR").unwrap();
        assert_eq!(create(&raw mut program, source.as_ptr(), ptr::null(), 0, none, none), SUCCESS);
        assert_eq!(compile(program, 2, options.as_ptr()), SUCCESS);
        assert_eq!(size_of(program, &raw mut size), SUCCESS);
        let mut bytes = vec![0; size];
        assert_eq!(copy(program, bytes.as_mut_ptr()), SUCCESS);
        // What it allocated stays until the process ends.
        std::mem::forget(nvrtc);
        bytes
    }
}

#[test]
fn what_nvidia_makes_of_lto_ir_runs() {
    let libraries =
        wheel("nvjitlink/lib/libnvJitLink.so.12").zip(wheel("cuda_nvrtc/lib/libnvrtc.so.12"));
    let Some((file, _)) = libraries else {
        skipped::skip(
            "NVIDIA's nvJitLink behind the emulated one: CUDA_WHEELS names no folder with it and NVRTC (pip \
             install nvidia-nvjitlink-cu12 nvidia-cuda-nvrtc-cu12)",
        );
        return;
    };
    if !is_child("what_nvidia_makes_of_lto_ir_runs", file.as_os_str()) {
        return;
    }
    assert!(version() >= (12, 3));
    let kernel = lto_ir(
        c"extern \"C\" { __device__ int next(int); __global__ void put(int *p) { *p = next(5); } }",
    );
    let next = lto_ir(c"extern \"C\" __device__ int next(int x) { return 2 * x; }");
    let link = Link::new(&["-arch=sm_80", "-lto", "-ftz=1", "-verbose", "-time"]);
    assert_eq!(link.add(LTOIR, &kernel, "kernel"), SUCCESS, "{}", link.log("Error"));
    assert_eq!(link.add(ANY, &next, "next"), SUCCESS);
    assert_eq!(run(Ptx::from_binary(link.image())), 10);
    let link = Link::new(&["-arch=compute_80", "-lto", "-ptx"]);
    assert_eq!(link.add(LTOIR, &kernel, "kernel"), SUCCESS);
    assert_eq!(link.add(LTOIR, &next, "next"), SUCCESS);
    assert_eq!(link.complete(), SUCCESS, "{}", link.log("Error"));
    let text = String::from_utf8(link.get("LinkedPtx").unwrap()).unwrap();
    assert_eq!(run(Ptx::from_src(text.trim_end_matches('\0'))), 10);
    // Functions of PTX are linked behind it.
    let link = Link::new(&["-arch=sm_80", "-lto"]);
    assert_eq!(link.add(LTOIR, &kernel, "kernel"), SUCCESS);
    assert_eq!(link.add(PTX, self::next(4), "next"), SUCCESS);
    assert_eq!(run(Ptx::from_binary(link.image())), 9);
    let link = Link::new(&["-arch=sm_80", "-lto"]);
    assert_eq!(link.add(LTOIR, &kernel[..kernel.len() / 2], "half"), SUCCESS);
    assert_eq!(link.complete(), NVVM_COMPILE);
    assert!(link.log("Error").contains("NVIDIA's nvJitLink gives"), "{}", link.log("Error"));
}
