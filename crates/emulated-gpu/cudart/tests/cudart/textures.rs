//! Tests of arrays, textures and surfaces through the runtime.

use crate::support::{allocate, download, fatbin, launch, ok, output, ptx, register, rt};

/// `cudaChannelFormatDesc` for one float.
const FLOATS: [i32; 5] = [32, 0, 0, 0, 2];

/// A kernel that reads a texture at the thread's index and writes to a surface. Its argument points to both handles,
/// followed by room for the texels.
const COPY_TEXELS: &str = r"
    .reg .b32 %r<4>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [p];
    ld.global.v2.u64 {%rd2, %rd3}, [%rd1];
    mov.u32 %r1, %tid.x;
    cvt.rn.f32.u32 %f1, %r1;
    add.f32 %f1, %f1, 0f3F800000;
    tex.2d.v4.f32.f32 {%f2, _, _, _}, [%rd2, {%f1, 0f3F800000}];
    shl.b32 %r2, %r1, 2;
    sust.b.2d.b32.trap [%rd3, {%r2, 1}], %f2;
    cvt.u64.u32 %rd4, %r2;
    add.u64 %rd5, %rd1, %rd4;
    st.global.f32 [%rd5+16], %f2;
    ret;
";

#[test]
fn kernels_read_textures_and_write_surfaces() {
    let program = register(fatbin(1, 80, ptx(COPY_TEXELS).as_bytes()));
    let array = |flags: u32| output!(cudaMallocArray(-> usize, FLOATS.as_ptr() => *const i32, 4usize, 2usize, flags));
    let (picture, drawn) = (array(0), array(2));
    let values: Vec<f32> = (0..8).map(|index| (index * index) as f32).collect();
    ok!(cudaMemcpy2DToArray(
        picture => usize, 0 => usize, 0 => usize, values.as_ptr() => *const f32, 16 => usize,
        16 => usize, 2 => usize, 1 => i32
    ));
    // `cudaResourceDesc` and `cudaTextureDesc`: an array, clamped addressing, linear filter.
    let resource = |array: usize| [0, array as u64, 0, 0, 0, 0, 0, 0];
    let description: [u32; 18] = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut handles = [0u64; 2];
    ok!(cudaCreateTextureObject(
        &raw mut handles[0], resource(picture).as_ptr(), description.as_ptr(), 0 => usize
    ));
    ok!(cudaCreateSurfaceObject(&raw mut handles[1], resource(drawn).as_ptr()));
    let block = allocate(32);
    ok!(cudaMemcpy(block, handles.as_ptr() as usize, 16usize, 1 => i32));
    assert_eq!(launch(program.scale, (1, 4), 0, block, 0), 0);
    // Each sample is the mean of four texels; in the last column, of two.
    let expected: Vec<f32> = (0..4usize)
        .map(|x| {
            let next = (x + 1).min(3);
            (values[x] + values[next] + values[4 + x] + values[4 + next]) / 4.0
        })
        .collect();
    assert_eq!(download::<f32>(block + 16, 4), expected);
    let mut row = [0f32; 4];
    ok!(cudaMemcpyFromArray(row.as_mut_ptr(), drawn, 0usize, 1usize, 16usize, 2 => i32));
    assert_eq!(row[..], expected);
    ok!(cudaMemcpy2DArrayToArray(
        picture => usize, 0 => usize, 0 => usize, drawn => usize, 0 => usize, 1 => usize,
        16 => usize, 1 => usize, 3 => i32
    ));
    ok!(cudaMemcpyFromArray(row.as_mut_ptr(), picture, 4usize, 0usize, 12usize, 2 => i32));
    assert_eq!(row[..3], expected[1..]);
    let (mut channels, mut extent, mut flags) = ([0i32; 5], [9usize; 3], 9u32);
    ok!(cudaArrayGetInfo(
        channels.as_mut_ptr() => *mut i32, extent.as_mut_ptr(), &raw mut flags, drawn
    ));
    assert_eq!((channels, extent, flags), (FLOATS, [4, 2, 0], 2));
    let mut back = [9u32; 18];
    ok!(cudaGetTextureObjectTextureDesc(back.as_mut_ptr(), handles[0]));
    assert_eq!(back, description);
    // A copy beyond the array, an invalid channel description, and an array not created for surfaces.
    let beyond = rt!(cudaMemcpy2DToArray(
        picture => usize, 4 => usize, 0 => usize, values.as_ptr() => *const f32, 16 => usize,
        16 => usize, 2 => usize, 1 => i32
    ));
    let mut none = 0usize;
    let triple = [8, 8, 8, 0, 1];
    let odd = rt!(cudaMallocArray(
        &raw mut none => *mut usize, triple.as_ptr() => *const i32, 4 => usize, 2 => usize, 0 => u32
    ));
    let plain = rt!(cudaCreateSurfaceObject(&raw mut handles[1], resource(picture).as_ptr()));
    assert_eq!((beyond, odd, plain), (1, 20, 1));
    ok!(cudaDestroySurfaceObject(handles[1]));
    ok!(cudaDestroyTextureObject(handles[0]));
    assert_eq!(rt!(cudaDestroyTextureObject(handles[0])), 1);
    for array in [picture, drawn, 0] {
        ok!(cudaFreeArray(array));
    }
    assert_eq!(rt!(cudaFreeArray(drawn)), 400);
}
