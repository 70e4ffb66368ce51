//! Ranks that are processes, and ranks that are gone: who waits for one that is killed, never comes or
//! aborts is told.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, CudaStream};
use cudarc::nccl::sys::{ncclDataType_t, ncclRedOp_t, ncclResult_t};
use cudarc::nccl::{Comm, Id, ReduceOp, result, sys};

use crate::support::{PART, address, command, install, joined, own, passed, plays, said};

/// The file in which the ranks of a test find their id.
fn id_file(test: &str) -> PathBuf {
    let name = format!("emulated-nccl-test-{}-{test}", std::process::id());
    std::env::temp_dir().join(name)
}

/// Starts ranks, each a process with the same id, which the first one writes.
fn processes(test: &str, parts: &[&str], seconds: &str) -> Vec<Child> {
    let file = id_file(test);
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
    let test = "processes::ranks_are_processes_too";
    if std::env::var_os(PART).is_none() {
        for child in processes(test, &["rank"; 3], "60") {
            let output = child.wait_with_output().unwrap();
            passed(&output);
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
    killed("processes::a_rank_that_is_killed_ends_the_others", "dies");
}

/// As PyTorch's data loaders do: what they inherit of the rank doesn't keep it alive.
#[test]
fn a_rank_that_is_killed_ends_the_others_though_its_child_lives() {
    killed("processes::a_rank_that_is_killed_ends_the_others_though_its_child_lives", "forks");
}

fn killed(test: &str, part: &str) {
    if std::env::var_os(PART).is_none() {
        let mut children = processes(test, &["waits", part, "waits"], "60");
        // It kills itself when all are there.
        assert!(!children.remove(1).wait().unwrap().success());
        for child in children {
            let output = child.wait_with_output().unwrap();
            passed(&output);
            assert!(said(&output).contains("rank 1 is gone"), "{}", said(&output));
        }
        return;
    }
    let (_, stream, comm) = own_process();
    let comm = comm.unwrap();
    let mut place = stream.clone_htod(&[1.0f32]).unwrap();
    comm.all_reduce_in_place(&mut place, &ReduceOp::Sum).unwrap();
    assert_eq!(stream.clone_dtoh(&place).unwrap(), [3.0]);
    let part = std::env::var(PART).unwrap();
    // SAFETY: the child only makes calls that are allowed after a fork of a process with threads.
    if part == "forks" && unsafe { libc::fork() } == 0 {
        // SAFETY: as above; it lives for half a minute, and ends.
        unsafe {
            libc::alarm(30);
            libc::pause();
            libc::_exit(0);
        }
    }
    if part != "waits" {
        // SAFETY: ends this process as `kill -9` does.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    // Another rank may have found out before this one asks.
    let asked = comm.all_reduce_in_place(&mut place, &ReduceOp::Sum);
    assert!(asked.is_err() || stream.synchronize().is_err());
    // What is asked for later is refused at once.
    assert!(comm.all_reduce_in_place(&mut place, &ReduceOp::Sum).is_err());
}

/// The memory that ranks of an id share, as long as it has a name.
fn shared_memory(id: &[u8]) -> PathBuf {
    let shm = Path::new("/dev/shm");
    let folder = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
    let hex: String = id[64..80].iter().map(|byte| format!("{byte:02x}")).collect();
    folder.join(format!("emulated-nccl-{hex}"))
}

#[test]
fn a_rank_that_is_killed_while_it_waits_leaves_no_memory() {
    let test = "processes::a_rank_that_is_killed_while_it_waits_leaves_no_memory";
    if std::env::var_os(PART).is_some() {
        let (_, stream, comm) = own_process();
        let mut place = stream.clone_htod(&[1.0f32]).unwrap();
        return comm.unwrap().all_reduce_in_place(&mut place, &ReduceOp::Sum).map(|_| ()).unwrap();
    }
    // It waits for two ranks that never come.
    let mut waits = processes(test, &["waits"], "60").remove(0);
    let begun = Instant::now();
    let path = loop {
        let id = std::fs::read(id_file(test)).unwrap_or_default();
        if id.len() == 128 && shared_memory(&id).exists() {
            break shared_memory(&id);
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it never waits");
        std::thread::sleep(Duration::from_millis(5));
    };
    waits.kill().unwrap();
    waits.wait().unwrap();
    // Another process may have removed it already, as the next one does.
    if let Ok(left) = std::fs::metadata(&path) {
        assert!(left.blocks() * 512 < 1 << 20, "{} bytes", left.blocks() * 512);
    }
    for child in processes(test, &["rank"; 3], "60") {
        passed(&child.wait_with_output().unwrap());
    }
    assert!(!path.exists(), "{}", path.display());
}

#[test]
fn a_rank_that_never_comes_ends_the_others() {
    let test = "processes::a_rank_that_never_comes_ends_the_others";
    if std::env::var_os(PART).is_none() {
        for child in processes(test, &["waits"; 2], "2") {
            let output = child.wait_with_output().unwrap();
            passed(&output);
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
    if !plays("processes::a_rank_that_aborts_ends_what_waits_for_it") {
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
