//! Launches in several calls, as before CUDA 4.0.

use crate::support::{
    INCREMENT, allocate, code, function, module, ok, own_context, read, returns, stream,
};

#[test]
fn a_kernel_is_launched_with_the_parts_that_were_set() {
    let _context = own_context();
    let increment = function(module(INCREMENT), "increment");
    let block = allocate(4 * 24);
    ok!(cuMemsetD32_v2(block, 0u32, 24usize));
    returns!(code::INVALID_VALUE, cuLaunch(increment));
    ok!(cuFuncSetBlockShape(increment, 8 => i32, 1 => i32, 1 => i32));
    returns!(code::INVALID_VALUE, cuLaunch(increment));
    ok!(cuParamSetSize(increment, 16u32));
    ok!(cuParamSetv(increment, 0 => i32, &raw const block, 8u32));
    ok!(cuParamSeti(increment, 8 => i32, 20u32));
    ok!(cuFuncSetSharedSize(increment, 64u32));
    ok!(cuLaunch(increment));
    ok!(cuLaunchGrid(increment, 2 => i32, 1 => i32));
    let stream = stream(0);
    ok!(cuLaunchGridAsync(increment, 3 => i32, 1 => i32, stream));
    ok!(cuStreamSynchronize(stream));
    // Three launches reach the first 8 numbers, two the next 8, one the rest, of which the kernel takes 20.
    let expected: Vec<u32> = (0..24).map(|i| [3, 2, u32::from(i < 20)][i / 8]).collect();
    assert_eq!(read(block, 24), expected);
    returns!(code::INVALID_VALUE, cuLaunchGrid(increment, 0 => i32, 1 => i32));
    returns!(code::INVALID_VALUE, cuFuncSetBlockShape(increment, 0 => i32, 1 => i32, 1 => i32));
    returns!(code::INVALID_VALUE, cuParamSetf(increment, 32_764 => i32, 1f32));
    returns!(code::INVALID_VALUE, cuParamSetv(increment, -1 => i32, &raw const block, 8u32));
    returns!(code::INVALID_VALUE, cuParamSetv(increment, 0 => i32, 8usize, 8u32));
    returns!(code::INVALID_VALUE, cuParamSetTexRef(increment, -1 => i32, 5usize));
    returns!(code::INVALID_VALUE, cuParamSetTexRef(increment, 0 => i32, 5usize));
    returns!(code::PROFILER_DISABLED, cuProfilerInitialize(0usize, 0usize, 0u32));
    // A float with the bits of the count 4.
    ok!(cuParamSetf(increment, 8 => i32, f32::from_bits(4)));
    ok!(cuLaunch(increment));
    ok!(cuCtxSynchronize());
    assert_eq!(read(block, 5), [4, 4, 4, 4, 3]);
}
