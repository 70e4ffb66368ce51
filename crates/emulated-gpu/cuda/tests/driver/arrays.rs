//! CUDA arrays as memory: copies to and from them, and the device memory that they use.

use cudarc::driver::sys;

use crate::descriptions::{array, array_resource, copy_3d, numbers, texture};
use crate::support::*;
use crate::textures::NAMED;

#[test]
fn arrays_are_copied_in_both_directions() {
    let _context = own_context();
    // The stream is a blocking one, so it waits for the default stream, in which copies between
    // arrays run.
    let stream = stream(0);
    let line = array([8, 0, 0], 1, 0);
    let values = numbers(16);
    ok!(cuMemcpyHtoA_v2(line, 0usize, values.as_ptr(), 32usize));
    let mut host = [0.0f32; 16];
    ok!(cuMemcpyAtoH_v2(host.as_mut_ptr(), line, 8usize, 24usize));
    assert_eq!(host[..6], values[2..8]);
    let memory = allocate(64);
    ok!(cuMemcpyAtoD_v2(memory + 4, line, 0usize, 32usize));
    assert_eq!(read(memory + 4, 8)[3], 3.0f32.to_bits());
    // Copy whole rows of a two-dimensional array, whose rows are padded.
    let flat = array([4, 2, 0], 1, 0);
    ok!(cuMemcpyDtoA_v2(flat, 0usize, memory + 4, 32usize));
    let other = array([4, 2, 0], 1, 0);
    ok!(cuMemcpyAtoA_v2(other, 16usize, flat, 16usize, 16usize));
    ok!(cuMemcpyAtoHAsync_v2(host.as_mut_ptr(), other, 16usize, 16usize, stream));
    assert_eq!(host[..4], [4.0, 5.0, 6.0, 7.0]);
    ok!(cuMemcpyHtoAAsync_v2(flat, 0usize, values.as_ptr(), 32usize, stream));
    ok!(cuStreamSynchronize(stream));
    // Copy a rectangle from one array to the other.
    let kind = sys::CUmemorytype::CU_MEMORYTYPE_ARRAY;
    let mut copy = sys::CUDA_MEMCPY2D {
        srcXInBytes: 4,
        srcY: 1,
        srcMemoryType: kind,
        srcHost: std::ptr::null(),
        srcDevice: 0,
        srcArray: flat as sys::CUarray,
        srcPitch: 0,
        dstXInBytes: 8,
        dstY: 0,
        dstMemoryType: kind,
        dstHost: std::ptr::null_mut(),
        dstDevice: 0,
        dstArray: other as sys::CUarray,
        dstPitch: 0,
        WidthInBytes: 8,
        Height: 1,
    };
    ok!(cuMemcpy2DUnaligned_v2(&raw const copy => *const sys::CUDA_MEMCPY2D));
    ok!(cuMemcpyAtoH_v2(host.as_mut_ptr(), other, 8usize, 8usize));
    assert_eq!(host[..2], [5.0, 6.0]);
    // Invalid copies: outside the array, not whole rows, from the middle of a texel, or larger than
    // the array.
    copy.Height = 3;
    returns!(code::INVALID_VALUE, cuMemcpy2D_v2(&raw const copy => *const sys::CUDA_MEMCPY2D));
    let host = host.as_ptr();
    for (offset, size) in [(32, 4), (4, 16), (0, 20), (2, 4), (usize::MAX, 4), (0, usize::MAX)] {
        returns!(code::INVALID_VALUE, cuMemcpyHtoA_v2(flat, offset, host, size), "{offset} {size}");
    }
    returns!(code::INVALID_HANDLE, cuMemcpyHtoA_v2(77usize, 0usize, host, 4usize));
}

#[test]
fn graphs_copy_arrays() {
    let context = context();
    let flat = array([4, 2, 0], 1, 0);
    let values: &'static [f32] = Box::leak(numbers(8).into_boxed_slice());
    let memory = allocate(32);
    let into = copy_3d((1, values.as_ptr() as u64, [0; 3]), (3, flat as u64, [0; 3]), [16, 2, 1]);
    let back = copy_3d((3, flat as u64, [4, 1, 0]), (2, memory, [0; 3]), [8, 1, 1]);
    let (mut graph, mut first, mut second) = (0usize, 0usize, 0usize);
    ok!(cuGraphCreate(&raw mut graph, 0u32));
    ok!(cuGraphAddMemcpyNode(
        &raw mut first => *mut usize, graph => usize, std::ptr::null() => *const usize, 0 => usize,
        &raw const into => *const sys::CUDA_MEMCPY3D, context => usize
    ));
    ok!(cuGraphAddMemcpyNode(
        &raw mut second => *mut usize, graph => usize, &raw const first => *const usize, 1 => usize,
        &raw const back => *const sys::CUDA_MEMCPY3D, context => usize
    ));
    let mut params = into;
    ok!(cuGraphMemcpyNodeGetParams(second, &raw mut params => *mut sys::CUDA_MEMCPY3D));
    assert_eq!((params.srcArray as usize, params.srcXInBytes, params.srcY), (flat, 4, 1));
    assert_eq!((params.dstDevice, params.dstPitch, params.dstHeight), (memory, 8, 1), "as passed");
    // An offset is returned as an offset, and not added to the address.
    let with_offset = copy_3d((2, memory, [0; 3]), (2, memory, [16, 0, 0]), [8, 1, 1]);
    let third = output!(cuGraphAddMemcpyNode(
        -> usize, graph => usize, &raw const second => *const usize, 1 => usize,
        &raw const with_offset => *const sys::CUDA_MEMCPY3D, context => usize
    ));
    ok!(cuGraphMemcpyNodeGetParams(third, &raw mut params => *mut sys::CUDA_MEMCPY3D));
    assert_eq!((params.dstDevice, params.dstXInBytes), (memory, 16));
    let executable = output!(cuGraphInstantiateWithFlags(-> usize, graph, 0u64));
    ok!(cuGraphLaunch(executable, 0usize));
    ok!(cuCtxSynchronize());
    assert_eq!(read(memory, 2), [5.0f32, 6.0].map(f32::to_bits));
    assert_eq!(read(memory + 16, 2), [5.0f32, 6.0].map(f32::to_bits));
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn arrays_use_device_memory_until_destroyed() {
    // Runs in a separate process, because other tests allocate memory, too.
    in_child!(&[]);
    let context = context();
    let before = free_memory();
    let created = array([1024, 1024, 0], 1, 0);
    assert_eq!(before - free_memory(), 4 << 20);
    let handle = texture(array_resource(created), false);
    // Destroying the array waits for pending work.
    let (stream, done) = (stream(1), event());
    let gate = gate(stream);
    ok!(cuEventRecord(done, stream));
    let opener = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        gate.open();
    });
    ok!(cuArrayDestroy(created));
    assert_eq!(cu!(cuEventQuery(done)), 0);
    opener.join().unwrap();
    assert_eq!(free_memory(), before);
    returns!(code::INVALID_HANDLE, cuArrayDestroy(created));
    // A kernel that still reads the array faults, and doesn't read other memory.
    let module = module(
        &NAMED
            .replace("[named, {%r1}]", "[%rd2, {%r1}]")
            .replace(".1d.v4.f32.s32 {%f", ".2d.v4.f32.s32 {%f")
            .replace("{%r1}]", "{%r1, 0}]"),
    );
    let out = allocate(64);
    assert_eq!(launch(function(module, "fetch"), (1, 8), 0, &[out, handle]), 0);
    returns!(code::ILLEGAL_ADDRESS, cuCtxSynchronize());
    cu!(cuCtxDestroy_v2(context));
}
