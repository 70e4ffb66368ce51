//! Tests of mismatched and invalid calls.

use std::ffi::c_void;

use cudarc::driver::CudaContext;
use cudarc::nccl::sys::{ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t, ncclUniqueId};
use cudarc::nccl::{ReduceOp, result, sys};

use crate::support::*;

#[test]
fn mismatched_calls_are_an_error_on_every_rank() {
    let test = "refused::mismatched_calls_are_an_error_on_every_rank";
    if std::env::var_os(ROLE).is_none() {
        // For each mismatch: the possible messages of the rank that finds it first, and a text that the other ranks'
        // messages must contain.
        for (part, texts, expected) in [
            (
                "count",
                ["has 3 elements, not 4", "has 4 elements, not 3"],
                ["of 3 ncclFloat32", "of 4 ncclFloat32"],
            ),
            (
                "type",
                ["has elements of ncclInt32, not of ncclFloat32", "ncclFloat32, not of ncclInt32"],
                ["of 4 ncclInt32", "of 4 ncclFloat32"],
            ),
            (
                "operation",
                ["rank 1 calls ncclAllGather", "calls ncclAllReduce"],
                ["calls ncclAllGather of 4", "calls ncclAllReduce of 4"],
            ),
            (
                "reduction",
                ["reduces by operation 2, not by 0", "reduces by operation 0, not by 2"],
                ["ncclFloat32 by operation 2", "calls ncclAllReduce of 4 ncclFloat32"],
            ),
            (
                "root",
                ["has rank 1 as its root, not 0", "has rank 0 as its root, not 1"],
                ["of 12 ncclFloat32 from rank 1", "of 12 ncclFloat32 from rank 0"],
            ),
        ] {
            let output = command(test, part, 3).output().unwrap();
            assert_passed(&output);
            let output = printed(&output);
            assert!(texts.iter().any(|words| output.contains(words)), "{part}: {output}");
            for line in output.lines().filter(|line| line.contains("call different operations")) {
                assert!(expected.iter().all(|words| line.contains(words)), "{part}: {line}");
            }
        }
        return;
    }
    install();
    let part = std::env::var(ROLE).unwrap();
    ranks(move |rank, stream, comm| {
        let (mut a, mut b) =
            (stream.alloc_zeros::<f32>(12).unwrap(), stream.alloc_zeros::<i32>(4).unwrap());
        let other = rank == 1;
        let result = match &*part {
            "count" => {
                let count = if other { 3 } else { 4 };
                comm.all_reduce_in_place(&mut a.slice_mut(..count), &ReduceOp::Sum)
            }
            "type" if other => comm.all_reduce_in_place(&mut b, &ReduceOp::Sum),
            "operation" if other => {
                let four = stream.alloc_zeros::<f32>(4).unwrap();
                comm.all_gather(&four, &mut a)
            }
            "reduction" if other => comm.all_reduce_in_place(&mut a.slice_mut(..4), &ReduceOp::Max),
            "root" => comm.broadcast_in_place(&mut a, i32::from(other)),
            _ => comm.all_reduce_in_place(&mut a.slice_mut(..4), &ReduceOp::Sum),
        };
        result.unwrap();
        assert!(stream.synchronize().is_err(), "rank {rank} has no result");
    });
}

/// Arguments may be unaligned, as packed C structures and ctypes pass them.
#[test]
fn arguments_may_be_unaligned() {
    in_rank_process!();
    let mut bytes = [0u8; 256];
    let mut unaligned = |at: usize| bytes[2 * at + 1..].as_mut_ptr();
    let success = ncclResult_t::ncclSuccess;
    let _context = CudaContext::new(0).unwrap();
    // size, NCCL_API_MAGIC, version, and `blocking` undefined.
    let config: Vec<u8> = [&56u64.to_ne_bytes()[..], &0xcafe_beef_u32.to_ne_bytes()]
        .into_iter()
        .chain([&22_403u32.to_ne_bytes()[..], &i32::MIN.to_ne_bytes()])
        .flatten()
        .copied()
        .chain([0; 64])
        .collect();
    // SAFETY: the offsets leave enough space for each value.
    unsafe {
        let id = result::get_uniqueid().unwrap();
        let comm = unaligned(0).cast::<ncclComm_t>();
        std::ptr::copy_nonoverlapping(config.as_ptr(), unaligned(20), config.len());
        let config = unaligned(20).cast::<sys::ncclConfig_t>();
        assert_eq!(sys::ncclCommInitRankConfig(comm, 1, id, 0, config), success);
        let one = comm.read_unaligned();
        for result in [
            sys::ncclGetVersion(unaligned(5).cast()),
            sys::ncclCommCount(one, unaligned(5).cast()),
            sys::ncclCommUserRank(one, unaligned(5).cast()),
            sys::ncclCommGetAsyncError(one, unaligned(5).cast()),
        ] {
            assert_eq!(result, success);
        }
        let float = ncclDataType_t::ncclFloat32;
        let host = sys::ncclScalarResidence_t::ncclScalarHostImmediate;
        let status = sys::ncclRedOpCreatePreMulSum(
            unaligned(5).cast(),
            unaligned(9).cast(),
            float,
            host,
            one,
        );
        assert_eq!(status, success);
        let (parts, none) = (unaligned(5).cast::<ncclComm_t>(), std::ptr::null_mut());
        assert_eq!(sys::ncclCommSplit(one, 0, 0, parts, none), success);
        result::comm_destroy(parts.read_unaligned()).unwrap();
        result::comm_destroy(one).unwrap();
        let (comms, devices) = (unaligned(0).cast::<ncclComm_t>(), unaligned(30).cast::<i32>());
        for (index, device) in [2, 1, 0].into_iter().enumerate() {
            devices.add(index).write_unaligned(device);
        }
        assert_eq!(sys::ncclCommInitAll(comms, 3, devices), success);
        for rank in 0..3 {
            let comm = comms.add(rank).read_unaligned();
            assert_eq!(result::comm_cu_device(comm).unwrap(), 2 - rank as i32);
            result::comm_destroy(comm).unwrap();
        }
    }
}

#[test]
fn invalid_arguments_are_refused() {
    in_rank_process!();
    let context = CudaContext::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    let id = result::get_uniqueid().unwrap();
    assert!(result::get_nccl_version().unwrap() >= 22_000);
    for (ranks, rank) in [(0, 0), (2, 2), (2, -1), (65, 0)] {
        assert!(join(id, ranks, rank).is_err(), "{rank} of {ranks}");
    }
    assert!(join(ncclUniqueId { internal: [0; 128] }, 1, 0).is_err());
    let comm = join(id, 1, 0).unwrap();
    let memory = stream.alloc_zeros::<f32>(4).unwrap();
    let (at, queue) = (address(&stream, &memory), stream.cu_stream().cast());
    let all_reduce = |from: *const c_void, count, data_type, comm| {
        // SAFETY: the library checks its arguments.
        unsafe {
            sys::ncclAllReduce(
                from,
                at.cast_mut(),
                count,
                data_type,
                ncclRedOp_t::ncclSum,
                comm,
                queue,
            )
        }
    };
    let float = ncclDataType_t::ncclFloat32;
    assert_eq!(all_reduce(at, 4, float, comm), ncclResult_t::ncclSuccess);
    for (from, count, comm) in [
        (at, 5, comm),
        (at, usize::MAX / 2, comm),
        (std::ptr::null(), 1, comm),
        (std::ptr::dangling::<c_void>(), 1, comm),
        (at, 1, std::ptr::null_mut()),
        (at, 1, 0x1234_5678 as ncclComm_t),
    ] {
        assert_eq!(all_reduce(from, count, float, comm), ncclResult_t::ncclInvalidArgument);
    }
    stream.synchronize().unwrap();
    // SAFETY: the communicator is not used any more.
    unsafe { result::comm_destroy(comm) }.unwrap();
}
