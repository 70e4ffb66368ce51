//! Arrays, textures and surfaces, described in cudarc's own structures.

use std::ffi::CString;

use cudarc::driver::sys;

use crate::support::{
    allocate, alone, code, context, cu, event, function, gate, is_child, launch, module, ok, read,
    stream,
};

/// The program of the emulator's own tests, as NVRTC compiled it.
const TEXTURES: &str =
    include_str!("../../../ptx-emulator/tests/programs/compiled/textures-sm52.ptx");

/// Fetches at the thread's index, from a texture that is named, and from one of a handle; writes to a
/// surface that is named.
const NAMED: &str = r"
.version 8.0
.target sm_80
.address_size 64
.global .texref named;
.global .surfref drawn;
.visible .entry fetch(.param .u64 out, .param .u64 handle)
{
    .reg .b32 %r<4>; .reg .b64 %rd<5>; .reg .f32 %f<9>;
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [handle];
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 8; add.u64 %rd4, %rd1, %rd3;
    tex.1d.v4.f32.s32 {%f1, _, _, _}, [named, {%r1}];
    tex.1d.v4.f32.s32 {%f2, _, _, _}, [%rd2, {%r1}];
    st.global.v2.f32 [%rd4], {%f1, %f2};
    ret;
}
.visible .entry draw()
{
    .reg .b32 %r<4>;
    mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; add.u32 %r3, %r1, 100;
    sust.b.1d.b32.trap [drawn, {%r2}], %r3;
    ret;
}
";

const FLOAT: sys::CUarray_format = sys::CUarray_format::CU_AD_FORMAT_FLOAT;
const CLAMP: sys::CUaddress_mode = sys::CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP;
const SURFACE: u32 = 2;
const LAYERED: u32 = 1;

fn array([width, height, depth]: [usize; 3], channels: u32, flags: u32) -> usize {
    let description = sys::CUDA_ARRAY3D_DESCRIPTOR {
        Width: width,
        Height: height,
        Depth: depth,
        Format: FLOAT,
        NumChannels: channels,
        Flags: flags,
    };
    let mut array = 0usize;
    ok!(cuArray3DCreate_v2(
        &raw mut array => *mut usize, &raw const description => *const sys::CUDA_ARRAY3D_DESCRIPTOR
    ));
    array
}

fn of_array(array: usize) -> sys::CUDA_RESOURCE_DESC {
    // SAFETY: all of it is numbers and pointers, which may be 0.
    let mut resource: sys::CUDA_RESOURCE_DESC = unsafe { std::mem::zeroed() };
    resource.resType = sys::CUresourcetype::CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array as sys::CUarray;
    resource
}

fn of_memory(address: u64, bytes: usize) -> sys::CUDA_RESOURCE_DESC {
    // SAFETY: as above.
    let mut resource: sys::CUDA_RESOURCE_DESC = unsafe { std::mem::zeroed() };
    resource.resType = sys::CUresourcetype::CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear = sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3 {
        devPtr: address,
        format: FLOAT,
        numChannels: 1,
        sizeInBytes: bytes,
    };
    resource
}

fn of_rows(address: u64, [width, height, pitch]: [usize; 3]) -> sys::CUDA_RESOURCE_DESC {
    // SAFETY: as above.
    let mut resource: sys::CUDA_RESOURCE_DESC = unsafe { std::mem::zeroed() };
    resource.resType = sys::CUresourcetype::CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D = sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4 {
        devPtr: address,
        format: FLOAT,
        numChannels: 1,
        width,
        height,
        pitchInBytes: pitch,
    };
    resource
}

fn sampling(linear: bool, flags: u32) -> sys::CUDA_TEXTURE_DESC {
    // SAFETY: as above.
    let mut texture: sys::CUDA_TEXTURE_DESC = unsafe { std::mem::zeroed() };
    texture.addressMode = [CLAMP; 3];
    texture.filterMode = if linear {
        sys::CUfilter_mode::CU_TR_FILTER_MODE_LINEAR
    } else {
        sys::CUfilter_mode::CU_TR_FILTER_MODE_POINT
    };
    texture.flags = flags;
    texture
}

fn try_texture(resource: sys::CUDA_RESOURCE_DESC, texture: sys::CUDA_TEXTURE_DESC) -> (u32, u64) {
    let mut handle = 0u64;
    let code = cu!(cuTexObjectCreate(
        &raw mut handle => *mut u64, &raw const resource => *const sys::CUDA_RESOURCE_DESC,
        &raw const texture => *const sys::CUDA_TEXTURE_DESC,
        std::ptr::null() => *const sys::CUDA_RESOURCE_VIEW_DESC,
    ));
    (code, handle)
}

fn texture(resource: sys::CUDA_RESOURCE_DESC, linear: bool) -> u64 {
    let (code, handle) = try_texture(resource, sampling(linear, 0));
    assert_eq!(code, 0);
    handle
}

fn try_surface(array: usize) -> (u32, u64) {
    let (resource, mut handle) = (of_array(array), 0u64);
    let code = cu!(cuSurfObjectCreate(
        &raw mut handle => *mut u64, &raw const resource => *const sys::CUDA_RESOURCE_DESC
    ));
    (code, handle)
}

/// Copies numbers to an array, rows and slices one behind another.
fn fill(array: usize, [width, height, depth]: [usize; 3], values: &[f32]) {
    let copy = copy_3d(
        (1, values.as_ptr() as u64, [0; 3]),
        (3, array as u64, [0; 3]),
        [width * 4, height.max(1), depth.max(1)],
    );
    ok!(cuMemcpy3D_v2(&raw const copy => *const sys::CUDA_MEMCPY3D));
}

/// An end: the kind of memory, its address or handle, and where in it the copy begins.
type Side = (u32, u64, [usize; 3]);

fn copy_3d(from: Side, to: Side, [width, height, depth]: [usize; 3]) -> sys::CUDA_MEMCPY3D {
    let kind = |kind: u32| match kind {
        1 => sys::CUmemorytype::CU_MEMORYTYPE_HOST,
        2 => sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        3 => sys::CUmemorytype::CU_MEMORYTYPE_ARRAY,
        _ => sys::CUmemorytype::CU_MEMORYTYPE_UNIFIED,
    };
    let only = |side: &Side, kind: u32| if side.0 == kind { side.1 } else { 0 };
    let ([source_x, source_y, source_z], [target_x, target_y, target_z]) = (from.2, to.2);
    sys::CUDA_MEMCPY3D {
        srcXInBytes: source_x,
        srcY: source_y,
        srcZ: source_z,
        srcLOD: 0,
        srcMemoryType: kind(from.0),
        srcHost: only(&from, 1) as *const _,
        srcDevice: only(&from, 2),
        srcArray: only(&from, 3) as sys::CUarray,
        reserved0: std::ptr::null_mut(),
        srcPitch: width,
        srcHeight: height,
        dstXInBytes: target_x,
        dstY: target_y,
        dstZ: target_z,
        dstLOD: 0,
        dstMemoryType: kind(to.0),
        dstHost: only(&to, 1) as *mut _,
        dstDevice: only(&to, 2),
        dstArray: only(&to, 3) as sys::CUarray,
        reserved1: std::ptr::null_mut(),
        dstPitch: width,
        dstHeight: height,
        WidthInBytes: width,
        Height: height,
        Depth: depth,
    }
}

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|index| index as f32).collect()
}

#[test]
fn a_program_of_nvrtcs_reads_textures_and_draws() {
    let context = context();
    let sizes = [[50, 0, 0], [9, 0, 0], [6, 5, 0], [5, 4, 3], [7, 0, 3], [4, 4, 3], [8, 4, 0]];
    let memory = allocate(50 * 4);
    let line: Vec<u32> = numbers(50).iter().map(|x| x.to_bits()).collect();
    crate::memory::write(memory, &line);
    let mut handles = vec![texture(of_memory(memory, 50 * 4), false)];
    for (index, size) in sizes.into_iter().enumerate().skip(1) {
        let layered = if matches!(index, 4 | 5) { LAYERED } else { 0 };
        let channels = if index == 6 { 4 } else { 1 };
        let array = array(size, channels, layered);
        let [width, height, depth] = size;
        let count = width * height.max(1) * depth.max(1) * channels as usize;
        fill(array, [width * channels as usize, height, depth], &numbers(count));
        handles.push(texture(of_array(array), true));
    }
    handles.push(*handles.last().unwrap());
    let drawn = array([8, 8, 0], 1, SURFACE);
    let (code, surface) = try_surface(drawn);
    assert_eq!(code, 0);
    handles.push(surface);
    let words: Vec<u32> =
        handles.iter().flat_map(|&handle| [handle as u32, (handle >> 32) as u32]).collect();
    let table = allocate(words.len() * 4);
    crate::memory::write(table, &words);
    // Thread 0 is in the middle of a row: each image counts up, along each of its axes.
    let at = allocate(64 * 12);
    let places: Vec<u32> = (0..64).flat_map(|_| [2.25_f32, 1.5, 1.5].map(f32::to_bits)).collect();
    crate::memory::write(at, &places);
    let out = allocate(64 * 80);
    let k = function(module(TEXTURES), "k");
    assert_eq!(launch(k, (1, 64), 0, &[out, table, at]), 0);
    let found: Vec<f32> = read(out, 64 * 20).into_iter().map(f32::from_bits).collect();
    for t in 0..64usize {
        let own = &found[t * 20..][..20];
        let fetched =
            t.checked_sub(4).filter(|&index| index < 50).map_or(0.0, |index| index as f32);
        let layer = (t % 3) as f32;
        let expected = [
            fetched,
            1.75,
            6.0 + 1.75,
            20.0 + 5.0 + 1.75,
            7.0 * layer + 1.75,
            16.0 * layer + 4.0 + 1.75,
        ];
        assert_eq!(own[..6], expected, "{t}");
        // 4 channels, at 0.5625 and 0.375, which are not normalised here.
        assert_eq!(own[6..10], [0.25, 1.25, 2.25, 3.25], "{t}");
        assert_eq!(own[13..18], [13.0, 14.0, 8.0, 7.0, 7.75], "{t}");
        assert_eq!(own[18], 3.0 * (63 - t) as f32, "{t}");
    }
    // The surface's array holds what was drawn.
    let mut rows = [0.0f32; 64];
    let copy =
        copy_3d((3, drawn as u64, [0; 3]), (1, rows.as_mut_ptr() as u64, [0; 3]), [32, 8, 1]);
    ok!(cuMemcpy3D_v2(&raw const copy => *const sys::CUDA_MEMCPY3D));
    assert!(rows.iter().enumerate().all(|(index, &value)| value == 3.0 * index as f32));
    for handle in &handles[..7] {
        ok!(cuTexObjectDestroy(*handle => u64));
        assert_eq!(cu!(cuTexObjectDestroy(*handle => u64)), code::INVALID_VALUE);
    }
    ok!(cuSurfObjectDestroy(surface => u64));
    ok!(cuCtxDestroy_v2(context => usize));
}

#[test]
fn references_are_bound_by_name() {
    let context = context();
    let module = module(NAMED);
    let of = |name: &str, surface: bool| {
        let (name, mut reference) = (CString::new(name).unwrap(), 0usize);
        let (at, name) = (&raw mut reference, name.as_ptr());
        let code = if surface {
            cu!(cuModuleGetSurfRef(at => *mut usize, module => usize, name => *const i8))
        } else {
            cu!(cuModuleGetTexRef(at => *mut usize, module => usize, name => *const i8))
        };
        (code, reference)
    };
    let (code, named) = of("named", false);
    assert_eq!((code, of("named", false).1), (0, named), "always the same");
    assert_eq!(of("drawn", false).0, code::NOT_FOUND);
    let (_, drawn) = of("drawn", true);
    let (mut address, mut size) = (0u64, 0usize);
    let name = CString::new("named").unwrap();
    assert_eq!(
        cu!(cuModuleGetGlobal_v2(
            &raw mut address => *mut u64, &raw mut size => *mut usize, module => usize,
            name.as_ptr() => *const i8
        )),
        code::NOT_FOUND
    );
    let memory = allocate(1024);
    crate::memory::write(memory, &(0..256).map(|x| (x as f32).to_bits()).collect::<Vec<_>>());
    ok!(cuTexRefSetFormat(named => usize, FLOAT as u32 => u32, 1 => i32));
    let mut offset = 9usize;
    ok!(cuTexRefSetAddress_v2(
        &raw mut offset => *mut usize, named => usize, memory => u64, 64 => usize
    ));
    assert_eq!(offset, 0);
    let far = memory + 520;
    assert_eq!(
        cu!(cuTexRefSetAddress_v2(
            std::ptr::null_mut() => *mut usize, named => usize, far => u64, 64 => usize
        )),
        code::INVALID_VALUE
    );
    let array = array([8, 0, 0], 1, SURFACE);
    let out = allocate(64);
    let (fetch, draw) = (function(module, "fetch"), function(module, "draw"));
    ok!(cuSurfRefSetArray(drawn => usize, array => usize, 0 => u32));
    assert_eq!(launch(draw, (1, 8), 0, &[]), 0);
    let handle = texture(of_array(array), false);
    assert_eq!(launch(fetch, (1, 8), 0, &[out, handle]), 0);
    let found = read(out, 16);
    for t in 0..8u32 {
        assert_eq!(found[2 * t as usize..][..2], [(t as f32).to_bits(), 100 + t], "{t}");
    }
    // What comes next is bound in its place.
    ok!(cuTexRefSetArray(named => usize, array => usize, 1 => u32));
    assert_eq!(launch(fetch, (1, 8), 0, &[out, handle]), 0);
    assert_eq!(read(out, 4), [100, 100, 101, 101]);
    let (mut bound, mut mode, mut flags) = (0usize, 9u32, 9u32);
    ok!(cuTexRefGetArray(&raw mut bound => *mut usize, named => usize));
    ok!(cuTexRefSetFlags(named => usize, 3 => u32));
    ok!(cuTexRefGetFlags(&raw mut flags => *mut u32, named => usize));
    ok!(cuTexRefSetAddressMode(named => usize, 1 => i32, 2 => u32));
    ok!(cuTexRefGetAddressMode(&raw mut mode => *mut u32, named => usize, 1 => i32));
    assert_eq!((bound, mode, flags), (array, 2, 3));
    assert_eq!(
        cu!(cuTexRefSetAddressMode(named => usize, 3 => i32, 0 => u32)),
        code::INVALID_VALUE
    );
    assert_eq!(cu!(cuTexRefSetFilterMode(named => usize, 2 => u32)), code::INVALID_VALUE);
    assert_eq!(cu!(cuTexRefSetFlags(named => usize, 0x10 => u32)), code::NOT_SUPPORTED);
    assert_eq!(cu!(cuTexRefSetMaxAnisotropy(named => usize, 16 => u32)), code::NOT_SUPPORTED);
    assert_eq!(cu!(cuTexRefDestroy(named => usize)), code::INVALID_VALUE);
    ok!(cuModuleUnload(module => usize));
    assert_eq!(cu!(cuTexRefSetFlags(named => usize, 0 => u32)), code::INVALID_VALUE);
    ok!(cuCtxDestroy_v2(context => usize));
}

#[test]
fn copies_go_into_arrays_and_out() {
    let context = context();
    // It waits for the default stream, in which copies between arrays are done later.
    let stream = stream(0);
    let line = array([8, 0, 0], 1, 0);
    let values = numbers(16);
    ok!(cuMemcpyHtoA_v2(line => usize, 0 => usize, values.as_ptr() => *const f32, 32 => usize));
    let mut host = [0.0f32; 16];
    ok!(cuMemcpyAtoH_v2(host.as_mut_ptr() => *mut f32, line => usize, 8 => usize, 24 => usize));
    assert_eq!(host[..6], values[2..8]);
    let memory = allocate(64);
    ok!(cuMemcpyAtoD_v2(memory + 4 => u64, line => usize, 0 => usize, 32 => usize));
    assert_eq!(read(memory + 4, 8)[3], 3.0f32.to_bits());
    // Whole rows of an array that has some; its rows are padded.
    let flat = array([4, 2, 0], 1, 0);
    ok!(cuMemcpyDtoA_v2(flat => usize, 0 => usize, memory + 4 => u64, 32 => usize));
    let other = array([4, 2, 0], 1, 0);
    ok!(cuMemcpyAtoA_v2(
        other => usize, 16 => usize, flat => usize, 16 => usize, 16 => usize
    ));
    ok!(cuMemcpyAtoHAsync_v2(
        host.as_mut_ptr() => *mut f32, other => usize, 16 => usize, 16 => usize, stream => usize
    ));
    assert_eq!(host[..4], [4.0, 5.0, 6.0, 7.0]);
    ok!(cuMemcpyHtoAAsync_v2(
        flat => usize, 0 => usize, values.as_ptr() => *const f32, 32 => usize, stream => usize
    ));
    ok!(cuStreamSynchronize(stream => usize));
    // A rectangle inside, from one array to the other.
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
    ok!(cuMemcpyAtoH_v2(host.as_mut_ptr() => *mut f32, other => usize, 8 => usize, 8 => usize));
    assert_eq!(host[..2], [5.0, 6.0]);
    // Outside, not of whole rows, from the middle of a texel, or of nothing.
    copy.Height = 3;
    assert_eq!(
        cu!(cuMemcpy2D_v2(&raw const copy => *const sys::CUDA_MEMCPY2D)),
        code::INVALID_VALUE
    );
    let host = host.as_ptr();
    for (offset, size) in [(32, 4), (4, 16), (0, 20), (2, 4), (usize::MAX, 4), (0, usize::MAX)] {
        assert_eq!(
            cu!(cuMemcpyHtoA_v2(
                flat => usize, offset => usize, host => *const f32, size => usize
            )),
            code::INVALID_VALUE,
            "{offset} {size}"
        );
    }
    assert_eq!(
        cu!(cuMemcpyHtoA_v2(77 => usize, 0 => usize, host => *const f32, 4 => usize)),
        code::INVALID_HANDLE
    );
    ok!(cuCtxDestroy_v2(context => usize));
}

#[test]
fn graphs_copy_arrays_too() {
    let context = context();
    let flat = array([4, 2, 0], 1, 0);
    let values: &'static [f32] = Box::leak(numbers(8).into_boxed_slice());
    let memory = allocate(32);
    let into = copy_3d((1, values.as_ptr() as u64, [0; 3]), (3, flat as u64, [0; 3]), [16, 2, 1]);
    let back = copy_3d((3, flat as u64, [4, 1, 0]), (2, memory, [0; 3]), [8, 1, 1]);
    let (mut graph, mut first, mut second) = (0usize, 0usize, 0usize);
    ok!(cuGraphCreate(&raw mut graph => *mut usize, 0 => u32));
    ok!(cuGraphAddMemcpyNode(
        &raw mut first => *mut usize, graph => usize, std::ptr::null() => *const usize, 0 => usize,
        &raw const into => *const sys::CUDA_MEMCPY3D, context => usize
    ));
    ok!(cuGraphAddMemcpyNode(
        &raw mut second => *mut usize, graph => usize, &raw const first => *const usize, 1 => usize,
        &raw const back => *const sys::CUDA_MEMCPY3D, context => usize
    ));
    let mut told = into;
    ok!(cuGraphMemcpyNodeGetParams(
        second => usize, &raw mut told => *mut sys::CUDA_MEMCPY3D
    ));
    assert_eq!((told.srcArray as usize, told.srcXInBytes, told.srcY), (flat, 4, 1));
    let mut executable = 0usize;
    ok!(cuGraphInstantiateWithFlags(
        &raw mut executable => *mut usize, graph => usize, 0 => u64
    ));
    ok!(cuGraphLaunch(executable => usize, 0 => usize));
    ok!(cuCtxSynchronize());
    assert_eq!(read(memory, 2), [5.0f32, 6.0].map(f32::to_bits));
    ok!(cuCtxDestroy_v2(context => usize));
}

#[test]
fn descriptions_are_given_back() {
    let context = context();
    let made = array([6, 5, 4], 2, SURFACE);
    let (none, no_format) = (0, sys::CUarray_format::CU_AD_FORMAT_HALF);
    let mut told = sys::CUDA_ARRAY3D_DESCRIPTOR {
        Width: none,
        Height: none,
        Depth: none,
        Format: no_format,
        NumChannels: 0,
        Flags: 0,
    };
    ok!(cuArray3DGetDescriptor_v2(
        &raw mut told => *mut sys::CUDA_ARRAY3D_DESCRIPTOR, made => usize
    ));
    assert_eq!((told.Width, told.Height, told.Depth), (6, 5, 4));
    assert_eq!((told.NumChannels, told.Flags, told.Format), (2, SURFACE, FLOAT));
    let resource = of_array(made);
    let mut how = sampling(true, 2);
    how.borderColor = [1.0, 2.0, 3.0, 4.0];
    let (code, handle) = try_texture(resource, how);
    assert_eq!(code, 0);
    let mut back = sampling(false, 0);
    ok!(cuTexObjectGetTextureDesc(&raw mut back => *mut sys::CUDA_TEXTURE_DESC, handle => u64));
    assert_eq!(
        (back.borderColor, back.flags, back.filterMode),
        (how.borderColor, 2, how.filterMode)
    );
    let mut of = of_memory(0, 0);
    ok!(cuTexObjectGetResourceDesc(&raw mut of => *mut sys::CUDA_RESOURCE_DESC, handle => u64));
    // SAFETY: the kind says that it is an array.
    assert_eq!(unsafe { of.res.array.hArray } as usize, made);
    let mut view = [0u8; 128];
    assert_eq!(
        cu!(cuTexObjectGetResourceViewDesc(view.as_mut_ptr() => *mut u8, handle => u64)),
        code::INVALID_VALUE
    );
    // Limits are those of a card.
    for (attribute, value) in [(14, 512), (21, 131_072), (23, 65_536), (29, 2048), (51, 32)] {
        let mut found = 0i32;
        ok!(cuDeviceGetAttribute(&raw mut found => *mut i32, attribute => i32, 0 => i32));
        assert_eq!(found, value, "{attribute}");
    }
    let mut widest = 0usize;
    ok!(cuDeviceGetTexture1DLinearMaxWidth(
        &raw mut widest => *mut usize, FLOAT as u32 => u32, 1 => u32, 0 => i32
    ));
    assert_eq!(widest, 1 << 28);
    ok!(cuCtxDestroy_v2(context => usize));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let context = context();
    let memory = allocate(4096);
    let invalid = |resource, texture| {
        let (code, _) = try_texture(resource, texture);
        assert_eq!(code, code::INVALID_VALUE);
    };
    let plain = sampling(false, 0);
    // An address between, more than there is, nothing, another pitch than there can be.
    invalid(of_memory(memory + 16, 64), plain);
    invalid(of_memory(memory, 4100), plain);
    invalid(of_memory(memory, 0), plain);
    invalid(of_memory(memory, usize::MAX), plain);
    invalid(of_rows(memory, [4, 4, 20]), plain);
    invalid(of_rows(memory, [16, 4, 32]), plain);
    invalid(of_rows(memory, [8, 1000, 32]), plain);
    invalid(of_rows(memory, [usize::MAX, usize::MAX, usize::MAX - 31]), plain);
    assert_eq!(try_texture(of_rows(memory, [8, 4, 32]), plain).0, 0);
    invalid(of_array(77), plain);
    let array = array([8, 8, 0], 1, 0);
    assert_eq!(try_surface(array).0, code::INVALID_VALUE, "it was not made for surfaces");
    invalid(of_array(array), sampling(false, 0x100));
    assert_eq!(try_texture(of_array(array), sampling(false, 0x10)).0, code::NOT_SUPPORTED);
    let mut anisotropic = plain;
    anisotropic.maxAnisotropy = 4;
    assert_eq!(try_texture(of_array(array), anisotropic).0, code::NOT_SUPPORTED);
    let mut mipmapped = of_array(array);
    mipmapped.resType = sys::CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    assert_eq!(try_texture(mipmapped, plain).0, code::NOT_SUPPORTED);
    // Integers that stay integers are not filtered.
    let mut bytes = of_memory(memory, 64);
    bytes.res.linear.format = sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8;
    assert_eq!(try_texture(bytes, sampling(true, 1)).0, 0, "memory never is");
    let mut rows = of_rows(memory, [8, 4, 32]);
    rows.res.pitch2D.format = sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8;
    invalid(rows, sampling(true, 1));
    assert_eq!(try_texture(rows, sampling(true, 0)).0, 0, "as fractions they are");
    let null = std::ptr::null_mut::<u64>();
    let resource = of_array(array);
    assert_eq!(
        cu!(cuSurfObjectCreate(
            null => *mut u64, &raw const resource => *const sys::CUDA_RESOURCE_DESC
        )),
        code::INVALID_VALUE
    );
    assert_eq!(cu!(cuMipmappedArrayCreate()), code::NOT_SUPPORTED);
    ok!(cuCtxDestroy_v2(context => usize));
}

#[test]
fn an_array_is_memory_while_it_lives() {
    if !is_child() {
        // Alone, as other tests take memory too.
        let output = alone(module_path!(), "an_array_is_memory_while_it_lives", &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let context = context();
    let (mut before, mut during, mut after, mut total) = (0usize, 0usize, 0usize, 0usize);
    let all = &raw mut total;
    ok!(cuMemGetInfo_v2(&raw mut before => *mut usize, all => *mut usize));
    let made = array([1024, 1024, 0], 1, 0);
    ok!(cuMemGetInfo_v2(&raw mut during => *mut usize, all => *mut usize));
    assert_eq!(before - during, 4 << 20);
    let handle = texture(of_array(made), false);
    // Work that stands in a stream is waited for.
    let (stream, done) = (stream(1), event());
    let gate = gate(stream);
    ok!(cuEventRecord(done => usize, stream => usize));
    let opener = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        gate.open();
    });
    ok!(cuArrayDestroy(made => usize));
    assert_eq!(cu!(cuEventQuery(done => usize)), 0);
    opener.join().unwrap();
    ok!(cuMemGetInfo_v2(&raw mut after => *mut usize, all => *mut usize));
    assert_eq!(before, after);
    assert_eq!(cu!(cuArrayDestroy(made => usize)), code::INVALID_HANDLE);
    // Who reads it all the same meets a fault, and no other memory.
    let module = module(
        &NAMED
            .replace("[named, {%r1}]", "[%rd2, {%r1}]")
            .replace(".1d.v4.f32.s32 {%f", ".2d.v4.f32.s32 {%f")
            .replace("{%r1}]", "{%r1, 0}]"),
    );
    let out = allocate(64);
    assert_eq!(launch(function(module, "fetch"), (1, 8), 0, &[out, handle]), 0);
    assert_eq!(cu!(cuCtxSynchronize()), code::ILLEGAL_ADDRESS);
    cu!(cuCtxDestroy_v2(context => usize));
}
