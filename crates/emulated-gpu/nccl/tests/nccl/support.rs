//! Helpers that start ranks as threads or processes.

use std::ffi::c_void;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, DevicePtr};
use cudarc::nccl::sys::{ncclComm_t, ncclResult_t, ncclUniqueId};
use cudarc::nccl::{Comm, Id, result, sys};
use emulated_gpu_test_support::device;

/// The environment variable that names the role of a test's process.
pub(crate) const ROLE: &str = "EMULATED_NCCL_TEST_PART";

/// Installs the libraries: from now on, `libcuda.so` and `libnccl.so` resolve to the emulated ones.
pub(crate) fn install() {
    let nccl = emulated_nccl::library_path().unwrap();
    device::install([emulated_cuda::library_path().unwrap(), nccl]);
}

/// A command that starts a process with a role in a test. `test` includes the module's name.
pub(crate) fn command(test: &str, part: &str, devices: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env(ROLE, part).env("EMULATED_GPU_DEVICES", devices.to_string());
    command.env("EMULATED_GPU_MEMORY", "256M").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn printed(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Asserts that the process has run its test, and that the test has passed.
pub(crate) fn assert_passed(output: &Output) {
    let printed = printed(output);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
}

/// Runs the rest of the surrounding test only in a child process with three devices.
macro_rules! in_rank_process {
    () => {
        if !$crate::support::is_rank_process(&emulated_gpu_test_support::test_name!()) {
            return;
        }
    };
}
pub(crate) use in_rank_process;

/// Whether this process plays a role of the test. If it doesn't, starts a child process with three
/// devices that does.
pub(crate) fn is_rank_process(test: &str) -> bool {
    if std::env::var_os(ROLE).is_some() {
        install();
        return true;
    }
    let output = command(test, "all", 3).output().unwrap();
    assert_passed(&output);
    false
}

/// Runs three ranks, each a thread with its own device.
pub(crate) fn ranks<T: Send + 'static>(
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

/// The input elements of a rank. Their sums aren't exact, so they show the order of additions.
pub(crate) fn rank_data(rank: usize, count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7 + rank * 13) % 101) as f32 / (3 + rank) as f32).collect()
}

pub(crate) fn address<T>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> *const c_void {
    slice.device_ptr(stream).0 as *const c_void
}

pub(crate) fn join(
    id: ncclUniqueId,
    ranks: i32,
    rank: i32,
) -> Result<ncclComm_t, result::NcclError> {
    let mut comm = std::ptr::null_mut();
    // SAFETY: the pointer is valid during the call.
    unsafe { result::comm_init_rank(&raw mut comm, ranks, id, rank) }.map(|_| comm)
}

/// Runs ranks as [`ranks`] does, with a communicator for the functions that cudarc doesn't wrap.
pub(crate) fn ranks_in_c(
    count: i32,
    body: impl Fn(i32, &Arc<CudaStream>, ncclComm_t) + Send + Sync,
) {
    let id = result::get_uniqueid().unwrap();
    std::thread::scope(|scope| {
        for rank in 0..count {
            let body = &body;
            scope.spawn(move || {
                let stream = CudaContext::new(rank as usize).unwrap().new_stream().unwrap();
                body(rank, &stream, join(id, count, rank).unwrap());
            });
        }
    });
}

/// Asserts that the rank's work failed because of another rank.
pub(crate) fn expect_remote_error(stream: &Arc<CudaStream>, comm: ncclComm_t) {
    assert!(stream.synchronize().is_err());
    let mut error = ncclResult_t::ncclSuccess;
    // SAFETY: the pointer is valid during the call.
    unsafe { sys::ncclCommGetAsyncError(comm, &raw mut error) };
    assert_eq!(error, ncclResult_t::ncclRemoteError);
}
