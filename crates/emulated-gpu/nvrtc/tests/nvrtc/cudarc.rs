//! The library as called by unmodified cudarc; the kernels run on the emulated GPU.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::{
    CompileError, CompileOptions, Ptx, compile_ptx, compile_ptx_with_opts, result, sys,
};
use emulated_gpu_test_support::device;
use sys::nvrtcResult as Code;

/// Installs the emulated libraries: from now on, a program that loads `libcuda.so` or `libnvrtc.so`
/// gets them.
pub(crate) fn install() {
    let own = emulated_nvrtc::library_path().unwrap();
    device::install([emulated_cuda::library_path().unwrap(), own]);
}

const SAXPY: &str = "
#ifndef FACTOR
#define FACTOR 1.0f
#endif
extern \"C\" __global__ void saxpy(float a, const float *x, float *y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = FACTOR * a * x[i] + y[i];
}";

#[test]
fn a_kernel_is_compiled_loaded_and_run() {
    install();
    let factor = CompileOptions {
        options: vec!["-DFACTOR=2.0f".into()],
        arch: Some("compute_80"),
        use_fast_math: Some(true),
        ..CompileOptions::default()
    };
    let context = CudaContext::new(0).unwrap();
    let stream = context.default_stream();
    for (ptx, expected) in [
        (compile_ptx(SAXPY).unwrap(), [3.0f32, 5.0, 7.0]),
        (compile_ptx_with_opts(SAXPY, factor).unwrap(), [5.0, 9.0, 13.0]),
    ] {
        let saxpy = context.load_module(ptx).unwrap().load_function("saxpy").unwrap();
        let x = stream.clone_htod(&[1.0f32, 2.0, 3.0]).unwrap();
        let mut y = stream.clone_htod(&[1.0f32; 3]).unwrap();
        let mut launch = stream.launch_builder(&saxpy);
        launch.arg(&2.0f32).arg(&x).arg(&mut y).arg(&3u32);
        // SAFETY: the arguments match the kernel's parameters, and both buffers have three elements.
        unsafe { launch.launch(LaunchConfig::for_num_elems(3)) }.unwrap();
        assert_eq!(stream.clone_dtoh(&y).unwrap(), expected);
    }
}

#[test]
fn a_real_architecture_gives_an_image() {
    for (option, is_image) in [("--gpu-architecture=sm_80", true), ("-arch=compute_80", false)] {
        let program = Program::new(
            c"extern \"C\" __global__ void put(int *p) { p[threadIdx.x] = threadIdx.x + 5; }",
            &[],
        );
        program.compile(&[option]).unwrap();
        let image = program.image();
        assert_eq!(!image.is_empty(), is_image);
        if is_image {
            assert_eq!(run_kernel(image, "put"), [5, 6, 7]);
        }
    }
}

/// Runs a kernel, whose parameter is a pointer, in three threads, and returns the numbers that they store there.
pub(crate) fn run_kernel(image: Vec<u8>, name: &str) -> Vec<i32> {
    let context = CudaContext::new(0).unwrap();
    let stream = context.default_stream();
    let module = context.load_module(Ptx::from_binary(image)).unwrap();
    let kernel = module.load_function(name).unwrap();
    let mut p = stream.alloc_zeros::<i32>(3).unwrap();
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&mut p);
    let shape = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (3, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the argument matches the kernel's parameter, and has room for three threads.
    unsafe { launch.launch(shape) }.unwrap();
    stream.clone_dtoh(&p).unwrap()
}

#[test]
fn errors_are_in_the_log() {
    install();
    let wrong = SAXPY.replace("x[i]", "z[i]");
    let options = CompileOptions { name: Some("saxpy.cu".into()), ..CompileOptions::default() };
    match compile_ptx_with_opts(&wrong, options).unwrap_err() {
        CompileError::CompileError { nvrtc, log, .. } => {
            assert_eq!(nvrtc.0, Code::NVRTC_ERROR_COMPILATION);
            let log = log.to_str().unwrap();
            assert!(log.contains("saxpy.cu:7:") && log.contains("`z`"), "{log}");
        }
        other => panic!("{other:?}"),
    }
    let options = CompileOptions { options: vec!["--no".into()], ..CompileOptions::default() };
    match compile_ptx_with_opts(SAXPY, options).unwrap_err() {
        CompileError::CompileError { nvrtc, log, .. } => {
            assert_eq!(nvrtc.0, Code::NVRTC_ERROR_INVALID_OPTION);
            assert_eq!(log.as_c_str(), c"nvrtc: error: unrecognized option --no found\n");
        }
        other => panic!("{other:?}"),
    }
}

/// A program that is destroyed when it is dropped.
pub(crate) struct Program(pub(crate) sys::nvrtcProgram);

impl Program {
    pub(crate) fn new(source: &CStr, headers: &[(&CStr, &CStr)]) -> Self {
        install();
        let mut program = ptr::null_mut();
        let names: Vec<*const c_char> = headers.iter().map(|(name, _)| name.as_ptr()).collect();
        let texts: Vec<*const c_char> = headers.iter().map(|(_, text)| text.as_ptr()).collect();
        // SAFETY: all strings are C strings, and both arrays have `headers.len()` elements.
        let status = unsafe {
            sys::nvrtcCreateProgram(
                &raw mut program,
                source.as_ptr(),
                ptr::null(),
                headers.len() as c_int,
                texts.as_ptr(),
                names.as_ptr(),
            )
        };
        assert_eq!(status, Code::NVRTC_SUCCESS);
        Self(program)
    }

    pub(crate) fn add_name(&self, name: &CStr) -> Code {
        // SAFETY: the program exists, and the name is a C string.
        unsafe { sys::nvrtcAddNameExpression(self.0, name.as_ptr()) }
    }

    pub(crate) fn compile(&self, options: &[&str]) -> Result<(), result::NvrtcError> {
        // SAFETY: the program exists.
        unsafe { result::compile_program(self.0, options) }
    }

    /// The image in place of machine code; may be empty.
    pub(crate) fn image(&self) -> Vec<u8> {
        let mut size = 9usize;
        // SAFETY: the program exists, and the buffer has the size that the library returned.
        unsafe {
            assert_eq!(sys::nvrtcGetCUBINSize(self.0, &raw mut size), Code::NVRTC_SUCCESS);
            let mut image = vec![0u8; size];
            let status = sys::nvrtcGetCUBIN(self.0, image.as_mut_ptr().cast());
            assert_eq!(status == Code::NVRTC_SUCCESS, size > 0);
            image
        }
    }

    pub(crate) fn lowered(&self, name: &CStr) -> Result<CString, Code> {
        let mut found = ptr::null();
        // SAFETY: the program exists, the name is a C string, and the pointer for the result is valid.
        match unsafe { sys::nvrtcGetLoweredName(self.0, name.as_ptr(), &raw mut found) } {
            // SAFETY: the result is a C string that lives as long as the program.
            Code::NVRTC_SUCCESS => Ok(unsafe { CStr::from_ptr(found) }.to_owned()),
            other => Err(other),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program was created, and is destroyed once.
        let status = unsafe { sys::nvrtcDestroyProgram(&raw mut self.0) };
        assert!(status == Code::NVRTC_SUCCESS && self.0.is_null());
    }
}

#[test]
fn name_expressions_headers_and_templates() {
    let source = c"#include \"by.h\"
        template <typename T, int N> __global__ void scale(T *x) { x[threadIdx.x] *= (T)(N * BY); }
        __constant__ int table[3];";
    let program = Program::new(source, &[(c"by.h", c"#define BY 3")]);
    for name in [c"scale<float, 2>", c"&scale<double, -1>", c"table", c"scale<float, 2>"] {
        assert_eq!(program.add_name(name), Code::NVRTC_SUCCESS);
    }
    let early = program.lowered(c"table");
    assert_eq!(early, Err(Code::NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION));
    program.compile(&[]).unwrap();
    assert_eq!(program.lowered(c"scale<float, 2>").unwrap().as_c_str(), c"_Z5scaleIfLi2EEvPT_");
    assert_eq!(program.lowered(c"&scale<double, -1>").unwrap().as_c_str(), c"_Z5scaleIdLin1EEvPT_");
    assert_eq!(program.lowered(c"table").unwrap().as_c_str(), c"table");
    let other = program.lowered(c"scale<int, 2>");
    assert_eq!(other, Err(Code::NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID));
    let late = program.add_name(c"scale<int, 2>");
    assert_eq!(late, Code::NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION);
    // SAFETY: the program exists.
    let ptx = unsafe { result::get_ptx(program.0) }.unwrap();
    // SAFETY: the program exists.
    let log = unsafe { result::get_program_log(program.0) }.unwrap();
    // SAFETY: both texts end with a zero.
    let [ptx, log] = [ptx, log].map(|text| unsafe { CStr::from_ptr(text.as_ptr()) }.to_owned());
    assert!(ptx.to_str().unwrap().contains(".entry _Z5scaleIfLi2EEvPT_("), "{ptx:?}");
    assert!(log.is_empty(), "{log:?}");
}

#[test]
fn an_unknown_name_expression_fails_the_compilation() {
    let program = Program::new(c"__global__ void k() { }", &[]);
    assert_eq!(program.add_name(c"kk"), Code::NVRTC_SUCCESS);
    assert_eq!(program.compile(&[]).unwrap_err().0, Code::NVRTC_ERROR_COMPILATION);
    // SAFETY: the program exists, and the log ends with a zero.
    unsafe {
        assert_eq!(result::get_ptx(program.0).unwrap_err().0, Code::NVRTC_ERROR_INVALID_PROGRAM);
        let log = result::get_program_log(program.0).unwrap();
        let log = CStr::from_ptr(log.as_ptr()).to_str().unwrap().to_owned();
        assert!(log.contains("there is no kernel `kk`"), "{log}");
    }
}

#[test]
fn wrong_arguments_are_refused() {
    install();
    let program = Program::new(c"__global__ void k() { }", &[]);
    let nowhere = 0xdead_0000_usize as sys::nvrtcProgram;
    let mut size = 0;
    // SAFETY: the library refuses null pointers and handles that aren't a program's.
    unsafe {
        let mut gone = nowhere;
        for (status, expected) in [
            (
                sys::nvrtcCreateProgram(
                    ptr::null_mut(),
                    c"".as_ptr(),
                    ptr::null(),
                    0,
                    ptr::null(),
                    ptr::null(),
                ),
                Code::NVRTC_ERROR_INVALID_INPUT,
            ),
            (sys::nvrtcCompileProgram(program.0, 1, ptr::null()), Code::NVRTC_ERROR_INVALID_INPUT),
            (sys::nvrtcCompileProgram(program.0, -1, ptr::null()), Code::NVRTC_ERROR_INVALID_INPUT),
            (sys::nvrtcGetPTXSize(program.0, &raw mut size), Code::NVRTC_ERROR_INVALID_PROGRAM),
            (sys::nvrtcCompileProgram(nowhere, 0, ptr::null()), Code::NVRTC_ERROR_INVALID_PROGRAM),
            (sys::nvrtcDestroyProgram(&raw mut gone), Code::NVRTC_ERROR_INVALID_PROGRAM),
            (sys::nvrtcGetCUBIN(program.0, ptr::null_mut()), Code::NVRTC_ERROR_INVALID_PROGRAM),
            (sys::nvrtcVersion(ptr::null_mut(), ptr::null_mut()), Code::NVRTC_ERROR_INVALID_INPUT),
        ] {
            assert_eq!(status, expected);
        }
    }
}

#[test]
fn version_architectures_and_marker_symbol() {
    install();
    let (mut major, mut minor, mut count) = (0, 0, 0);
    // SAFETY: all pointers for results are valid, and the list has the length that the library returned.
    unsafe {
        assert_eq!(sys::nvrtcVersion(&raw mut major, &raw mut minor), Code::NVRTC_SUCCESS);
        assert_eq!(sys::nvrtcGetNumSupportedArchs(&raw mut count), Code::NVRTC_SUCCESS);
        let mut list = vec![0; count as usize];
        assert_eq!(sys::nvrtcGetSupportedArchs(list.as_mut_ptr()), Code::NVRTC_SUCCESS);
        assert_eq!((major, minor), (12, 0));
        assert!(list.is_sorted() && list.first() == Some(&50) && list.last() == Some(&90));
        let text = sys::nvrtcGetErrorString(Code::NVRTC_ERROR_COMPILATION);
        assert_eq!(CStr::from_ptr(text), c"NVRTC_ERROR_COMPILATION");
        assert!(sys::culib().get::<unsafe extern "C" fn()>(b"emulatedNvrtc").is_ok());
    }
}
