//! Collectives and transfers between ranks that are threads, each with its own device.

use std::ffi::c_void;

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaContext, DevicePtrMut};
use cudarc::nccl::sys::{ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t};
use cudarc::nccl::{Comm, ReduceOp, group_end, group_start, result, sys};
use libloading::os::unix::{Library, RTLD_NOW};

use crate::support::{address, in_rank_process, rank_data, ranks, ranks_in_c};

#[test]
fn all_ranks_receive_the_same_sum() {
    in_rank_process!();
    // Counts of elements: none, one, fewer than ranks, and more than fit into a piece.
    for count in [0, 1, 2, 7, 100_003] {
        let sums = ranks(move |rank, stream, comm| {
            let send = stream.clone_htod(&rank_data(rank, count.max(1))).unwrap();
            let mut receive = stream.alloc_zeros::<f32>(count.max(1)).unwrap();
            comm.all_reduce(&send.slice(..count), &mut receive.slice_mut(..count), &ReduceOp::Sum)
                .unwrap();
            let apart = stream.clone_dtoh(&receive).unwrap();
            let mut place = send;
            comm.all_reduce_in_place(&mut place.slice_mut(..count), &ReduceOp::Sum).unwrap();
            let in_place = stream.clone_dtoh(&place).unwrap();
            assert_eq!(in_place[..count], apart[..count]);
            apart[..count].to_vec()
        });
        assert!(sums[0] == sums[1] && sums[1] == sums[2], "bit for bit, {count} elements");
        let all = [0, 1, 2].map(|rank| rank_data(rank, count));
        for (i, sum) in sums[0].iter().enumerate() {
            let exact: f64 = all.iter().map(|data| f64::from(data[i])).sum();
            assert!((f64::from(*sum) - exact).abs() <= 2.0 * exact * 2f64.powi(-24), "{i}");
        }
    }
}

#[test]
fn collectives_place_every_element_correctly() {
    in_rank_process!();
    const COUNT: usize = 70_000;
    ranks(|rank, stream, comm| {
        let number = |rank: usize, i: usize| (rank * 1_000_003 + i) as i64;
        let mine: Vec<i64> = (0..3 * COUNT).map(|i| number(rank, i)).collect();
        let send = stream.clone_htod(&mine).unwrap();
        // Every rank gathers from every rank.
        let mut all = stream.alloc_zeros::<i64>(3 * COUNT).unwrap();
        comm.all_gather(&send.slice(..COUNT), &mut all).unwrap();
        let expected: Vec<i64> =
            (0..3).flat_map(|rank| (0..COUNT).map(move |i| number(rank, i))).collect();
        assert!(stream.clone_dtoh(&all).unwrap() == expected);
        // Reduce-scatter: each rank receives its part of the sum over all ranks.
        let mut part = stream.alloc_zeros::<i64>(COUNT).unwrap();
        comm.reduce_scatter(&send, &mut part, &ReduceOp::Sum).unwrap();
        let sum = |i: usize| (0..3).map(|rank| number(rank, i)).sum::<i64>();
        let expected: Vec<i64> = (0..COUNT).map(|i| sum(rank * COUNT + i)).collect();
        assert!(stream.clone_dtoh(&part).unwrap() == expected);
        // A broadcast from one rank to all, and a reduction from all ranks to one.
        let mut copy = stream.alloc_zeros::<i64>(3 * COUNT).unwrap();
        comm.broadcast((rank == 1).then_some(&send), &mut copy, 1).unwrap();
        assert!(
            stream.clone_dtoh(&copy).unwrap()
                == (0..3 * COUNT).map(|i| number(1, i)).collect::<Vec<_>>()
        );
        let mut most = stream.alloc_zeros::<i64>(3 * COUNT).unwrap();
        comm.reduce(&send, (rank == 2).then_some(&mut most), &ReduceOp::Max, 2).unwrap();
        let expected = |i| if rank == 2 { number(2, i) } else { 0 };
        assert!(
            stream.clone_dtoh(&most).unwrap() == (0..3 * COUNT).map(expected).collect::<Vec<_>>()
        );
    });
}

#[test]
fn sends_and_receives_of_a_group_progress_together() {
    in_rank_process!();
    // More elements than fit into a mailbox: several times its capacity.
    const COUNT: usize = 300_000;
    ranks(|rank, stream, comm| {
        let send = stream.clone_htod(&vec![rank as f32 + 0.5; COUNT]).unwrap();
        let mut receive = stream.alloc_zeros::<f32>(3 * COUNT).unwrap();
        group_start().unwrap();
        // Every rank sends to every rank, including itself.
        for peer in 0..3i32 {
            comm.send(&send, peer).unwrap();
        }
        for peer in 0..3usize {
            let mut part = receive.slice_mut(peer * COUNT..(peer + 1) * COUNT);
            comm.recv(&mut part, peer as i32).unwrap();
        }
        group_end().unwrap();
        let received = stream.clone_dtoh(&receive).unwrap();
        for peer in 0..3 {
            assert!(
                received[peer * COUNT..][..COUNT].iter().all(|&value| value == peer as f32 + 0.5)
            );
        }
        // A rank's send to itself is refused outside a group, because it would never be received.
        assert!(comm.send(&send, rank as i32).is_err());
    });
}

#[test]
fn one_thread_can_drive_all_ranks_in_a_group() {
    in_rank_process!();
    let streams: Vec<_> =
        (0..3).map(|device| CudaContext::new(device).unwrap().default_stream()).collect();
    let comms = Comm::from_devices(streams.clone()).unwrap();
    let sends: Vec<_> =
        (0..3).map(|rank| streams[rank].clone_htod(&rank_data(rank, 1000)).unwrap()).collect();
    let mut receives: Vec<_> =
        streams.iter().map(|stream| stream.alloc_zeros::<f32>(1000).unwrap()).collect();
    for (rank, comm) in comms.iter().enumerate() {
        assert_eq!((comm.rank(), comm.world_size()), (rank, 3));
    }
    group_start().unwrap();
    for rank in 0..3 {
        comms[rank].all_reduce(&sends[rank], &mut receives[rank], &ReduceOp::Avg).unwrap();
    }
    group_end().unwrap();
    let received: Vec<_> =
        (0..3).map(|rank| streams[rank].clone_dtoh(&receives[rank]).unwrap()).collect();
    assert!(received[0] == received[1] && received[1] == received[2]);
    let mean = (0..3).map(|rank| rank_data(rank, 1000)[5]).sum::<f32>() / 3.0;
    assert!((received[0][5] - mean).abs() < 1e-5, "{} {mean}", received[0][5]);
    // Ending a group that was never begun is an error.
    assert!(group_end().is_err());
}

#[test]
fn premultiplied_sums_and_split_communicators() {
    in_rank_process!();
    ranks_in_c(3, |rank, stream, comm| {
        let send = stream.clone_htod(&[1.0f32, 2.0]).unwrap();
        let mut receive = stream.alloc_zeros::<f32>(2).unwrap();
        // Rank r multiplies by 10^r.
        let factor = 10f32.powi(rank);
        let mut op = std::mem::MaybeUninit::<ncclRedOp_t>::uninit();
        // SAFETY: the pointers are valid during the calls, and the memory until the stream
        // has finished.
        unsafe {
            let status = sys::ncclRedOpCreatePreMulSum(
                op.as_mut_ptr(),
                (&raw const factor).cast_mut().cast(),
                ncclDataType_t::ncclFloat32,
                sys::ncclScalarResidence_t::ncclScalarHostImmediate,
                comm,
            );
            assert_eq!(status, ncclResult_t::ncclSuccess);
            // A custom reduction is not a value of the enum, so it is passed as a number.
            let number = op.as_ptr().cast::<u32>().read();
            let all_reduce: unsafe extern "C" fn(
                *const c_void,
                *mut c_void,
                usize,
                u32,
                u32,
                ncclComm_t,
                *mut c_void,
            ) -> u32 = std::mem::transmute(symbol("ncclAllReduce"));
            let to = receive.device_ptr_mut(stream).0 as *mut c_void;
            let from = address(stream, &send);
            assert_eq!(all_reduce(from, to, 2, 7, number, comm, stream.cu_stream().cast()), 0);
            assert_eq!(stream.clone_dtoh(&receive).unwrap(), [111.0, 222.0]);
            let destroy: unsafe extern "C" fn(u32, ncclComm_t) -> u32 =
                std::mem::transmute(symbol("ncclRedOpDestroy"));
            assert_eq!((destroy(number, comm), destroy(number, comm)), (0, 4));
        }
        // Ranks 0 and 2 form a communicator in reverse order; rank 1 belongs to none.
        let (mut part, color) = (std::ptr::null_mut(), if rank == 1 { -1 } else { 4 });
        // SAFETY: the pointer is valid during the call.
        unsafe {
            let split = sys::ncclCommSplit(comm, color, -rank, &raw mut part, std::ptr::null_mut());
            assert_eq!(split, ncclResult_t::ncclSuccess);
            if rank == 1 {
                assert!(part.is_null());
            } else {
                assert_eq!(result::comm_count(part).unwrap(), 2);
                assert_eq!(result::comm_user_rank(part).unwrap(), i32::from(rank == 0));
                assert_eq!(result::comm_cu_device(part).unwrap(), rank);
                result::comm_destroy(part).unwrap();
            }
            result::comm_destroy(comm).unwrap();
            assert!(result::comm_count(comm).is_err(), "the communicator has been destroyed");
        }
    });
}

fn symbol(name: &str) -> *const c_void {
    // SAFETY: the library is loaded already.
    let library = unsafe { Library::open(Some("libnccl.so"), RTLD_NOW) }.unwrap();
    // SAFETY: only the address is used.
    let function = unsafe { library.get::<*const c_void>(name) }.unwrap().as_raw_ptr();
    std::mem::forget(library);
    function
}

#[test]
fn a_captured_collective_runs_at_every_graph_launch() {
    in_rank_process!();
    const FLAGS: CUgraphInstantiate_flags =
        CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    ranks(|rank, stream, comm| {
        let mut place = stream.clone_htod(&[rank as f32 + 1.0]).unwrap();
        // SAFETY: nothing else uses the memory in the meantime.
        unsafe { stream.context().disable_event_tracking() };
        stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
        comm.all_reduce_in_place(&mut place, &ReduceOp::Sum).unwrap();
        let graph = stream.end_capture(FLAGS).unwrap().unwrap();
        for _ in 0..4 {
            graph.launch().unwrap();
        }
        // The first launch gives 1 + 2 + 3 = 6 on every rank; each further launch triples the
        // value.
        assert_eq!(stream.clone_dtoh(&place).unwrap(), [6.0 * 27.0]);
    });
}
