//! Rayon's thread pool on systems that limit the number of threads.

use std::num::NonZero;
use std::sync::{Arc, Once, RwLock, mpsc};
use std::thread;

use rayon::ThreadPoolBuilder;

use crate::memory::is_address_space_limited;
use crate::output::complain;

/// The maximum number of worker threads, as for `EMULATED_GPU_THREADS`. It exceeds any machine's core count, but is
/// low enough for the system's limit of mappings (`vm.max_map_count`). Beyond that limit, Rust aborts the program
/// while a thread starts.
const MAX_THREADS: usize = 1024;

/// Starts the worker threads once: as many as there are cores or as many as the system grants (`ulimit -u`, a
/// container's limit), but at most 1,024. Rayon itself would panic if it didn't get all of them. Without any,
/// the calling thread does all the work.
pub fn share_work() {
    static STARTED: Once = Once::new();
    STARTED.call_once(start);
}

fn start() {
    let cores = || thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    let wanted = match std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse().ok()) {
        Some(wanted) if wanted > MAX_THREADS => {
            complain(format_args!(
                "RAYON_NUM_THREADS is {wanted}; using the maximum of {MAX_THREADS} threads"
            ));
            MAX_THREADS
        }
        Some(wanted) if wanted > 0 => wanted,
        _ => cores(),
    };
    let builder = match available(wanted) {
        0 => ThreadPoolBuilder::new().num_threads(1).use_current_thread(),
        threads => ThreadPoolBuilder::new().num_threads(threads),
    };
    // This only fails if a pool already exists; then that pool is used.
    let _ = builder.build_global();
}

/// The address space needed to start a thread: its stack, and its allocations after its start. If these allocations
/// fail, Rust aborts the program.
const THREAD_START_BYTES: usize = (2 << 20) + (1 << 20);

/// The number of threads, up to `wanted`, that can run at the same time.
fn available(wanted: usize) -> usize {
    let is_limited = is_address_space_limited();
    let gate = Arc::new(RwLock::new(()));
    let closed = gate.write();
    let (send, started) = mpsc::channel();
    let start = || {
        if is_limited {
            let mut room = Vec::<u8>::new();
            room.try_reserve_exact(THREAD_START_BYTES).ok()?;
            std::hint::black_box(&room);
        }
        let (gate, send) = (Arc::clone(&gate), send.clone());
        let run = move || {
            let _ = send.send(());
            // Waits until all threads have started.
            drop(gate.read());
        };
        let thread = thread::Builder::new().spawn(run).ok()?;
        // Waits until the thread has allocated its memory.
        if is_limited {
            started.recv().ok()?;
        }
        Some(thread)
    };
    let threads: Vec<_> = (0..wanted).map_while(|_| start()).collect();
    drop(closed);
    let count = threads.len();
    for thread in threads {
        let _ = thread.join();
    }
    count
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use std::process::{Command, Output};

    use super::*;
    use crate::memory::save_address_space;

    /// The number of threads requested; more than any of the limits below allows.
    const REQUESTED_THREADS: usize = 64;
    /// An environment variable that is set in the child processes of the tests.
    const CHILD_VARIABLE: &str = "HOST_TEST_LIMITED";

    /// Counts the available threads, starts them, and runs work on each of them.
    fn start_all() {
        // The test only runs on the main thread if the limit is so low that the test harness could not start a thread
        // for it. Then there is nothing to test.
        if thread::current().name() == Some("main") {
            return;
        }
        save_address_space();
        let threads = available(REQUESTED_THREADS);
        if threads > 0 {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.broadcast(|context| context.num_threads()), vec![threads; threads]);
        }
        // The harness has already printed the test's name on this line.
        println!("\nthreads: {threads}");
    }

    /// Runs this test in a child process with a limited address space. The timeout is needed because the test harness
    /// may hang if one of its threads only started partly.
    fn limited(kilobytes: usize) -> Output {
        let script = format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"");
        Command::new("timeout")
            .args(["20", "sh", "-c", &script])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "threads::tests::no_address_space_limit_aborts_a_program"])
            .args(["--nocapture", "--test-threads=1"])
            .env(CHILD_VARIABLE, "")
            .output()
            .unwrap()
    }

    /// The environment variable requests more threads than the system's limit of mappings allows.
    #[test]
    fn the_number_of_threads_is_limited() {
        if std::env::var_os(CHILD_VARIABLE).is_some() {
            share_work();
            println!("\nthreads: {}", rayon::current_num_threads());
            return;
        }
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "threads::tests::the_number_of_threads_is_limited"])
            .args(["--nocapture", "--test-threads=1"])
            .env(CHILD_VARIABLE, "")
            .env("RAYON_NUM_THREADS", "100000")
            .output()
            .unwrap();
        let count = threads_of(&output).unwrap_or_else(|| panic!("{output:?}"));
        assert!((1..=MAX_THREADS).contains(&count), "{count}");
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(
            messages.contains("RAYON_NUM_THREADS is 100000; using the maximum of 1024 threads"),
            "{messages}"
        );
    }

    fn threads_of(output: &Output) -> Option<usize> {
        let printed = String::from_utf8_lossy(&output.stdout);
        let count = printed.lines().find_map(|line| line.strip_prefix("threads: "))?;
        output.status.success().then(|| count.parse().unwrap())
    }

    #[test]
    fn no_address_space_limit_aborts_a_program() {
        if std::env::var_os(CHILD_VARIABLE).is_some() {
            return start_all();
        }
        // Finds the lowest limit that is sufficient. Below it, anything may fail, such as the loader or the test
        // harness.
        let enough =
            (1..400).map(|n| n * 1024).find(|&limit| threads_of(&limited(limit)).is_some());
        let enough = enough.expect("400 MiB are enough to start without a thread");
        let mut counts = Vec::new();
        // Every 2 MiB allow one more thread; the steps are small enough to exhaust memory at each stage of a thread's
        // start.
        for limit in (enough..enough + (24 << 10)).step_by(172) {
            let output = limited(limit);
            let count = threads_of(&output);
            let count = count.unwrap_or_else(|| panic!("{limit} KiB of addresses: {output:?}"));
            counts.push(count);
        }
        assert!(counts.is_sorted(), "{counts:?}");
        assert!(counts.last() > counts.first(), "{counts:?}");
        assert!(counts.iter().all(|&count| count < REQUESTED_THREADS), "{counts:?}");
    }
}
