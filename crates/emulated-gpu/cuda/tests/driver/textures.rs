//! Textures and surfaces: reading and writing them, queries, and errors.

use std::ffi::CString;

use cudarc::driver::sys;

use crate::descriptions::{
    FLOAT, LAYERED, SURFACE, array, array_resource, copy_3d, fill, memory_resource, numbers,
    rows_resource, sampling, texture, try_surface, try_texture,
};
use crate::support::*;

/// A program of the emulator's tests, compiled by NVRTC.
const TEXTURES: &str =
    include_str!("../../../ptx-emulator/tests/programs/compiled/textures-sm52.ptx");

/// `fetch` reads at the thread's index, from a texture reference and from a texture object. `draw` writes to a
/// surface reference.
pub(crate) const NAMED: &str = r"
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

#[test]
fn a_program_compiled_by_nvrtc_reads_textures_and_writes_surfaces() {
    let _context = own_context();
    let sizes = [[50, 0, 0], [9, 0, 0], [6, 5, 0], [5, 4, 3], [7, 0, 3], [4, 4, 3], [8, 4, 0]];
    let memory = allocate(50 * 4);
    let line: Vec<u32> = numbers(50).iter().map(|x| x.to_bits()).collect();
    crate::memory::write(memory, &line);
    let mut handles = vec![texture(memory_resource(memory, 50 * 4), false)];
    for (index, size) in sizes.into_iter().enumerate().skip(1) {
        let layered = if matches!(index, 4 | 5) { LAYERED } else { 0 };
        let channels = if index == 6 { 4 } else { 1 };
        let array = array(size, channels, layered);
        let [width, height, depth] = size;
        let count = width * height.max(1) * depth.max(1) * channels as usize;
        fill(array, [width * channels as usize, height, depth], &numbers(count));
        handles.push(texture(array_resource(array), true));
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
    // Thread 0 reads in the middle of a row. The texels of each image count up along its axes.
    let at = allocate(64 * 12);
    let positions: Vec<u32> =
        (0..64).flat_map(|_| [2.25_f32, 1.5, 1.5].map(f32::to_bits)).collect();
    crate::memory::write(at, &positions);
    let out = allocate(64 * 80);
    let k = function(module(TEXTURES), "k");
    assert_eq!(launch(k, (1, 64), 0, &[out, table, at]), 0);
    let values: Vec<f32> = read(out, 64 * 20).into_iter().map(f32::from_bits).collect();
    for t in 0..64usize {
        let of_thread = &values[t * 20..][..20];
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
        assert_eq!(of_thread[..6], expected, "{t}");
        // The texture has 4 channels, and is read at 0.5625 and 0.375; these coordinates aren't normalised.
        assert_eq!(of_thread[6..10], [0.25, 1.25, 2.25, 3.25], "{t}");
        assert_eq!(of_thread[13..18], [13.0, 14.0, 8.0, 7.0, 7.75], "{t}");
        assert_eq!(of_thread[18], 3.0 * (63 - t) as f32, "{t}");
    }
    // The surface's array has the values that were written.
    let mut rows = [0.0f32; 64];
    let copy =
        copy_3d((3, drawn as u64, [0; 3]), (1, rows.as_mut_ptr() as u64, [0; 3]), [32, 8, 1]);
    ok!(cuMemcpy3D_v2(&raw const copy => *const sys::CUDA_MEMCPY3D));
    assert!(rows.iter().enumerate().all(|(index, &value)| value == 3.0 * index as f32));
    for handle in &handles[..7] {
        ok!(cuTexObjectDestroy(*handle));
        returns!(code::INVALID_VALUE, cuTexObjectDestroy(*handle));
    }
    ok!(cuSurfObjectDestroy(surface));
}

#[test]
fn references_are_bound_by_name() {
    let _context = own_context();
    let module = module(NAMED);
    let reference = |name: &str, surface: bool| {
        let (name, mut reference) = (CString::new(name).unwrap(), 0usize);
        let (at, name) = (&raw mut reference, name.as_ptr());
        let code = if surface {
            cu!(cuModuleGetSurfRef(at, module, name))
        } else {
            cu!(cuModuleGetTexRef(at, module, name))
        };
        (code, reference)
    };
    let (code, named) = reference("named", false);
    assert_eq!((code, reference("named", false).1), (0, named), "the handle is always the same");
    assert_eq!(reference("drawn", false).0, code::NOT_FOUND);
    let (_, drawn) = reference("drawn", true);
    let (mut address, mut size) = (0u64, 0usize);
    let name = CString::new("named").unwrap();
    returns!(code::NOT_FOUND, cuModuleGetGlobal_v2(
        &raw mut address => *mut u64, &raw mut size => *mut usize, module => usize,
        name.as_ptr() => *const i8
    ));
    let memory = allocate(1024);
    crate::memory::write(memory, &(0..256).map(|x| (x as f32).to_bits()).collect::<Vec<_>>());
    ok!(cuTexRefSetFormat(named, FLOAT as u32, 1 => i32));
    let mut offset = 9usize;
    ok!(cuTexRefSetAddress_v2(&raw mut offset, named, memory, 64usize));
    assert_eq!(offset, 0);
    let far = memory + 520;
    returns!(code::INVALID_VALUE, cuTexRefSetAddress_v2(
        std::ptr::null_mut() => *mut usize, named => usize, far => u64, 64 => usize
    ));
    let array = array([8, 0, 0], 1, SURFACE);
    let out = allocate(64);
    let (fetch, draw) = (function(module, "fetch"), function(module, "draw"));
    ok!(cuSurfRefSetArray(drawn, array, 0u32));
    assert_eq!(launch(draw, (1, 8), 0, &[]), 0);
    let handle = texture(array_resource(array), false);
    assert_eq!(launch(fetch, (1, 8), 0, &[out, handle]), 0);
    let values = read(out, 16);
    for t in 0..8u32 {
        assert_eq!(values[2 * t as usize..][..2], [(t as f32).to_bits(), 100 + t], "{t}");
    }
    // Binding replaces the previous array or memory.
    ok!(cuTexRefSetArray(named, array, 1u32));
    assert_eq!(launch(fetch, (1, 8), 0, &[out, handle]), 0);
    assert_eq!(read(out, 4), [100, 100, 101, 101]);
    let (mut bound, mut mode, mut flags) = (0usize, 9u32, 9u32);
    ok!(cuTexRefGetArray(&raw mut bound, named));
    ok!(cuTexRefSetFlags(named, 3u32));
    ok!(cuTexRefGetFlags(&raw mut flags, named));
    ok!(cuTexRefSetAddressMode(named, 1 => i32, 2u32));
    ok!(cuTexRefGetAddressMode(&raw mut mode, named, 1 => i32));
    assert_eq!((bound, mode, flags), (array, 2, 3));
    returns!(code::INVALID_VALUE, cuTexRefSetAddressMode(named, 3 => i32, 0u32));
    returns!(code::INVALID_VALUE, cuTexRefSetFilterMode(named, 2u32));
    returns!(code::NOT_SUPPORTED, cuTexRefSetFlags(named, 0x10_u32));
    returns!(code::NOT_SUPPORTED, cuTexRefSetMaxAnisotropy(named, 16u32));
    returns!(code::INVALID_VALUE, cuTexRefDestroy(named));
    ok!(cuModuleUnload(module));
    returns!(code::INVALID_VALUE, cuTexRefSetFlags(named, 0u32));
}

#[test]
fn descriptions_can_be_read_back() {
    let _context = own_context();
    let drawn_array = array([6, 5, 4], 2, SURFACE);
    let (none, no_format) = (0, sys::CUarray_format::CU_AD_FORMAT_HALF);
    let mut read = sys::CUDA_ARRAY3D_DESCRIPTOR {
        Width: none,
        Height: none,
        Depth: none,
        Format: no_format,
        NumChannels: 0,
        Flags: 0,
    };
    ok!(cuArray3DGetDescriptor_v2(&raw mut read => *mut sys::CUDA_ARRAY3D_DESCRIPTOR, drawn_array));
    assert_eq!((read.Width, read.Height, read.Depth), (6, 5, 4));
    assert_eq!((read.NumChannels, read.Flags, read.Format), (2, SURFACE, FLOAT));
    let resource = array_resource(drawn_array);
    let mut parameters = sampling(true, 2);
    parameters.borderColor = [1.0, 2.0, 3.0, 4.0];
    let (code, handle) = try_texture(resource, parameters);
    assert_eq!(code, 0);
    let mut back = sampling(false, 0);
    ok!(cuTexObjectGetTextureDesc(&raw mut back => *mut sys::CUDA_TEXTURE_DESC, handle));
    let expected = (parameters.borderColor, 2, parameters.filterMode);
    assert_eq!((back.borderColor, back.flags, back.filterMode), expected);
    let mut resource = memory_resource(0, 0);
    ok!(cuTexObjectGetResourceDesc(&raw mut resource => *mut sys::CUDA_RESOURCE_DESC, handle));
    // SAFETY: the resource is an array.
    assert_eq!(unsafe { resource.res.array.hArray } as usize, drawn_array);
    let mut view = [0u8; 128];
    returns!(code::INVALID_VALUE, cuTexObjectGetResourceViewDesc(view.as_mut_ptr(), handle));
    // The limits are those of real cards.
    for (attribute, value) in [(14, 512), (21, 131_072), (23, 65_536), (29, 2048), (51, 32)] {
        let actual = output!(cuDeviceGetAttribute(-> i32, attribute => i32, 0 => i32));
        assert_eq!(actual, value, "{attribute}");
    }
    let widest = output!(cuDeviceGetTexture1DLinearMaxWidth(
        -> usize, FLOAT as u32 => u32, 1 => u32, 0 => i32
    ));
    assert_eq!(widest, 1 << 28);
}

#[test]
fn cube_maps_are_addressed_by_directions() {
    const CUBE: u32 = 4;
    const NORMALISED: u32 = 2;
    const SEAMLESS: u32 = 0x40;
    let _context = own_context();
    // Each texel has the value 100 · face + 10 · y + x. At the edge between +x and +z, two texels of each face are
    // averaged.
    let cube = array([2, 2, 6], 1, CUBE);
    let value = |texel: usize| (100 * (texel / 4) + 10 * (texel / 2 % 2) + texel % 2) as f32;
    fill(cube, [2, 2, 6], &(0..24).map(value).collect::<Vec<_>>());
    let directions = [[1.0_f32, 0.0, 0.0, 0.0], [0.0, 0.0, -2.0, 0.0], [1.0, 0.0, 1.0, 0.0]];
    let at = allocate(48);
    crate::memory::write(at, directions.map(|d| d.map(f32::to_bits)).as_flattened());
    let out = allocate(12);
    let text = ".version 8.0\n.target sm_80\n.address_size 64
        .visible .entry fetch(.param .u64 out, .param .u64 at, .param .u64 handle)
        {
            .reg .b32 %r<2>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
            ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [at]; ld.param.u64 %rd3, [handle];
            mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 16; add.u64 %rd5, %rd2, %rd4;
            ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd5];
            tex.cube.v4.f32.f32 {%f5, _, _, _}, [%rd3, {%f1, %f2, %f3, %f3}];
            mul.wide.u32 %rd4, %r1, 4; add.u64 %rd6, %rd1, %rd4; st.global.f32 [%rd6], %f5; ret;
        }";
    let fetch = function(module(text), "fetch");
    for (flags, edge) in [(NORMALISED, 406.0), (NORMALISED | SEAMLESS, 205.5)] {
        let (code, handle) = try_texture(array_resource(cube), sampling(true, flags));
        assert_eq!(code, 0);
        assert_eq!(launch(fetch, (1, 3), 0, &[out, at, handle]), 0);
        ok!(cuCtxSynchronize());
        let values: Vec<f32> = read(out, 3).into_iter().map(f32::from_bits).collect();
        assert_eq!(values, [5.5, 505.5, edge]);
        ok!(cuTexObjectDestroy(handle));
    }
    // The limits are those of real cards.
    for (attribute, value) in [(52, 32_768), (53, 32_768), (54, 2046), (66, 32_768), (68, 2046)] {
        let actual = output!(cuDeviceGetAttribute(-> i32, attribute => i32, 0 => i32));
        assert_eq!(actual, value, "{attribute}");
    }
}

#[test]
fn invalid_textures_are_rejected() {
    let _context = own_context();
    let memory = allocate(4096);
    let invalid = |resource, texture| {
        let (code, _) = try_texture(resource, texture);
        assert_eq!(code, code::INVALID_VALUE);
    };
    let plain = sampling(false, 0);
    // Invalid resources: a misaligned address, more than was allocated, no texels, an invalid
    // pitch.
    invalid(memory_resource(memory + 16, 64), plain);
    invalid(memory_resource(memory, 4100), plain);
    invalid(memory_resource(memory, 0), plain);
    invalid(memory_resource(memory, usize::MAX), plain);
    invalid(rows_resource(memory, [4, 4, 20]), plain);
    invalid(rows_resource(memory, [16, 4, 32]), plain);
    invalid(rows_resource(memory, [8, 1000, 32]), plain);
    invalid(rows_resource(memory, [usize::MAX, usize::MAX, usize::MAX - 31]), plain);
    assert_eq!(try_texture(rows_resource(memory, [8, 4, 32]), plain).0, 0);
    invalid(array_resource(77), plain);
    let array = array([8, 8, 0], 1, 0);
    assert_eq!(try_surface(array).0, code::INVALID_VALUE, "the array was not created for surfaces");
    invalid(array_resource(array), sampling(false, 0x100));
    assert_eq!(try_texture(array_resource(array), sampling(false, 0x10)).0, code::NOT_SUPPORTED);
    let mut anisotropic = plain;
    anisotropic.maxAnisotropy = 4;
    assert_eq!(try_texture(array_resource(array), anisotropic).0, code::NOT_SUPPORTED);
    // Linear filtering is not possible for texels that are read as integers.
    let mut bytes = memory_resource(memory, 64);
    bytes.res.linear.format = sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8;
    assert_eq!(try_texture(bytes, sampling(true, 1)).0, 0, "linear memory is never filtered");
    let mut rows = rows_resource(memory, [8, 4, 32]);
    rows.res.pitch2D.format = sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8;
    invalid(rows, sampling(true, 1));
    assert_eq!(try_texture(rows, sampling(true, 0)).0, 0, "as fractions, they can be filtered");
    let null = std::ptr::null_mut::<u64>();
    let resource = array_resource(array);
    returns!(code::INVALID_VALUE, cuSurfObjectCreate(
        null => *mut u64, &raw const resource => *const sys::CUDA_RESOURCE_DESC
    ));
    returns!(code::NOT_SUPPORTED, cuTexRefSetMipmappedArray());
}
