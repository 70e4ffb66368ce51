//! Ranks whose work never comes together: they would wait for ever, and are told instead, each with what
//! the other does.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaStream};
use cudarc::nccl::sys::{ncclDataType_t, ncclRedOp_t, ncclResult_t};
use cudarc::nccl::{Comm, ReduceOp, group_end, group_start, result, sys};

use crate::support::{PART, address, command, install, joined, passed, plays, ranks, said};

/// More than a mailbox holds.
const COUNT: usize = 100_000;

/// What a rank calls for.
fn acts(part: &str, rank: usize, stream: &Arc<CudaStream>, comm: &Comm) {
    let send = stream.alloc_zeros::<f32>(COUNT).unwrap();
    let mut a = stream.alloc_zeros::<f32>(COUNT).unwrap();
    let done = match (part, rank) {
        ("receive", 1) | ("receives", 1) => comm.recv(&mut a, 0).map(|_| ()),
        ("receives", 0) => comm.recv(&mut a, 1).map(|_| ()),
        ("send", 1) => comm.send(&send, 0),
        ("sends", 0 | 1) => comm.send(&send, 1 - rank as i32),
        ("circle", _) => comm.recv(&mut a, (rank as i32 + 1) % 3).map(|_| ()),
        // The same collective, and then a receive that nobody sends.
        ("later", 1) => {
            comm.all_reduce_in_place(&mut a, &ReduceOp::Sum).unwrap();
            comm.recv(&mut a, 0).map(|_| ())
        }
        ("later", _) => {
            comm.all_reduce_in_place(&mut a, &ReduceOp::Sum).unwrap();
            comm.all_reduce_in_place(&mut a, &ReduceOp::Sum).map(|_| ())
        }
        // One is waited for in a group, the other is not sent.
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
    assert!(done.is_ok() || rank == 2 && part != "circle");
    assert!(done.is_err() || stream.synchronize().is_err(), "rank {rank} has no result");
    // What is asked for later is refused at once.
    assert!(comm.all_reduce_in_place(&mut a, &ReduceOp::Sum).is_err());
}

#[test]
fn ranks_that_wait_for_each_other_are_told() {
    let test = "deadlocks::ranks_that_wait_for_each_other_are_told";
    if std::env::var_os(PART).is_some() {
        install();
        let part = std::env::var(PART).unwrap();
        ranks(move |rank, stream, comm| acts(&part, rank, stream, comm));
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
        ("circle", "calls ncclRecv of 100000 ncclFloat32 from rank 1", "from rank 2"),
        ("later", all_reduce, receive),
        ("group", all_reduce, "calls ncclRecv of 4 ncclFloat32 from rank 0"),
    ] {
        let output = command(test, part, 3).output().unwrap();
        passed(&output);
        let said = said(&output);
        for rank in 0..2 {
            // The first line of a rank's is of the work that ends.
            let own = format!(", rank {rank} of 3: ");
            let line = said.lines().find(|line| line.contains(&own)).unwrap_or_else(|| {
                panic!("{part}: rank {rank} says nothing: {said}");
            });
            for (other, does) in [(0, first), (1, second)] {
                assert!(line.contains(&format!("rank {other} calls")), "{part}: {line}");
                assert!(line.contains(does), "{part}: {line}");
            }
            assert!(line.contains("(InvalidUsage)"), "{part}: {line}");
        }
    }
}

/// As in NCCL, whose groups do the operations of all ranks first.
#[test]
fn sends_and_operations_of_a_group_have_no_order() {
    if !plays("deadlocks::sends_and_operations_of_a_group_have_no_order") {
        return;
    }
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

/// A group is one piece of work in whatever streams: sends in one don't wait for receives in another.
#[test]
fn a_group_may_use_several_streams() {
    if !plays("deadlocks::a_group_may_use_several_streams") {
        return;
    }
    let id = result::get_uniqueid().unwrap();
    let threads: Vec<_> = (0..2i32)
        .map(|rank| {
            std::thread::spawn(move || {
                let context = CudaContext::new(rank as usize).unwrap();
                let (one, two) = (context.new_stream().unwrap(), context.new_stream().unwrap());
                let comm = joined(id, 2, rank).unwrap();
                let send = one.clone_htod(&vec![rank as f32 + 1.0; COUNT]).unwrap();
                let got = two.alloc_zeros::<f32>(COUNT).unwrap();
                let (from, to) = (address(&one, &send), address(&two, &got).cast_mut());
                let (float, peer) = (ncclDataType_t::ncclFloat32, 1 - rank);
                group_start().unwrap();
                // SAFETY: the memory lives until the streams are done.
                let asked = unsafe {
                    [
                        sys::ncclSend(from, COUNT, float, peer, comm, one.cu_stream().cast()),
                        sys::ncclRecv(to, COUNT, float, peer, comm, two.cu_stream().cast()),
                    ]
                };
                assert_eq!(asked, [ncclResult_t::ncclSuccess; 2]);
                group_end().unwrap();
                // What comes later in either stream waits for it.
                assert_eq!(two.clone_dtoh(&got).unwrap()[COUNT - 1], peer as f32 + 1.0);
                one.synchronize().unwrap();
                // SAFETY: nothing uses it any more.
                unsafe { result::comm_destroy(comm) }.unwrap();
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// A rank that is late is no deadlock: the others wait for it, whatever they wait in.
#[test]
fn a_late_rank_is_waited_for() {
    if !plays("deadlocks::a_late_rank_is_waited_for") {
        return;
    }
    ranks(|rank, stream, comm| {
        let send = stream.clone_htod(&vec![rank as f32; COUNT]).unwrap();
        let mut a = stream.alloc_zeros::<f32>(COUNT).unwrap();
        let late = || std::thread::sleep(Duration::from_millis(700));
        // 1 waits for 0, 2 for 1, and 0 comes late; then 0 for 2, which comes late.
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

/// Programs in which every message is received: whatever waits for whatever, no rank is accused.
#[test]
fn programs_that_are_right_are_not_accused() {
    if !plays("deadlocks::programs_that_are_right_are_not_accused") {
        return;
    }
    const MOST: usize = 40_000;
    ranks(|rank, stream, comm| {
        let mut seed = 7_u32;
        // Numerical Recipes' generator, the same on all ranks.
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % below
        };
        let send = stream.clone_htod(&vec![rank as f32; MOST]).unwrap();
        let mut a = stream.alloc_zeros::<f32>(MOST).unwrap();
        for _ in 0..400 {
            let count = [1, 1000, 16_384, 16_385, MOST][random(5)];
            let (from, to) = (random(3), random(3));
            match random(4) {
                0 => {
                    comm.all_reduce_in_place(&mut a.slice_mut(..count), &ReduceOp::Max).unwrap();
                }
                // All receive from the one before, and one of them twice.
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
                // Messages that pile up, from one to another.
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
fn a_rank_that_has_finalized_is_not_waited_for() {
    if !plays("deadlocks::a_rank_that_has_finalized_is_not_waited_for") {
        return;
    }
    let id = result::get_uniqueid().unwrap();
    let threads: Vec<_> = (0..2i32)
        .map(|rank| {
            std::thread::spawn(move || {
                let stream = CudaContext::new(rank as usize).unwrap().new_stream().unwrap();
                let comm = joined(id, 2, rank).unwrap();
                let place = stream.alloc_zeros::<f32>(COUNT).unwrap();
                let at = address(&stream, &place).cast_mut();
                let (float, queue) = (ncclDataType_t::ncclFloat32, stream.cu_stream().cast());
                // SAFETY: the memory lives until the stream is done.
                unsafe {
                    // The pending work of the stream is done first.
                    let sum = ncclRedOp_t::ncclSum;
                    let asked = sys::ncclAllReduce(at, at, COUNT, float, sum, comm, queue);
                    assert_eq!(asked, ncclResult_t::ncclSuccess);
                    if rank == 1 {
                        assert_eq!(sys::ncclCommFinalize(comm), ncclResult_t::ncclSuccess);
                        return stream.synchronize().unwrap();
                    }
                    stream.synchronize().unwrap();
                    let asked = sys::ncclSend(at, COUNT, float, 1, comm, queue);
                    assert_eq!(asked, ncclResult_t::ncclSuccess);
                }
                assert!(stream.synchronize().is_err());
                let mut error = ncclResult_t::ncclSuccess;
                // SAFETY: the place lives for the call.
                unsafe { sys::ncclCommGetAsyncError(comm, &raw mut error) };
                assert_eq!(error, ncclResult_t::ncclRemoteError);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
