//! Ranks of one process and of several, through cudarc's unmodified layer above NCCL.

#![allow(unsafe_code, reason = "loads libraries, and calls functions in C")]

use std::ffi::c_void;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut};
use cudarc::nccl::sys::{ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t, ncclUniqueId};
use cudarc::nccl::{Comm, Id, ReduceOp, group_end, group_start, result, sys};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

/// Names the part of a test that a process is to play.
const PART: &str = "EMULATED_NCCL_TEST_PART";

/// The libraries: whoever asks for `libcuda.so` and `libnccl.so` from now on gets them.
fn install() {
    for path in [emulated_cuda::library_path().unwrap(), emulated_nccl::library_path().unwrap()] {
        // SAFETY: the libraries do nothing when they are loaded.
        std::mem::forget(unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.unwrap());
    }
}

fn command(test: &str, part: &str, devices: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env(PART, part).env("EMULATED_GPU_DEVICES", devices.to_string());
    command.env("EMULATED_GPU_MEMORY", "256M").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Whether this is the process that plays the test; else one that does is run, with three devices.
fn plays(test: &str) -> bool {
    if std::env::var_os(PART).is_some() {
        install();
        return true;
    }
    let output = command(test, "all", 3).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    false
}

/// Three ranks, each a thread with a device of its own.
fn ranks<T: Send + 'static>(
    body: impl Fn(usize, &Arc<CudaStream>, &Comm) -> T + Send + Sync + 'static,
) -> Vec<T> {
    let (id, body) = (Id::new().unwrap(), Arc::new(body));
    let threads: Vec<_> = (0..3)
        .map(|rank| {
            let body = Arc::clone(&body);
            std::thread::spawn(move || {
                let stream = CudaContext::new(rank).unwrap().new_stream().unwrap();
                let comm = Comm::from_rank(Arc::clone(&stream), rank, 3, id).unwrap();
                body(rank, &stream, &comm)
            })
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

/// What a rank has: numbers whose sums are rounded.
fn own(rank: usize, count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7 + rank * 13) % 101) as f32 / (3 + rank) as f32).collect()
}

#[test]
fn every_rank_gets_the_same_sum() {
    if !plays("every_rank_gets_the_same_sum") {
        return;
    }
    // None, one, fewer than ranks, and more than a piece.
    for count in [0, 1, 2, 7, 100_003] {
        let sums = ranks(move |rank, stream, comm| {
            let send = stream.clone_htod(&own(rank, count.max(1))).unwrap();
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
        let all = [0, 1, 2].map(|rank| own(rank, count));
        for (i, sum) in sums[0].iter().enumerate() {
            let exact: f64 = all.iter().map(|own| f64::from(own[i])).sum();
            assert!((f64::from(*sum) - exact).abs() <= 2.0 * exact * 2f64.powi(-24), "{i}");
        }
    }
}

#[test]
fn each_operation_puts_everything_where_it_belongs() {
    if !plays("each_operation_puts_everything_where_it_belongs") {
        return;
    }
    const COUNT: usize = 70_000;
    ranks(|rank, stream, comm| {
        let number = |rank: usize, i: usize| (rank * 1_000_003 + i) as i64;
        let mine: Vec<i64> = (0..3 * COUNT).map(|i| number(rank, i)).collect();
        let send = stream.clone_htod(&mine).unwrap();
        // From every rank to every rank.
        let mut all = stream.alloc_zeros::<i64>(3 * COUNT).unwrap();
        comm.all_gather(&send.slice(..COUNT), &mut all).unwrap();
        let expected: Vec<i64> =
            (0..3).flat_map(|rank| (0..COUNT).map(move |i| number(rank, i))).collect();
        assert!(stream.clone_dtoh(&all).unwrap() == expected);
        // The sum of all, a part each.
        let mut part = stream.alloc_zeros::<i64>(COUNT).unwrap();
        comm.reduce_scatter(&send, &mut part, &ReduceOp::Sum).unwrap();
        let sum = |i: usize| (0..3).map(|rank| number(rank, i)).sum::<i64>();
        let expected: Vec<i64> = (0..COUNT).map(|i| sum(rank * COUNT + i)).collect();
        assert!(stream.clone_dtoh(&part).unwrap() == expected);
        // From one to all, and from all to one.
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
fn sends_and_receives_of_a_group_go_on_together() {
    if !plays("sends_and_receives_of_a_group_go_on_together") {
        return;
    }
    // Many times what a mailbox holds.
    const COUNT: usize = 300_000;
    ranks(|rank, stream, comm| {
        let send = stream.clone_htod(&vec![rank as f32 + 0.5; COUNT]).unwrap();
        let mut receive = stream.alloc_zeros::<f32>(3 * COUNT).unwrap();
        group_start().unwrap();
        // Every rank to every rank, itself among them.
        for peer in 0..3i32 {
            comm.send(&send, peer).unwrap();
        }
        for peer in 0..3usize {
            let mut part = receive.slice_mut(peer * COUNT..(peer + 1) * COUNT);
            comm.recv(&mut part, peer as i32).unwrap();
        }
        group_end().unwrap();
        let found = stream.clone_dtoh(&receive).unwrap();
        for peer in 0..3 {
            assert!(found[peer * COUNT..][..COUNT].iter().all(|&value| value == peer as f32 + 0.5));
        }
        // To itself alone, it would wait for ever.
        assert!(comm.send(&send, rank as i32).is_err());
    });
}

#[test]
fn one_thread_serves_all_ranks_in_a_group() {
    if !plays("one_thread_serves_all_ranks_in_a_group") {
        return;
    }
    let streams: Vec<_> =
        (0..3).map(|device| CudaContext::new(device).unwrap().default_stream()).collect();
    let comms = Comm::from_devices(streams.clone()).unwrap();
    let sends: Vec<_> =
        (0..3).map(|rank| streams[rank].clone_htod(&own(rank, 1000)).unwrap()).collect();
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
    let found: Vec<_> =
        (0..3).map(|rank| streams[rank].clone_dtoh(&receives[rank]).unwrap()).collect();
    assert!(found[0] == found[1] && found[1] == found[2]);
    let mean = (0..3).map(|rank| own(rank, 1000)[5]).sum::<f32>() / 3.0;
    assert!((found[0][5] - mean).abs() < 1e-5, "{} {mean}", found[0][5]);
    // A group that was never begun.
    assert!(group_end().is_err());
}

fn address<T>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> *const c_void {
    slice.device_ptr(stream).0 as *const c_void
}

fn address_mut<T>(stream: &Arc<CudaStream>, slice: &mut impl DevicePtrMut<T>) -> *mut c_void {
    slice.device_ptr_mut(stream).0 as *mut c_void
}

fn joined(id: ncclUniqueId, ranks: i32, rank: i32) -> Result<ncclComm_t, result::NcclError> {
    let mut comm = std::ptr::null_mut();
    // SAFETY: the place lives for the call.
    unsafe { result::comm_init_rank(&raw mut comm, ranks, id, rank) }.map(|_| comm)
}

#[test]
fn factors_of_a_ranks_own_and_parts_of_the_whole() {
    if !plays("factors_of_a_ranks_own_and_parts_of_the_whole") {
        return;
    }
    let id = result::get_uniqueid().unwrap();
    let threads: Vec<_> = (0..3i32)
        .map(|rank| {
            std::thread::spawn(move || {
                let context = CudaContext::new(rank as usize).unwrap();
                let stream = context.new_stream().unwrap();
                let comm = joined(id, 3, rank).unwrap();
                let send = stream.clone_htod(&[1.0f32, 2.0]).unwrap();
                let mut receive = stream.alloc_zeros::<f32>(2).unwrap();
                // Rank r multiplies by 10^r.
                let factor = 10f32.powi(rank);
                let mut op = std::mem::MaybeUninit::<ncclRedOp_t>::uninit();
                // SAFETY: what is pointed to lives for the calls; the memory until the stream is done.
                unsafe {
                    let made = sys::ncclRedOpCreatePreMulSum(
                        op.as_mut_ptr(),
                        (&raw const factor).cast_mut().cast(),
                        ncclDataType_t::ncclFloat32,
                        sys::ncclScalarResidence_t::ncclScalarHostImmediate,
                        comm,
                    );
                    assert_eq!(made, ncclResult_t::ncclSuccess);
                    // The number of such an operation is none of the enumeration's: it goes by value.
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
                    let (from, to) = (address(&stream, &send), address_mut(&stream, &mut receive));
                    assert_eq!(
                        all_reduce(from, to, 2, 7, number, comm, stream.cu_stream().cast()),
                        0
                    );
                    assert_eq!(stream.clone_dtoh(&receive).unwrap(), [111.0, 222.0]);
                    let destroy: unsafe extern "C" fn(u32, ncclComm_t) -> u32 =
                        std::mem::transmute(symbol("ncclRedOpDestroy"));
                    assert_eq!((destroy(number, comm), destroy(number, comm)), (0, 4));
                }
                // Ranks 0 and 2 become a pair, in the other order; rank 1 is in no part.
                let (mut part, color) = (std::ptr::null_mut(), if rank == 1 { -1 } else { 4 });
                // SAFETY: the place lives for the call.
                unsafe {
                    let split =
                        sys::ncclCommSplit(comm, color, -rank, &raw mut part, std::ptr::null_mut());
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
                    assert!(result::comm_count(comm).is_err(), "it is gone");
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn symbol(name: &str) -> *const c_void {
    // SAFETY: the library is loaded already.
    let library = unsafe { Library::open(Some("libnccl.so"), RTLD_NOW) }.unwrap();
    // SAFETY: the address alone is taken.
    let found = unsafe { library.get::<*const c_void>(name) }.unwrap().as_raw_ptr();
    std::mem::forget(library);
    found
}

#[test]
fn a_graph_does_it_each_time_that_it_is_launched() {
    if !plays("a_graph_does_it_each_time_that_it_is_launched") {
        return;
    }
    const FLAGS: CUgraphInstantiate_flags =
        CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    ranks(|rank, stream, comm| {
        let mut place = stream.clone_htod(&[rank as f32 + 1.0]).unwrap();
        // SAFETY: nothing else uses the memory meanwhile.
        unsafe { stream.context().disable_event_tracking() };
        stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
        comm.all_reduce_in_place(&mut place, &ReduceOp::Sum).unwrap();
        let graph = stream.end_capture(FLAGS).unwrap().unwrap();
        for _ in 0..4 {
            graph.launch().unwrap();
        }
        // 1 + 2 + 3 = 6, then three times as much each time.
        assert_eq!(stream.clone_dtoh(&place).unwrap(), [6.0 * 27.0]);
    });
}

#[test]
fn ranks_that_call_for_different_things_are_told() {
    let test = "ranks_that_call_for_different_things_are_told";
    if std::env::var_os(PART).is_none() {
        for (part, message) in [
            ("count", "has 3 elements, not 4"),
            ("type", "has elements of ncclInt32, not of ncclFloat32"),
            ("operation", "calls ncclAllGather"),
            ("reduction", "reduces by operation 2, not by 0"),
        ] {
            let output = command(test, part, 3).output().unwrap();
            assert!(output.status.success(), "{part}: {}", said(&output));
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
    if !plays("what_is_no_argument_is_refused") {
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

/// Starts ranks, each a process with the same id, which the first one writes.
fn processes(test: &str, parts: &[&str], seconds: &str) -> Vec<Child> {
    let name = format!("emulated-nccl-test-{}-{test}", std::process::id());
    let file = std::env::temp_dir().join(name);
    let _ = std::fs::remove_file(&file);
    let start = |(rank, part): (usize, &&str)| {
        let mut command = command(test, part, 1);
        command.env("RANK", rank.to_string()).env("ID_FILE", &file);
        command.env("WORLD_SIZE", "3").env("EMULATED_NCCL_TIMEOUT", seconds).spawn().unwrap()
    };
    parts.iter().enumerate().map(start).collect()
}

/// What a process that is a rank finds in its environment, and its communicator.
fn own_process() -> (usize, Arc<CudaStream>, Result<Comm, result::NcclError>) {
    install();
    let number = |name: &str| std::env::var(name).unwrap().parse::<usize>().unwrap();
    let (rank, file) = (number("RANK"), std::env::var("ID_FILE").unwrap());
    let id = if rank == 0 {
        let id = Id::new().unwrap();
        let bytes: Vec<u8> = id.internal().iter().map(|byte| *byte as u8).collect();
        std::fs::write(format!("{file}.new"), bytes).unwrap();
        std::fs::rename(format!("{file}.new"), &file).unwrap();
        id
    } else {
        let begun = Instant::now();
        let bytes = loop {
            match std::fs::read(&file) {
                Ok(bytes) => break bytes,
                Err(error) => assert!(begun.elapsed() < Duration::from_secs(60), "{error}"),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        Id::uninit(std::array::from_fn(|i| bytes[i] as std::ffi::c_char))
    };
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    let comm = Comm::from_rank(Arc::clone(&stream), rank, number("WORLD_SIZE"), id);
    (rank, stream, comm)
}

#[test]
fn ranks_are_processes_too() {
    let test = "ranks_are_processes_too";
    if std::env::var_os(PART).is_none() {
        for child in processes(test, &["rank"; 3], "60") {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", said(&output));
        }
        return;
    }
    let (rank, stream, comm) = own_process();
    let comm = comm.unwrap();
    let mut place = stream.clone_htod(&own(rank, 100_003)).unwrap();
    comm.all_reduce_in_place(&mut place, &ReduceOp::Sum).unwrap();
    let sum = stream.clone_dtoh(&place).unwrap();
    let exact: f64 = (0..3).map(|rank| f64::from(own(rank, 100_003)[99_999])).sum();
    assert!((f64::from(sum[99_999]) - exact).abs() <= 2.0 * exact * 2f64.powi(-24));
    // All have the same bits.
    let bits = sum.iter().fold(0u64, |sum, value| sum.rotate_left(5) ^ u64::from(value.to_bits()));
    let mut most = stream.clone_htod(&[bits]).unwrap();
    comm.all_reduce_in_place(&mut most, &ReduceOp::Max).unwrap();
    assert_eq!(stream.clone_dtoh(&most).unwrap(), [bits]);
}

#[test]
fn a_rank_that_is_killed_ends_the_others() {
    let test = "a_rank_that_is_killed_ends_the_others";
    if std::env::var_os(PART).is_none() {
        let mut children = processes(test, &["waits", "dies", "waits"], "60");
        // It kills itself when all are there.
        assert!(!children.remove(1).wait().unwrap().success());
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", said(&output));
            assert!(said(&output).contains("rank 1 is gone"), "{}", said(&output));
        }
        return;
    }
    let (_, stream, comm) = own_process();
    let comm = comm.unwrap();
    let mut place = stream.clone_htod(&[1.0f32]).unwrap();
    comm.all_reduce_in_place(&mut place, &ReduceOp::Sum).unwrap();
    assert_eq!(stream.clone_dtoh(&place).unwrap(), [3.0]);
    if std::env::var(PART).unwrap() == "dies" {
        // SAFETY: ends this process as `kill -9` does.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    comm.all_reduce_in_place(&mut place, &ReduceOp::Sum).unwrap();
    assert!(stream.synchronize().is_err());
    // What is asked for later is refused at once.
    assert!(comm.all_reduce_in_place(&mut place, &ReduceOp::Sum).is_err());
}

#[test]
fn a_rank_that_never_comes_ends_the_others() {
    let test = "a_rank_that_never_comes_ends_the_others";
    if std::env::var_os(PART).is_none() {
        for child in processes(test, &["waits"; 2], "2") {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", said(&output));
            let told = said(&output);
            let names_it = told.contains("of 3 ranks, 2 did not come within 2 s");
            assert!(names_it || told.contains("has given its communicator back"), "{told}");
        }
        return;
    }
    assert!(own_process().2.is_err());
}

#[test]
fn a_rank_that_aborts_ends_what_waits_for_it() {
    if !plays("a_rank_that_aborts_ends_what_waits_for_it") {
        return;
    }
    let id = result::get_uniqueid().unwrap();
    let threads: Vec<_> = (0..2i32)
        .map(|rank| {
            std::thread::spawn(move || {
                let stream = CudaContext::new(rank as usize).unwrap().new_stream().unwrap();
                let comm = joined(id, 2, rank).unwrap();
                if rank == 1 {
                    // SAFETY: nothing uses it any more.
                    unsafe { result::comm_abort(comm) }.unwrap();
                    return;
                }
                let place = stream.clone_htod(&[1.0f32]).unwrap();
                let at = address(&stream, &place).cast_mut();
                // SAFETY: the memory lives until the stream is done.
                let asked = unsafe {
                    sys::ncclAllReduce(
                        at,
                        at,
                        1,
                        ncclDataType_t::ncclFloat32,
                        ncclRedOp_t::ncclSum,
                        comm,
                        stream.cu_stream().cast(),
                    )
                };
                assert_eq!(asked, ncclResult_t::ncclSuccess);
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
