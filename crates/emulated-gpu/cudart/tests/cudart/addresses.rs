//! Unusual but possible arguments: unaligned addresses and invalid extents.

use crate::support::{Dim3, allocate, download, nvidia_runtime, ok, program, rt, upload};

/// The arguments of a kernel, and the list of their addresses, start one byte after an aligned address, as Python's
/// `ctypes` may pack them.
#[test]
fn arguments_may_be_unaligned() {
    let program = program();
    let data = upload(&[1.0, 2.0]);
    let mut bytes = [0u8; 64];
    let base = bytes.as_ptr() as usize | 1;
    let at = base - bytes.as_ptr() as usize;
    let [value, count] = [base + 16, base + 32];
    bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
    bytes[at + 8..at + 16].copy_from_slice(&count.to_ne_bytes());
    bytes[at + 16..at + 24].copy_from_slice(&data.to_ne_bytes());
    bytes[at + 32..at + 36].copy_from_slice(&2u32.to_ne_bytes());
    ok!(cudaLaunchKernel(
        program.scale, Dim3(1, 1, 1) => Dim3, Dim3(2, 1, 1) => Dim3, base, 0 => usize, 0 => usize
    ));
    ok!(cudaDeviceSynchronize());
    let scaled = download::<f32>(data, 2);
    assert_eq!(scaled[1], 2.0 * scaled[0]);
    assert!(scaled[0] > 1.0);
    // The runtime writes a result to an unaligned address.
    ok!(cudaMalloc(base + 40, 4usize));
    let address = usize::from_ne_bytes(bytes[at + 40..at + 48].try_into().unwrap());
    ok!(cudaFree(address));
    ok!(cudaFree(data));
}

/// Fields of `cudaPitchedPtr` and `cudaExtent`.
type Words<const N: usize> = [usize; N];

#[test]
fn invalid_3d_fills_write_nothing() {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct PitchedPointer(Words<4>);
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Extent(Words<3>);
    // A block for four slices of three rows of eight bytes.
    let block = allocate(96);
    let fill = |[pitch, rows]: Words<2>, value: i32, extent| {
        rt!(cudaMemset3D(
            PitchedPointer([block, pitch, pitch, rows]) => PitchedPointer, value => i32, Extent(extent) => Extent
        ))
    };
    ok!(cudaMemset(block, 0 => i32, 96usize));
    let mut expected = [0u8; 96];
    let mut check = |shape: Words<2>, value: u8, [width, height, depth]: Words<3>| {
        assert_eq!(fill(shape, value.into(), [width, height, depth]), 0);
        for (z, y) in (0..depth).flat_map(|z| (0..height).map(move |y| (z, y))) {
            let at = (z * shape[1] + y) * shape[0];
            expected[at..at + width].fill(value);
        }
        assert_eq!(download::<u8>(block, 96), expected, "{shape:?} {width} {height} {depth}");
    };
    check([8, 3], 1, [8, 3, 4]);
    check([8, 3], 2, [5, 3, 4]);
    check([8, 3], 3, [5, 2, 4]);
    check([8, 6], 4, [3, 1, 2]);
    check([96, 1], 5, [7, 1, 1]);
    for empty in [[0, 3, 4], [8, 0, 4], [8, 3, 0], [0, 0, 0]] {
        check([8, 3], 6, empty);
        check([0, 0], 6, [empty[0], empty[1], 0]);
    }
    // Overlapping rows or slices, huge counts of them, and extents whose last slice is outside the memory.
    let huge = usize::MAX;
    for (shape, extent) in [
        ([8, 0], [8, 3, 1 << 40]),
        ([0, 3], [8, 3, 1 << 40]),
        ([0, 0], [1, 1, huge]),
        ([8, 2], [8, 3, 2]),
        ([4, 3], [8, 1, 2]),
        ([8, 4], [8, 3, 4]),
        ([8, 4], [8, 3, 1 << 59]),
        ([huge, huge], [8, 3, 4]),
        ([8, huge], [8, 3, 4]),
    ] {
        assert_eq!(fill(shape, 7, extent), 1, "{shape:?} {extent:?}");
        rt!(cudaGetLastError());
    }
    // NVIDIA's runtime fills the slices before the slice that fails.
    if nvidia_runtime().is_none() {
        assert_eq!(download::<u8>(block, 96), expected);
    }
    ok!(cudaFree(block));
}
