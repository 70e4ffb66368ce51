//! Tests of ranks that would wait for each other forever: each rank gets an error that describes
//! the other ranks' calls.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::CudaStream;
use cudarc::nccl::sys::{ncclDataType_t, ncclRedOp_t, ncclResult_t};
use cudarc::nccl::{Comm, ReduceOp, group_end, group_start, result, sys};

use crate::support::*;

/// More elements than fit into a mailbox.
const COUNT: usize = 100_000;

/// Calls the operation that a rank is assigned in a scenario.
fn call_operation(part: &str, rank: usize, stream: &Arc<CudaStream>, comm: &Comm) {
    let send = stream.alloc_zeros::<f32>(COUNT).unwrap();
    let mut a = stream.alloc_zeros::<f32>(COUNT).unwrap();
    let done = match (part, rank) {
        ("receive", 1) | ("receives", 1) => comm.recv(&mut a, 0).map(|_| ()),
        ("receives", 0) => comm.recv(&mut a, 1).map(|_| ()),
        ("send", 1) => comm.send(&send, 0),
        ("sends", 0 | 1) => comm.send(&send, 1 - rank as i32),
        ("cycle", _) => comm.recv(&mut a, (rank as i32 + 1) % 3).map(|_| ()),
        // Rank 1 calls the same collective, and then receives a message that is never sent.
        ("later", 1) => {
            comm.all_reduce_in_place(&mut a, &ReduceOp::Sum).unwrap();
            comm.recv(&mut a, 0).map(|_| ())
        }
        ("later", _) => {
            comm.all_reduce_in_place(&mut a, &ReduceOp::Sum).unwrap();
            comm.all_reduce_in_place(&mut a, &ReduceOp::Sum).map(|_| ())
        }
        // Rank 1 calls a group in which it receives two messages, of which only one is sent.
        ("group", 1) => {
            group_start().unwrap();
            comm.recv(&mut a.slice_mut(..4), 0).unwrap();
            comm.recv(&mut a.slice_mut(4..8), 0).unwrap();
            group_end().map(|_| ())
        }
        ("group", 0) => {
            comm.send(&send.slice(..4), 1).unwrap();
            comm.all_reduce_in_place(&mut a, &ReduceOp::Sum).map(|_| ())
        }
        _ => comm.all_reduce_in_place(&mut a, &ReduceOp::Sum).map(|_| ()),
    };
    // A rank that comes after the others have ended is refused at once.
    assert!(done.is_ok() || rank == 2 && part != "cycle");
    assert!(done.is_err() || stream.synchronize().is_err(), "rank {rank} has no result");
    // Later calls fail at once.
    assert!(comm.all_reduce_in_place(&mut a, &ReduceOp::Sum).is_err());
}

#[test]
fn deadlocks_are_reported_on_every_rank() {
    let test = "deadlocks::deadlocks_are_reported_on_every_rank";
    if std::env::var_os(ROLE).is_some() {
        install();
        let part = std::env::var(ROLE).unwrap();
        ranks(move |rank, stream, comm| call_operation(&part, rank, stream, comm));
        return;
    }
    let all_reduce = "calls ncclAllReduce of 100000 ncclFloat32";
    let receive = "calls ncclRecv of 100000 ncclFloat32 from rank 0";
    let send = "calls ncclSend of 100000 ncclFloat32 to rank ";
    for (part, first, second) in [
        ("receive", all_reduce, receive),
        ("receives", "calls ncclRecv of 100000 ncclFloat32 from rank 1", receive),
        ("send", all_reduce, "calls ncclSend of 100000 ncclFloat32 to rank 0"),
        ("sends", send, send),
        ("cycle", "calls ncclRecv of 100000 ncclFloat32 from rank 1", "from rank 2"),
        ("later", all_reduce, receive),
        ("group", all_reduce, "calls ncclRecv of 4 ncclFloat32 from rank 0"),
    ] {
        let output = command(test, part, 3).output().unwrap();
        assert_passed(&output);
        let printed = printed(&output);
        for rank in 0..2 {
            // The first line that a rank prints describes the work that fails.
            let prefix = format!(", rank {rank} of 3: ");
            let line = printed.lines().find(|line| line.contains(&prefix)).unwrap_or_else(|| {
                panic!("{part}: rank {rank} prints nothing: {printed}");
            });
            for (other, does) in [(0, first), (1, second)] {
                assert!(line.contains(&format!("rank {other} calls")), "{part}: {line}");
                assert!(line.contains(does), "{part}: {line}");
            }
            assert!(line.contains("(InvalidUsage)"), "{part}: {line}");
        }
    }
}

/// As in NCCL, a group runs its collectives first.
#[test]
fn transfers_and_collectives_of_a_group_may_be_in_any_order() {
    in_rank_process!();
    let sums = ranks(|rank, stream, comm| {
        let send = stream.clone_htod(&vec![rank as f32 + 1.0; COUNT]).unwrap();
        let mut sum = stream.clone_htod(&vec![rank as f32 + 1.0; COUNT]).unwrap();
        let mut got = stream.alloc_zeros::<f32>(COUNT).unwrap();
        let (next, before) = ((rank as i32 + 1) % 3, (rank as i32 + 2) % 3);
        group_start().unwrap();
        if rank == 0 {
            comm.send(&send, next).unwrap();
            comm.recv(&mut got, before).unwrap();
        }
        comm.all_reduce_in_place(&mut sum, &ReduceOp::Sum).unwrap();
        if rank != 0 {
            comm.recv(&mut got, before).unwrap();
            comm.send(&send, next).unwrap();
        }
        group_end().unwrap();
        let (sum, got) = (stream.clone_dtoh(&sum).unwrap(), stream.clone_dtoh(&got).unwrap());
        assert!(got.iter().all(|value| *value == before as f32 + 1.0));
        sum[COUNT - 1]
    });
    assert_eq!(sums, [6.0; 3]);
}

/// A group is one piece of work for all its streams: a send on one stream doesn't wait for a
/// receive on another.
#[test]
fn a_group_may_use_several_streams() {
    in_rank_process!();
    ranks_in_c(2, |rank, stream, comm| {
        let (one, two) = (stream, stream.context().new_stream().unwrap());
        let send = one.clone_htod(&vec![rank as f32 + 1.0; COUNT]).unwrap();
        let got = two.alloc_zeros::<f32>(COUNT).unwrap();
        let (from, to) = (address(one, &send), address(&two, &got).cast_mut());
        let (float, peer) = (ncclDataType_t::ncclFloat32, 1 - rank);
        group_start().unwrap();
        // SAFETY: the memory is valid until the streams have finished.
        let result = unsafe {
            [
                sys::ncclSend(from, COUNT, float, peer, comm, one.cu_stream().cast()),
                sys::ncclRecv(to, COUNT, float, peer, comm, two.cu_stream().cast()),
            ]
        };
        assert_eq!(result, [ncclResult_t::ncclSuccess; 2]);
        group_end().unwrap();
        // Later work in either stream waits for the group.
        assert_eq!(two.clone_dtoh(&got).unwrap()[COUNT - 1], peer as f32 + 1.0);
        one.synchronize().unwrap();
        // SAFETY: nothing uses the communicator any more.
        unsafe { result::comm_destroy(comm) }.unwrap();
    });
}

/// A rank that is late doesn't cause a deadlock: the others wait for it in every kind of call.
#[test]
fn a_late_rank_is_not_a_deadlock() {
    in_rank_process!();
    ranks(|rank, stream, comm| {
        let send = stream.clone_htod(&vec![rank as f32; COUNT]).unwrap();
        let mut a = stream.alloc_zeros::<f32>(COUNT).unwrap();
        let late = || std::thread::sleep(Duration::from_millis(700));
        // Rank 1 waits for rank 0, rank 2 for rank 1, and rank 0 is late; then rank 0 waits for
        // rank 2, which is late.
        match rank {
            0 => {
                late();
                comm.send(&send, 1).unwrap();
            }
            1 => {
                comm.recv(&mut a, 0).unwrap();
                comm.send(&send, 2).unwrap();
            }
            _ => {
                comm.recv(&mut a, 1).unwrap();
                stream.synchronize().unwrap();
                late();
            }
        }
        comm.all_reduce_in_place(&mut a, &ReduceOp::Max).unwrap();
        assert_eq!(stream.clone_dtoh(&a).unwrap()[7], 1.0);
    });
}

/// Random programs in which every message is received.
#[test]
fn correct_programs_are_never_reported_as_deadlocks() {
    in_rank_process!();
    const MAX_COUNT: usize = 40_000;
    ranks(|rank, stream, comm| {
        let mut seed = 7_u32;
        // The random generator of Numerical Recipes, with the same numbers on all ranks.
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % below
        };
        let send = stream.clone_htod(&vec![rank as f32; MAX_COUNT]).unwrap();
        let mut a = stream.alloc_zeros::<f32>(MAX_COUNT).unwrap();
        for _ in 0..400 {
            let count = [1, 1000, 16_384, 16_385, MAX_COUNT][random(5)];
            let (from, to) = (random(3), random(3));
            match random(4) {
                0 => {
                    comm.all_reduce_in_place(&mut a.slice_mut(..count), &ReduceOp::Max).unwrap();
                }
                // Each rank receives from the previous rank; one rank sends twice.
                1 => {
                    let (next, before) = ((rank as i32 + 1) % 3, (rank as i32 + 2) % 3);
                    group_start().unwrap();
                    for _ in 0..1 + usize::from(rank == from) {
                        comm.send(&send.slice(..count), next).unwrap();
                    }
                    for _ in 0..1 + usize::from(before as usize == from) {
                        comm.recv(&mut a.slice_mut(..count), before).unwrap();
                    }
                    group_end().unwrap();
                }
                // Several messages in a row from one rank to another.
                _ if from != to => {
                    for _ in 0..1 + random(3) {
                        if rank == from {
                            comm.send(&send.slice(..count), to as i32).unwrap();
                        } else if rank == to {
                            comm.recv(&mut a.slice_mut(..count), from as i32).unwrap();
                        }
                    }
                }
                _ => stream.synchronize().unwrap(),
            }
        }
        stream.synchronize().unwrap();
    });
}

#[test]
fn waiting_for_a_finalized_rank_is_an_error() {
    in_rank_process!();
    ranks_in_c(2, |rank, stream, comm| {
        let place = stream.alloc_zeros::<f32>(COUNT).unwrap();
        let at = address(stream, &place).cast_mut();
        let (float, queue) = (ncclDataType_t::ncclFloat32, stream.cu_stream().cast());
        // SAFETY: the memory is valid until the stream has finished.
        unsafe {
            // The stream's pending work finishes before the rank leaves.
            let sum = ncclRedOp_t::ncclSum;
            let result = sys::ncclAllReduce(at, at, COUNT, float, sum, comm, queue);
            assert_eq!(result, ncclResult_t::ncclSuccess);
            if rank == 1 {
                assert_eq!(sys::ncclCommFinalize(comm), ncclResult_t::ncclSuccess);
                return stream.synchronize().unwrap();
            }
            stream.synchronize().unwrap();
            let result = sys::ncclSend(at, COUNT, float, 1, comm, queue);
            assert_eq!(result, ncclResult_t::ncclSuccess);
        }
        expect_remote_error(stream, comm);
    });
}
