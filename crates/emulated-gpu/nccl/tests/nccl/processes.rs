//! Tests of ranks that are processes, and of ranks that are killed, never join or abort: the ranks
//! that wait for them get an error.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, CudaStream};
use cudarc::nccl::sys::{ncclDataType_t, ncclRedOp_t, ncclResult_t};
use cudarc::nccl::{Comm, Id, ReduceOp, result, sys};

use crate::support::*;

/// The path of the file that passes the id to the ranks of a test.
fn id_file(test: &str) -> PathBuf {
    let name = format!("emulated-nccl-test-{}-{test}", std::process::id());
    std::env::temp_dir().join(name)
}

/// Starts one process per rank. All ranks use the id that the first rank writes.
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

/// Joins as the rank that the environment describes; returns its number, stream and communicator.
fn join_as_process() -> (usize, Arc<CudaStream>, Result<Comm, result::NcclError>) {
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
fn ranks_can_be_processes() {
    let test = "processes::ranks_can_be_processes";
    if std::env::var_os(ROLE).is_none() {
        for child in processes(test, &["rank"; 3], "60") {
            let output = child.wait_with_output().unwrap();
            assert_passed(&output);
        }
        return;
    }
    let (rank, stream, comm) = join_as_process();
    let comm = comm.unwrap();
    let mut place = stream.clone_htod(&rank_data(rank, 100_003)).unwrap();
    comm.all_reduce_in_place(&mut place, &ReduceOp::Sum).unwrap();
    let sum = stream.clone_dtoh(&place).unwrap();
    let exact: f64 = (0..3).map(|rank| f64::from(rank_data(rank, 100_003)[99_999])).sum();
    assert!((f64::from(sum[99_999]) - exact).abs() <= 2.0 * exact * 2f64.powi(-24));
    // Combines the bits of the sum to one number, which has to be the same on all ranks.
    let bits = sum.iter().fold(0u64, |sum, value| sum.rotate_left(5) ^ u64::from(value.to_bits()));
    let mut most = stream.clone_htod(&[bits]).unwrap();
    comm.all_reduce_in_place(&mut most, &ReduceOp::Max).unwrap();
    assert_eq!(stream.clone_dtoh(&most).unwrap(), [bits]);
}

#[test]
fn a_killed_rank_fails_the_others() {
    killed("processes::a_killed_rank_fails_the_others", "dies");
}

/// A child process that inherits the rank's open files, as PyTorch's data loaders do, doesn't make
/// the rank count as alive.
#[test]
fn a_killed_rank_fails_the_others_even_if_its_child_lives() {
    killed("processes::a_killed_rank_fails_the_others_even_if_its_child_lives", "forks");
}

fn killed(test: &str, part: &str) {
    if std::env::var_os(ROLE).is_none() {
        let mut children = processes(test, &["waits", part, "waits"], "60");
        // Rank 1 kills itself once all ranks have joined.
        assert!(!children.remove(1).wait().unwrap().success());
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert_passed(&output);
            assert!(printed(&output).contains("rank 1 is gone"), "{}", printed(&output));
        }
        return;
    }
    let (_, stream, comm) = join_as_process();
    let comm = comm.unwrap();
    let mut place = stream.clone_htod(&[1.0f32]).unwrap();
    comm.all_reduce_in_place(&mut place, &ReduceOp::Sum).unwrap();
    assert_eq!(stream.clone_dtoh(&place).unwrap(), [3.0]);
    let part = std::env::var(ROLE).unwrap();
    // SAFETY: the child only makes calls that are allowed after a fork of a process with threads.
    if part == "forks" && unsafe { libc::fork() } == 0 {
        // SAFETY: the child only makes calls that are allowed after a fork, and ends after half a
        // minute.
        unsafe {
            libc::alarm(30);
            libc::pause();
            libc::_exit(0);
        }
    }
    if part != "waits" {
        // SAFETY: the call only ends this process, as `kill -9` does.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    // This rank may only notice the failure when the stream is synchronised.
    let result = comm.all_reduce_in_place(&mut place, &ReduceOp::Sum);
    assert!(result.is_err() || stream.synchronize().is_err());
    // Later calls fail at once.
    assert!(comm.all_reduce_in_place(&mut place, &ReduceOp::Sum).is_err());
}

/// The path of the file in shared memory that the ranks of an id map, until they unlink it.
fn shared_memory(id: &[u8]) -> PathBuf {
    let shm = Path::new("/dev/shm");
    let folder = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
    let hex: String = id[64..80].iter().map(|byte| format!("{byte:02x}")).collect();
    folder.join(format!("emulated-nccl-{hex}"))
}

#[test]
fn a_rank_killed_while_waiting_leaves_no_shared_memory() {
    let test = "processes::a_rank_killed_while_waiting_leaves_no_shared_memory";
    if std::env::var_os(ROLE).is_some() {
        let (_, stream, comm) = join_as_process();
        let mut place = stream.clone_htod(&[1.0f32]).unwrap();
        return comm.unwrap().all_reduce_in_place(&mut place, &ReduceOp::Sum).map(|_| ()).unwrap();
    }
    // This process waits for two ranks that never join.
    let mut waits = processes(test, &["waits"], "60").remove(0);
    let begun = Instant::now();
    let path = loop {
        let id = std::fs::read(id_file(test)).unwrap_or_default();
        if id.len() == 128 && shared_memory(&id).exists() {
            break shared_memory(&id);
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the rank never starts to wait");
        std::thread::sleep(Duration::from_millis(5));
    };
    waits.kill().unwrap();
    waits.wait().unwrap();
    // Another test's process may already have removed the file.
    if let Ok(left) = std::fs::metadata(&path) {
        assert!(left.blocks() * 512 < 1 << 20, "{} bytes", left.blocks() * 512);
    }
    for child in processes(test, &["rank"; 3], "60") {
        assert_passed(&child.wait_with_output().unwrap());
    }
    assert!(!path.exists(), "{}", path.display());
}

#[test]
fn a_rank_that_never_joins_fails_the_others() {
    let test = "processes::a_rank_that_never_joins_fails_the_others";
    if std::env::var_os(ROLE).is_none() {
        for child in processes(test, &["waits"; 2], "2") {
            let output = child.wait_with_output().unwrap();
            assert_passed(&output);
            let printed = printed(&output);
            let names_it = printed.contains("of 3 ranks, 2 did not join within 2 s");
            assert!(names_it || printed.contains("has left the communicator"), "{printed}");
        }
        return;
    }
    assert!(join_as_process().2.is_err());
}

#[test]
fn aborting_fails_the_ranks_that_wait() {
    in_rank_process!();
    ranks_in_c(2, |rank, stream, comm| {
        if rank == 1 {
            // SAFETY: nothing uses the communicator any more.
            unsafe { result::comm_abort(comm) }.unwrap();
            return;
        }
        let place = stream.clone_htod(&[1.0f32]).unwrap();
        let at = address(stream, &place).cast_mut();
        let (float, sum) = (ncclDataType_t::ncclFloat32, ncclRedOp_t::ncclSum);
        let queue = stream.cu_stream().cast();
        // SAFETY: the memory is valid until the stream has finished.
        let result = unsafe { sys::ncclAllReduce(at, at, 1, float, sum, comm, queue) };
        assert_eq!(result, ncclResult_t::ncclSuccess);
        expect_remote_error(stream, comm);
    });
}
