//! Mipmapped arrays.

use cudarc::driver::sys;

use crate::descriptions::{FLOAT, array, array_resource, numbers, sampling, try_texture};
use crate::support::{code, context, cu, free_memory, in_child, ok, own_context, returns};

/// The description of an array of floats.
fn description([width, height, depth]: [usize; 3], flags: u32) -> sys::CUDA_ARRAY3D_DESCRIPTOR {
    sys::CUDA_ARRAY3D_DESCRIPTOR {
        Width: width,
        Height: height,
        Depth: depth,
        Format: FLOAT,
        NumChannels: 1,
        Flags: flags,
    }
}

fn mipmap(shape: [usize; 3], flags: u32, levels: u32) -> (u32, usize) {
    let description = self::description(shape, flags);
    let mut mipmap = 0usize;
    let code = cu!(cuMipmappedArrayCreate(
        &raw mut mipmap, &raw const description => *const sys::CUDA_ARRAY3D_DESCRIPTOR, levels
    ));
    (code, mipmap)
}

fn level(mipmap: usize, number: u32) -> (u32, usize) {
    let mut level = 0usize;
    let code = cu!(cuMipmappedArrayGetLevel(&raw mut level, mipmap, number));
    (code, level)
}

fn shape(array: usize) -> [usize; 3] {
    let mut description = description([0; 3], 0);
    ok!(cuArray3DGetDescriptor_v2(
        &raw mut description => *mut sys::CUDA_ARRAY3D_DESCRIPTOR, array => usize
    ));
    [description.Width, description.Height, description.Depth]
}

#[test]
fn levels_are_arrays_of_half_the_size() {
    // Runs in a separate process, because other tests allocate memory, too.
    in_child!(&[]);
    let context = context();
    let before = free_memory();
    let (code, pyramid) = mipmap([12, 6, 0], 0, 3);
    assert_eq!(code, 0);
    let levels = [0, 1, 2].map(|number| level(pyramid, number).1);
    assert_eq!(levels.map(shape), [[12, 6, 0], [6, 3, 0], [3, 1, 0]]);
    assert_eq!(level(pyramid, 3).0, code::INVALID_VALUE);
    // Each level has separate texels.
    let values = numbers(16);
    for (number, array) in levels.into_iter().enumerate() {
        let from = values[number..].as_ptr();
        ok!(cuMemcpyHtoA_v2(array, 0usize, from, 12usize));
    }
    for (number, array) in levels.into_iter().enumerate() {
        let mut host = [0.0f32; 3];
        let to = host.as_mut_ptr();
        ok!(cuMemcpyAtoH_v2(to, array, 0usize, 12usize));
        assert_eq!(host, values[number..number + 3]);
    }
    // A level can only be destroyed together with the others.
    returns!(code::INVALID_VALUE, cuArrayDestroy(levels[1]));
    ok!(cuMipmappedArrayDestroy(pyramid));
    returns!(code::INVALID_HANDLE, cuArrayDestroy(levels[1]));
    returns!(code::INVALID_HANDLE, cuMipmappedArrayDestroy(pyramid));
    assert_eq!(level(pyramid, 0).0, code::INVALID_HANDLE);
    assert_eq!(free_memory(), before);
    // The number of levels is clamped: there is at least one, and at most one for each time that
    // the sides can be halved.
    for (wanted, actual) in [(0, 1), (99, 4)] {
        let (code, pyramid) = mipmap([8, 0, 0], 0, wanted);
        assert_eq!((code, level(pyramid, actual - 1).0), (0, 0));
        assert_eq!(level(pyramid, actual).0, code::INVALID_VALUE);
        ok!(cuMipmappedArrayDestroy(pyramid));
    }
    assert_eq!(mipmap([0, 0, 0], 0, 1).0, code::INVALID_VALUE);
    assert_eq!(mipmap([8, 0, 0], 0x100, 1).0, code::INVALID_VALUE);
    returns!(code::INVALID_HANDLE, cuMipmappedArrayDestroy(array([4, 0, 0], 1, 0)));
    // Remaining arrays are destroyed with the context.
    let left = mipmap([8, 8, 0], 0, 2).1;
    ok!(cuCtxDestroy_v2(context));
    assert_eq!(level(left, 0).0, code::INVALID_HANDLE);
}

#[test]
fn a_texture_is_made_of_one_level() {
    let _context = own_context();
    let texture_of = |mipmap: usize| {
        let mut resource = array_resource(0);
        resource.resType = sys::CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        resource.res.mipmap.hMipmappedArray = mipmap as sys::CUmipmappedArray;
        try_texture(resource, sampling(false, 0)).0
    };
    let (one, two) = (mipmap([8, 8, 0], 0, 1).1, mipmap([8, 8, 0], 0, 2).1);
    assert_eq!(texture_of(one), 0);
    let expected = code::NOT_SUPPORTED;
    assert_eq!(texture_of(two), expected, "selecting a level in a kernel is not emulated");
    assert_eq!(texture_of(array([8, 8, 0], 1, 0)), code::INVALID_VALUE);
    // A single level is an array, and can have a texture.
    assert_eq!(try_texture(array_resource(level(two, 1).1), sampling(false, 0)).0, 0);
}
