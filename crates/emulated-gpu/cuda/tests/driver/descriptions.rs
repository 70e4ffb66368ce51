//! Descriptions of arrays, textures, surfaces and copies in cudarc's structures.

use cudarc::driver::sys;

use crate::support::{cu, ok, output};

pub(crate) const FLOAT: sys::CUarray_format = sys::CUarray_format::CU_AD_FORMAT_FLOAT;

const CLAMP: sys::CUaddress_mode = sys::CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP;

pub(crate) const SURFACE: u32 = 2;

pub(crate) const LAYERED: u32 = 1;

pub(crate) fn array([width, height, depth]: [usize; 3], channels: u32, flags: u32) -> usize {
    let description = sys::CUDA_ARRAY3D_DESCRIPTOR {
        Width: width,
        Height: height,
        Depth: depth,
        Format: FLOAT,
        NumChannels: channels,
        Flags: flags,
    };
    output!(cuArray3DCreate_v2(
        -> usize, &raw const description => *const sys::CUDA_ARRAY3D_DESCRIPTOR
    ))
}

pub(crate) fn array_resource(array: usize) -> sys::CUDA_RESOURCE_DESC {
    // SAFETY: all fields are numbers and pointers, for which 0 is valid.
    let mut resource: sys::CUDA_RESOURCE_DESC = unsafe { std::mem::zeroed() };
    resource.resType = sys::CUresourcetype::CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array as sys::CUarray;
    resource
}

pub(crate) fn memory_resource(address: u64, bytes: usize) -> sys::CUDA_RESOURCE_DESC {
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

pub(crate) fn rows_resource(
    address: u64,
    [width, height, pitch]: [usize; 3],
) -> sys::CUDA_RESOURCE_DESC {
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

pub(crate) fn sampling(linear: bool, flags: u32) -> sys::CUDA_TEXTURE_DESC {
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

pub(crate) fn try_texture(
    resource: sys::CUDA_RESOURCE_DESC,
    texture: sys::CUDA_TEXTURE_DESC,
) -> (u32, u64) {
    let mut handle = 0u64;
    let code = cu!(cuTexObjectCreate(
        &raw mut handle => *mut u64, &raw const resource => *const sys::CUDA_RESOURCE_DESC,
        &raw const texture => *const sys::CUDA_TEXTURE_DESC,
        std::ptr::null() => *const sys::CUDA_RESOURCE_VIEW_DESC,
    ));
    (code, handle)
}

pub(crate) fn texture(resource: sys::CUDA_RESOURCE_DESC, linear: bool) -> u64 {
    let (code, handle) = try_texture(resource, sampling(linear, 0));
    assert_eq!(code, 0);
    handle
}

pub(crate) fn try_surface(array: usize) -> (u32, u64) {
    let (resource, mut handle) = (array_resource(array), 0u64);
    let code = cu!(cuSurfObjectCreate(
        &raw mut handle => *mut u64, &raw const resource => *const sys::CUDA_RESOURCE_DESC
    ));
    (code, handle)
}

/// Copies numbers to an array from contiguous rows and slices.
pub(crate) fn fill(array: usize, [width, height, depth]: [usize; 3], values: &[f32]) {
    let copy = copy_3d(
        (1, values.as_ptr() as u64, [0; 3]),
        (3, array as u64, [0; 3]),
        [width * 4, height.max(1), depth.max(1)],
    );
    ok!(cuMemcpy3D_v2(&raw const copy => *const sys::CUDA_MEMCPY3D));
}

/// The source or destination of a copy: the memory type, the address or handle, and the position.
type Side = (u32, u64, [usize; 3]);

pub(crate) fn copy_3d(
    from: Side,
    to: Side,
    [width, height, depth]: [usize; 3],
) -> sys::CUDA_MEMCPY3D {
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

pub(crate) fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|index| index as f32).collect()
}
