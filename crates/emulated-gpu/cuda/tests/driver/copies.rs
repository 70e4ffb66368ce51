//! One- and two-dimensional copies and fills: their results and their errors.

use crate::memory::{WILD, write};
use crate::support::{allocate, code, context, cu, ok, output, own_context, read, returns, stream};

#[test]
fn copies_work_in_every_direction() {
    let context = context();
    let (a, b) = (allocate(64), allocate(64));
    let values: Vec<u32> = (0..16).collect();
    write(a, &values);
    ok!(cuMemcpyDtoD_v2(b, a, 64usize));
    assert_eq!(read(b, 16), values);
    // Copy from one part of a buffer to another, and copy with types inferred from the addresses.
    ok!(cuMemcpyDtoD_v2(b, a + 32 => u64, 32usize));
    let mut host = [0u32; 16];
    ok!(cuMemcpy(host.as_mut_ptr() as u64, b, 64usize));
    assert_eq!(host[..8], values[8..]);
    assert_eq!(host[8..], values[8..]);
    let stream = stream(1);
    ok!(cuMemcpyHtoDAsync_v2(a, host.as_ptr(), 64usize, stream));
    let before = host;
    // The source was read when the call was made.
    host.fill(7);
    ok!(cuStreamSynchronize(stream));
    assert_eq!(read(a, 16), before);
    ok!(cuMemcpyPeerAsync(b, context, a, context, 64usize, stream));
    ok!(cuMemcpyDtoHAsync_v2(host.as_mut_ptr(), b, 64usize, stream));
    assert_eq!(host, before, "a copy to pageable memory is complete when the call returns");
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn invalid_copies_are_rejected() {
    let context = context();
    let block = allocate(64);
    let host = [0u32; 32];
    let host = host.as_ptr();
    let null = std::ptr::null::<u32>();
    returns!(code::INVALID_VALUE, cuMemcpyHtoD_v2(block, host, 65usize));
    returns!(code::INVALID_VALUE, cuMemcpyHtoD_v2(block + 4, host, 64usize));
    returns!(code::INVALID_VALUE, cuMemcpyHtoD_v2(WILD, host, 4usize));
    returns!(code::INVALID_VALUE, cuMemcpyHtoD_v2(block, null, 4usize));
    let wild = WILD as *const u32;
    returns!(code::INVALID_VALUE, cuMemcpyHtoD_v2(block, wild, 4usize));
    returns!(code::INVALID_VALUE, cuMemcpyDtoH_v2(wild, block, 4usize));
    returns!(code::INVALID_VALUE, cuMemcpyDtoH_v2(null, block, 4usize));
    returns!(code::INVALID_VALUE, cuMemcpyDtoD_v2(block, WILD, 4usize));
    returns!(code::INVALID_VALUE, cuMemcpyHtoD_v2(block, host, usize::MAX));
    let nowhere = 0xbad_usize;
    returns!(code::INVALID_HANDLE, cuMemcpyHtoDAsync_v2(block, host, 4usize, nowhere));
    returns!(code::INVALID_CONTEXT, cuMemcpyPeer(block, nowhere, block, context, 4usize));
    // Copying nothing always succeeds.
    ok!(cuMemcpyHtoD_v2(WILD, null, 0usize));
    ok!(cuMemsetD8_v2(WILD, 1u8, 0usize));
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn fills_write_elements() {
    let _context = own_context();
    let block = allocate(64);
    ok!(cuMemsetD32_v2(block, 0xdead_beef_u32, 16usize));
    ok!(cuMemsetD16_v2(block, 0x1234_u16, 2usize));
    ok!(cuMemsetD8_v2(block + 8, 0xff_u8, 4usize));
    assert_eq!(read(block, 4), [0x1234_1234, 0xdead_beef, 0xffff_ffff, 0xdead_beef]);
    // Two rows of one element, with a pitch of 16 bytes.
    ok!(cuMemsetD2D32_v2(block, 16usize, 5u32, 1usize, 2usize));
    assert_eq!(read(block, 5), [5, 0xdead_beef, 0xffff_ffff, 0xdead_beef, 5]);
    let invalid = code::INVALID_VALUE;
    returns!(invalid, cuMemsetD32_v2(block, 0u32, 17usize));
    returns!(invalid, cuMemsetD32_v2(block + 2, 0u32, 1usize));
    returns!(invalid, cuMemsetD8_v2(WILD, 0u8, 1usize));
    returns!(invalid, cuMemsetD2D32_v2(block, 4usize, 0u32, 2usize, 2usize));
}

#[test]
fn rectangles_are_copied() {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct End {
        x: usize,
        y: usize,
        kind: u32,
        host: *const u32,
        device: u64,
        array: usize,
        pitch: usize,
    }
    /// `CUDA_MEMCPY2D`
    #[repr(C)]
    struct Rectangle {
        source: End,
        target: End,
        width: usize,
        height: usize,
    }
    let _context = own_context();
    let (mut block, mut pitch) = (0u64, 0usize);
    ok!(cuMemAllocPitch_v2(&raw mut block, &raw mut pitch, 12usize, 4usize, 4u32));
    assert!(pitch >= 12 && pitch.is_multiple_of(512));
    let values: Vec<u32> = (0..20).collect();
    let host = End { x: 4, y: 1, kind: 1, host: values.as_ptr(), device: 0, array: 0, pitch: 20 };
    let device =
        End { x: 0, y: 0, kind: 2, host: std::ptr::null(), device: block, array: 0, pitch };
    // Copy rows 1 to 3 and columns 1 to 3 of a matrix of 4 × 5.
    let mut copy = Rectangle { source: host, target: device, width: 12, height: 3 };
    ok!(cuMemcpy2D_v2(&raw const copy => *const Rectangle));
    assert_eq!(read(block, 3), [6, 7, 8]);
    assert_eq!(read(block + 2 * pitch as u64, 3), [16, 17, 18]);
    copy.height = 5;
    returns!(code::INVALID_VALUE, cuMemcpy2D_v2(&raw const copy => *const Rectangle));
    copy.height = 3;
    copy.source.kind = 3;
    returns!(code::INVALID_HANDLE, cuMemcpy2D_v2(&raw const copy => *const Rectangle));
    copy.source.kind = 9;
    returns!(code::INVALID_VALUE, cuMemcpy2D_v2(&raw const copy => *const Rectangle));
}

#[test]
fn a_batch_copies_in_one_stream() {
    let _context = own_context();
    let (a, b) = (allocate(8), allocate(8));
    let stream = output!(cuStreamCreate(-> usize, 1u32));
    let (from, mut back) = ([1u32, 2], [0u32; 2]);
    let batch = |to: &[u64], from: &[u64], order: &[i32], firsts: &[usize], stream: usize| {
        let sizes = vec![4usize; to.len()];
        let attributes: Vec<[i32; 6]> = order.iter().map(|order| [*order, 0, 0, 0, 0, 0]).collect();
        cu!(cuMemcpyBatchAsync_v2(
            to.as_ptr(), from.as_ptr(), sizes.as_ptr(), to.len(),
            attributes.as_ptr() => *const [i32; 6], firsts.as_ptr(), order.len(), stream
        ))
    };
    let host = from.as_ptr() as u64;
    assert_eq!(batch(&[a, b], &[host, host + 4], &[1, 2], &[0, 1], stream), 0);
    let target = back.as_mut_ptr() as u64;
    // The source is read during the call.
    assert_eq!(batch(&[target, target + 4], &[b, a], &[2], &[0], stream), 0);
    assert_eq!(back, [2, 1]);
    for (order, firsts, stream) in [
        (&[1][..], &[0usize][..], 0),
        (&[], &[], stream),
        (&[1], &[1], stream),
        (&[4], &[0], stream),
        (&[1, 1], &[0, 2], stream),
    ] {
        assert_eq!(batch(&[a, b], &[host, host], order, firsts, stream), code::INVALID_VALUE);
    }
}
