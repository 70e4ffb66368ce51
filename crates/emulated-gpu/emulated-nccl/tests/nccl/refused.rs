//! Calls that do not fit: what ranks are told, and what is no argument.

use std::ffi::c_void;

use cudarc::driver::CudaContext;
use cudarc::nccl::sys::{ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t, ncclUniqueId};
use cudarc::nccl::{ReduceOp, result, sys};

use crate::support::{PART, address, command, install, joined, passed, plays, ranks, said};

#[test]
fn ranks_that_call_for_different_things_are_told() {
    let test = "refused::ranks_that_call_for_different_things_are_told";
    if std::env::var_os(PART).is_none() {
        for (part, message) in [
            ("count", "has 3 elements, not 4"),
            ("type", "has elements of ncclInt32, not of ncclFloat32"),
            ("operation", "calls ncclAllGather"),
            ("reduction", "reduces by operation 2, not by 0"),
        ] {
            let output = command(test, part, 3).output().unwrap();
            passed(&output);
            assert!(said(&output).contains(message), "{part}: {}", said(&output));
        }
        return;
    }
    install();
    let part = std::env::var(PART).unwrap();
    ranks(move |rank, stream, comm| {
        let (mut a, mut b) =
            (stream.alloc_zeros::<f32>(12).unwrap(), stream.alloc_zeros::<i32>(4).unwrap());
        let other = rank == 1;
        let asked = match &*part {
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
            _ => comm.all_reduce_in_place(&mut a.slice_mut(..4), &ReduceOp::Sum),
        };
        asked.unwrap();
        assert!(stream.synchronize().is_err(), "rank {rank} has no result");
    });
}

#[test]
fn what_is_no_argument_is_refused() {
    if !plays("refused::what_is_no_argument_is_refused") {
        return;
    }
    let context = CudaContext::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    let id = result::get_uniqueid().unwrap();
    assert!(result::get_nccl_version().unwrap() >= 22_000);
    for (ranks, rank) in [(0, 0), (2, 2), (2, -1), (65, 0)] {
        assert!(joined(id, ranks, rank).is_err(), "{rank} of {ranks}");
    }
    assert!(joined(ncclUniqueId { internal: [0; 128] }, 1, 0).is_err());
    let comm = joined(id, 1, 0).unwrap();
    let memory = stream.alloc_zeros::<f32>(4).unwrap();
    let (at, queue) = (address(&stream, &memory), stream.cu_stream().cast());
    let all_reduce = |from: *const c_void, count, of, comm| {
        // SAFETY: the library checks what it is given.
        unsafe {
            sys::ncclAllReduce(from, at.cast_mut(), count, of, ncclRedOp_t::ncclSum, comm, queue)
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
