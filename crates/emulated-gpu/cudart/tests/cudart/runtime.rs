//! Tests that imitate programs built by nvcc: kernels, variables, errors, copies, streams, graphs, devices.

use std::ffi::{CStr, c_char};

use crate::support::*;

fn text(pointer: *const c_char) -> String {
    // SAFETY: the runtime's strings are NUL-terminated.
    unsafe { CStr::from_ptr(pointer) }.to_str().unwrap().to_owned()
}

#[test]
fn kernels_use_registered_variables() {
    let program = program();
    let data = upload(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(launch(program.scale, (2, 4), 0, data, 5), 0);
    assert_eq!(download::<f32>(data, 5), [2.0, 4.0, 6.0, 8.0, 10.0]);
    let factor = 10f32;
    ok!(cudaMemcpyToSymbol(program.factor, &raw const factor, 4usize, 0usize, 1 => i32));
    // Launch as nvcc's code does: the caller pushes the configuration, and the kernel's stub pops
    // it.
    let pushed = rt!(__cudaPushCallConfiguration(
        Dim3(2, 1, 1) => Dim3, Dim3(4, 1, 1) => Dim3, 0 => usize, 0 => usize
    ));
    assert_eq!(pushed, 0);
    let (mut grid, mut block, mut shared, mut stream) =
        (Dim3(0, 0, 0), Dim3(0, 0, 0), 1usize, 1usize);
    ok!(__cudaPopCallConfiguration(
        &raw mut grid => *mut Dim3, &raw mut block => *mut Dim3, &raw mut shared, &raw mut stream
    ));
    assert_eq!((grid.0, block.0, shared, stream), (2, 4, 0, 0));
    let kernel = output!(__cudaGetKernel(-> usize, program.scale));
    let count = 5u32;
    let arguments = [&raw const data as usize, &raw const count as usize];
    ok!(__cudaLaunchKernel(
        kernel, grid => Dim3, block => Dim3, arguments.as_ptr(), shared, stream
    ));
    assert_eq!(download::<f32>(data, 5), [20.0, 40.0, 60.0, 80.0, 100.0]);
    let mut counter = 0u32;
    ok!(cudaMemcpyFromSymbol(&raw mut counter, program.counter, 4usize, 0usize, 2 => i32));
    assert_eq!(counter, 10);
    let address = output!(cudaGetSymbolAddress(-> usize, program.counter));
    let mut size = output!(cudaGetSymbolSize(-> usize, program.counter));
    assert_eq!((download::<u32>(address, 1), size), (vec![10], 4));
    // Copy beyond the end of the variable, and from an address that is not a variable.
    let beyond = rt!(cudaMemcpyFromSymbol(
        &raw mut counter => *mut u32, program.counter => usize, 4 => usize, 1 => usize, 2 => i32
    ));
    assert_eq!(beyond, 1);
    assert_eq!(rt!(cudaGetSymbolSize(&raw mut size, unique_address())), 13);
    ok!(cudaFree(data));
    rt!(__cudaUnregisterFatBinary(program.handle) -> ());
    // NVIDIA's runtime passes it to the driver as a handle, and the driver rejects it.
    assert_code(launch(program.scale, (1, 1), 0, 0, 0), 98, &[400]);
}

#[test]
fn the_last_error_is_kept_until_it_is_read() {
    let program = program();
    assert_eq!(rt!(cudaGetLastError()), 0);
    // NVIDIA's runtime of CUDA 13 leaves the check to the driver.
    assert_code(launch(program.scale, (0, 1), 0, 0, 0), 9, &[1]);
    assert_code(rt!(cudaPeekAtLastError()), 9, &[1]);
    assert_code(launch(program.scale, (1, 2048), 0, 0, 0), 9, &[1]);
    ok!(cudaDeviceSynchronize());
    assert_code(rt!(cudaGetLastError()), 9, &[1]);
    assert_eq!(rt!(cudaGetLastError()), 0);
    assert_code(launch(unique_address(), (1, 1), 0, 0, 0), 98, &[400]);
    assert_eq!(std::thread::spawn(|| rt!(cudaGetLastError())).join().unwrap(), 0);
    assert_code(rt!(cudaGetLastError()), 98, &[400]);
    assert_eq!(rt!(cudaMemcpy(0usize, 0usize, 4usize, 7 => i32)), 21);
    // NVIDIA's runtime does not check for null pointers here.
    if nvidia_runtime().is_none() {
        assert_eq!(rt!(__cudaPopCallConfiguration(0usize, 0usize, 0usize, 0usize)), 52);
        assert_eq!(rt!(cudaMipmappedArrayGetMemoryRequirements()), 801);
    }
    for (code, name, meaning) in [
        (0, "cudaSuccess", "no error"),
        (2, "cudaErrorMemoryAllocation", "out of memory"),
        (98, "cudaErrorInvalidDeviceFunction", "invalid device function"),
        (700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"),
        (12_345, "unrecognized error code", "unrecognized error code"),
    ] {
        assert_eq!(text(rt!(cudaGetErrorName(code => u32) -> *const c_char)), name);
        assert_eq!(text(rt!(cudaGetErrorString(code => u32) -> *const c_char)), meaning);
    }
}

#[test]
fn incompatible_code_is_rejected_on_first_use() {
    for (kind, capability) in [(2, 90), (1, 120)] {
        let program = register(fatbin(kind, capability, ptx(SCALE).as_bytes()));
        assert_eq!(launch(program.scale, (1, 1), 0, 0, 0), 209);
        let mut size = 0usize;
        let asked = rt!(cudaGetSymbolSize(&raw mut size, program.factor));
        assert_eq!(asked, 209);
    }
    // A registered kernel that is not in the fatbin.
    let program = program();
    let missing = unique_address();
    rt!(__cudaRegisterFunction(
        program.handle, missing, c"missing".as_ptr(), c"missing".as_ptr(), -1 => i32, 0 => usize,
        0 => usize, 0 => usize, 0 => usize, 0 => usize
    ) -> ());
    assert_eq!(launch(missing, (1, 1), 0, 0, 0), 500);
}

#[test]
fn device_properties_fill_their_structure_exactly() {
    // Each release of NVIDIA's library has one of these two layouts of `cudaDeviceProp`.
    let both = [(true, 1008), (false, 1032)];
    let available = both.iter().filter(|(new, _)| match nvidia_runtime() {
        Some(library) => *new == library.ends_with("libcudart.so.13"),
        None => true,
    });
    for &(new, len) in available {
        let mut bytes = vec![0xa5u8; len + 8];
        let at = bytes.as_mut_ptr();
        if new {
            ok!(cudaGetDeviceProperties(at, 1 => i32));
        } else {
            ok!(cudaGetDeviceProperties_v2(at, 1 => i32));
        }
        assert!(bytes[len..].iter().all(|byte| *byte == 0xa5));
        assert!(bytes.starts_with(b"Emulated GPU"));
        let number = |at: usize| i32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        let attribute =
            |which: i32| output!(cudaDeviceGetAttribute(-> i32, which => i32, 1 => i32));
        // warpSize, maxThreadsPerBlock, and the compute capability.
        assert_eq!((number(308), number(320)), (32, 1024));
        assert_eq!((number(360), number(364)), (attribute(75), attribute(76)));
        // The number of multiprocessors, and whether clusters are supported.
        let (processors, clusters) = if new { (384, 748) } else { (388, 772) };
        assert_eq!((number(processors), number(clusters)), (attribute(16), attribute(120)));
    }
    assert_eq!(rt!(cudaGetDeviceProperties(unique_address(), 2 => i32)), 101);
    assert_eq!(rt!(cudaGetDeviceProperties(0usize, 0 => i32)), 1);
}

#[test]
fn the_current_device_is_per_thread() {
    let count = output!(cudaGetDeviceCount(-> i32));
    assert_eq!(count, 2);
    let device = || {
        let device = output!(cudaGetDevice(-> i32));
        device
    };
    let program = program();
    std::thread::spawn(move || {
        assert_eq!(device(), 0);
        ok!(cudaSetDevice(1 => i32));
        assert_eq!(device(), 1);
        assert_eq!(rt!(cudaSetDevice(2 => i32)), 101);
        assert_eq!(device(), 1);
        // Kernels run on the thread's device, and use that device's copy of the variables.
        let uploaded = upload(&[1.0, 1.0]);
        let factor = 7f32;
        ok!(cudaMemcpyToSymbol(program.factor, &raw const factor, 4usize, 0usize, 1 => i32));
        assert_eq!(launch(program.scale, (1, 2), 0, uploaded, 2), 0);
        assert_eq!(download::<f32>(uploaded, 2), [7.0, 7.0]);
        ok!(cudaSetDevice(0 => i32));
        let here = upload(&[1.0, 1.0]);
        assert_eq!(launch(program.scale, (1, 2), 0, here, 2), 0);
        assert_eq!(download::<f32>(here, 2), [2.0, 2.0]);
        // Copy from one device to the other.
        ok!(cudaMemcpyPeer(here, 0 => i32, uploaded, 1 => i32, 8usize));
        assert_eq!(download::<f32>(here, 2), [7.0, 7.0]);
        let mut attributes = [0u64; 12];
        ok!(cudaPointerGetAttributes(attributes.as_mut_ptr(), uploaded));
        // Device memory (2) on device 1.
        assert_eq!(attributes[0], 2 | 1 << 32);
        let local = 0u64;
        ok!(cudaPointerGetAttributes(attributes.as_mut_ptr(), &raw const local));
        assert_eq!(attributes[0] as u32, 0);
    })
    .join()
    .unwrap();
    assert_eq!(std::thread::spawn(device).join().unwrap(), 0);
}

#[test]
fn empty_sizes_and_null_are_accepted() {
    let mut address = 1usize;
    ok!(cudaMalloc(&raw mut address, 0usize));
    assert_eq!(address, 0);
    ok!(cudaMallocHost(&raw mut address, 0usize));
    ok!(cudaFree(0usize));
    ok!(cudaFreeHost(0usize));
    ok!(cudaMemcpy(0usize, 0usize, 0usize, 3 => i32));
    assert_eq!(rt!(cudaMalloc(0usize, 4usize)), 1);
}

#[test]
fn pitched_copies_and_fills() {
    let host: Vec<u8> = (0..24).collect();
    let (mut device, mut pitch) = (0usize, 0usize);
    ok!(cudaMallocPitch(&raw mut device, &raw mut pitch, 6usize, 4usize));
    assert!(pitch >= 6);
    ok!(cudaMemcpy2D(device, pitch, host.as_ptr(), 6usize, 6usize, 4usize, 1 => i32));
    ok!(cudaMemset2D(device + 1, pitch, 0x1ff => i32, 2usize, 3usize));
    let mut back = vec![0u8; 24];
    ok!(cudaMemcpy2D(back.as_mut_ptr(), 6usize, device, pitch, 6usize, 4usize, 2 => i32));
    let mut expected = host;
    for row in 0..3 {
        expected[row * 6 + 1..row * 6 + 3].fill(0xff);
    }
    assert_eq!(back, expected);
    let narrow = rt!(cudaMemcpy2D(device, 5usize, back.as_ptr(), 6usize, 6usize, 4usize, 1 => i32));
    assert_eq!(narrow, 12);
    // Copies two slices of two rows of two bytes out of two slices of three rows of four bytes.
    let from: Vec<u8> = (0..24).collect();
    let to = allocate(8);
    let copy: [usize; 20] =
        [0, 1, 1, 0, from.as_ptr() as usize, 4, 4, 3, 0, 0, 0, 0, to, 2, 2, 2, 2, 2, 2, 1];
    ok!(cudaMemcpy3D(copy.as_ptr()));
    assert_eq!(download::<u8>(to, 8), [5, 6, 9, 10, 17, 18, 21, 22]);
}

#[test]
fn captured_streams_become_graphs() {
    let program = program();
    let data = upload(&[1.0, 1.0, 1.0]);
    let (mut stream, mut graph, mut ready) = (0usize, 0usize, 0usize);
    ok!(cudaStreamCreateWithFlags(&raw mut stream, 1u32));
    ok!(cudaStreamBeginCapture(stream, 2 => i32));
    assert_eq!(launch(program.scale, (1, 4), stream, data, 3), 0);
    ok!(cudaStreamEndCapture(stream, &raw mut graph));
    ok!(cudaGraphInstantiate(&raw mut ready, graph, 0u64));
    assert_eq!(download::<f32>(data, 3), [1.0; 3]);
    let from = output!(cudaEventCreate(-> usize));
    let to = output!(cudaEventCreateWithFlags(-> usize, 0u32));
    ok!(cudaEventRecord(from, stream));
    for _ in 0..3 {
        ok!(cudaGraphLaunch(ready, stream));
    }
    ok!(cudaEventRecord(to, stream));
    ok!(cudaEventSynchronize(to));
    ok!(cudaStreamSynchronize(stream));
    assert_eq!(rt!(cudaStreamQuery(stream)), 0);
    let time = output!(cudaEventElapsedTime(-> f32, from, to));
    assert!(time >= 0.0);
    assert_eq!(download::<f32>(data, 3), [8.0; 3]);
    ok!(cudaGraphExecDestroy(ready));
    ok!(cudaGraphDestroy(graph));
    ok!(cudaStreamDestroy(stream));
}

#[test]
fn kernel_attributes_and_occupancy() {
    let program = program();
    let mut attributes = [0u32; 36];
    ok!(cudaFuncGetAttributes(attributes.as_mut_ptr(), program.scale));
    // Words 0 to 5 are three sizes of 64 bits; the next one is the maximum number of threads per block.
    assert_eq!(attributes[6], 1024);
    ok!(cudaFuncSetAttribute(program.scale, 8 => i32, 100_000 => i32));
    ok!(cudaFuncGetAttributes(attributes.as_mut_ptr(), program.scale));
    assert_eq!(attributes[11], 100_000);
    let (mut blocks, mut parameters) = (0, 0usize);
    ok!(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &raw mut blocks => *mut i32, program.scale => usize, 256 => i32, 0 => usize
    ));
    assert!(blocks >= 1);
    // This function exists since CUDA 13.2.
    if nvidia_runtime().is_none_or(|library| library.ends_with("libcudart.so.13")) {
        ok!(cudaFuncGetParamCount(program.scale, &raw mut parameters));
        assert_eq!(parameters, 2);
    }
    assert_code(rt!(cudaFuncSetAttribute(unique_address(), 8 => i32, 0 => i32)), 98, &[400]);
}

/// `cudaIpcMemHandle_t` and `cudaIpcEventHandle_t`: 64 bytes, passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
struct Handle([u8; 64]);

#[test]
fn interprocess_handles_are_passed_by_value() {
    // cudaDevAttrIpcEventSupport
    let supported = output!(cudaDeviceGetAttribute(-> i32, 125 => i32, 0 => i32));
    if supported == 0 {
        skipped::note("interprocess handles: memfd_create is not available");
        return;
    }
    let (data, mut handle) = (upload(&[1.0]), Handle([0; 64]));
    ok!(cudaIpcGetMemHandle(&raw mut handle => *mut Handle, data));
    let mut address = 0usize;
    let mut open = |handle: Handle, flags: u32| rt!(cudaIpcOpenMemHandle(&raw mut address, handle => Handle, flags));
    // Opening fails for this process's own handle, an invalid flag, a modified handle, and an
    // arbitrary one.
    let mut changed = handle;
    changed.0[8..12].copy_from_slice(&1u32.to_ne_bytes());
    let codes = [open(handle, 1), open(handle, 0), open(changed, 1), open(Handle([7; 64]), 1)];
    assert_eq!(codes, [201, 1, 1, 1]);
    assert_eq!(rt!(cudaIpcCloseMemHandle(data)), 1);
    let mut event = 0usize;
    // cudaEventDisableTiming | cudaEventInterprocess
    ok!(cudaEventCreateWithFlags(&raw mut event, 6u32));
    ok!(cudaIpcGetEventHandle(&raw mut handle => *mut Handle, event));
    let mut opened = 0usize;
    let code = rt!(cudaIpcOpenEventHandle(&raw mut opened, handle => Handle));
    assert_eq!(code, 201);
    ok!(cudaEventDestroy(event));
}
