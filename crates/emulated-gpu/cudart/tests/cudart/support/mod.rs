//! Loads the emulated driver and the runtime into the test program and calls the runtime through C. Builds and
//! registers a fatbin, as nvcc's code does before `main`.

#![allow(dead_code, unused_macros, unused_imports, reason = "each test file uses what it needs")]

use std::ffi::{CString, c_char, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

pub(crate) use emulated_gpu_test_support::{call as rt, device, ok, output};
use libloading::os::unix::Library;

/// The environment variable that names NVIDIA's library if the tests should run on it.
pub(crate) const NVIDIA_RUNTIME: &str = "FOUR_LEVELS_NVIDIA_CUDART";

/// The path of NVIDIA's library if the tests run on it.
pub(crate) fn nvidia_runtime() -> Option<PathBuf> {
    std::env::var_os(NVIDIA_RUNTIME).map(PathBuf::from)
}

/// Checks a code of the emulated library. If NVIDIA's library is tested, `others` lists the codes that its versions
/// may return instead.
#[track_caller]
pub(crate) fn assert_code(code: u32, emulated: u32, others: &[u32]) {
    match nvidia_runtime() {
        Some(library) => {
            assert!(code == emulated || others.contains(&code), "{}: {code}", library.display());
        }
        None => assert_eq!(code, emulated),
    }
}

/// Loads the runtime on a driver with two devices.
pub(crate) fn runtime() -> &'static Library {
    static RUNTIME: OnceLock<&Library> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        // SAFETY: no other thread reads the environment yet; all of them wait for this initialisation first.
        unsafe { std::env::set_var("EMULATED_GPU_DEVICES", "2") };
        let path = nvidia_runtime().unwrap_or_else(|| emulated_cudart::library_path().unwrap());
        &device::install([emulated_cuda::library_path().unwrap(), path])[1]
    })
}

/// A function of the runtime.
pub(crate) fn symbol<F: Copy>(name: &str) -> F {
    // SAFETY: callers pass the type from CUDA's documentation.
    *unsafe { runtime().get::<F>(name) }.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// `dim3`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dim3(pub(crate) u32, pub(crate) u32, pub(crate) u32);

/// PTX with the symbols that [`register`] registers: the constant `factor`, the variable `counter`, and the kernel
/// `scale(p, n)` with this body.
pub(crate) fn ptx(body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n\
         .const .align 4 .f32 factor = 0f40000000;\n.global .align 4 .u32 counter;\n\
         .visible .entry scale(.param .u64 p, .param .u32 n)\n{{{body}}}\n"
    )
}

/// Multiplies each of `n` floats at `p` by a constant that the host may change, and counts the threads.
pub(crate) const SCALE: &str = r"
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd2, %r5, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    ld.const.f32 %f2, [factor];
    mul.rn.f32 %f3, %f1, %f2;
    st.global.f32 [%rd3], %f3;
    atom.global.add.u32 %r6, [counter], 1;
DONE:
    ret;
";

/// A fatbin with one entry in nvcc's layout; `kind` is 1 for PTX and 2 for machine code.
pub(crate) fn fatbin(kind: u16, capability: u32, payload: &[u8]) -> Vec<u64> {
    let padded = payload.len().next_multiple_of(8);
    let mut bytes = 0xba55_ed50u32.to_le_bytes().to_vec();
    bytes.extend([1, 0, 16, 0]);
    bytes.extend((80 + padded as u64).to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend([1, 1, 80, 0, 0, 0]);
    bytes.extend((padded as u64).to_le_bytes());
    bytes.extend([0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 7, 0]);
    bytes.extend(capability.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(0x11u64.to_le_bytes());
    bytes.extend([0; 32]);
    bytes.extend(payload);
    bytes.resize(96 + padded, 0);
    bytes.chunks(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap())).collect()
}

/// The host addresses of a program's code, registered as nvcc's constructors do it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    pub(crate) handle: usize,
    /// Host address of the kernel `scale`.
    pub(crate) scale: usize,
    /// Host addresses of the variables `factor` and `counter`.
    pub(crate) factor: usize,
    pub(crate) counter: usize,
}

/// A unique address.
pub(crate) fn unique_address() -> usize {
    std::ptr::from_ref(Box::leak(Box::new(0u64))) as usize
}

pub(crate) fn register(fatbin: Vec<u64>) -> Program {
    let image = Vec::leak(fatbin).as_ptr() as u64;
    let wrapper: &'static [u64; 3] = Box::leak(Box::new([0x4662_43b1 | 1 << 32, image, 0]));
    let handle = rt!(__cudaRegisterFatBinary(wrapper.as_ptr()) -> usize);
    let program = Program {
        handle,
        scale: unique_address(),
        factor: unique_address(),
        counter: unique_address(),
    };
    let name = |text: &str| CString::new(text).unwrap().into_raw().cast_const();
    rt!(__cudaRegisterFunction(
        handle, program.scale, name("scale"), name("scale"), -1 => i32, 0 => usize, 0 => usize,
        0 => usize, 0 => usize, 0 => usize
    ) -> ());
    for (at, text, constant) in [(program.factor, "factor", 1), (program.counter, "counter", 0)] {
        rt!(__cudaRegisterVar(
            handle, at, name(text), name(text), 0 => i32, 4 => usize, constant => i32, 0 => i32
        ) -> ());
    }
    rt!(__cudaRegisterFatBinaryEnd(handle) -> ());
    program
}

/// The program with the kernel [`SCALE`].
pub(crate) fn program() -> Program {
    register(fatbin(1, 80, ptx(SCALE).as_bytes()))
}

pub(crate) fn allocate(bytes: usize) -> usize {
    output!(cudaMalloc(-> usize, bytes))
}

/// Allocates device memory with these values.
pub(crate) fn upload(values: &[f32]) -> usize {
    let address = allocate(size_of_val(values));
    ok!(cudaMemcpy(address, values.as_ptr() as usize, size_of_val(values), 1 => i32));
    address
}

pub(crate) fn download<T: Copy + Default>(address: usize, count: usize) -> Vec<T> {
    let mut host = vec![T::default(); count];
    ok!(cudaMemcpy(host.as_mut_ptr() as usize, address, count * size_of::<T>(), 2 => i32));
    host
}

/// Launches `scale<<<grid, block, 0, stream>>>(address, count)` and returns the code.
pub(crate) fn launch(
    kernel: usize,
    (grid, block): (u32, u32),
    stream: usize,
    address: usize,
    count: u32,
) -> u32 {
    let arguments = [&raw const address as usize, &raw const count as usize];
    rt!(cudaLaunchKernel(
        kernel => usize, Dim3(grid, 1, 1) => Dim3, Dim3(block, 1, 1) => Dim3,
        arguments.as_ptr() => *const usize, 0 => usize, stream => usize
    ))
}
