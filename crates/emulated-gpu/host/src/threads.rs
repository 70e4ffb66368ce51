//! Rayon's threads, on machines that don't give them.

use std::num::NonZero;
use std::sync::{Arc, Once, RwLock, mpsc};
use std::thread;

use rayon::ThreadPoolBuilder;

use crate::memory::has_limited_addresses;
use crate::output::complain;

/// The limit of threads that share work, as of `EMULATED_GPU_THREADS`: more than any machine has cores, and
/// few enough for the system's limit of mappings (`vm.max_map_count`), at which Rust ends a program whose
/// thread has started.
const MAX_THREADS: usize = 1024;

/// Starts the threads that share work, once: as many as there are cores, or as many as the system gives
/// (`ulimit -u`, a container's limit), and no more than 1,024. Rayon would panic where it can't
/// have all of them; with none, the calling thread does all the work.
pub fn share_work() {
    static STARTED: Once = Once::new();
    STARTED.call_once(start);
}

fn start() {
    let cores = || thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    let wanted = match std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse().ok()) {
        Some(wanted) if wanted > MAX_THREADS => {
            complain(format_args!(
                "RAYON_NUM_THREADS is {wanted}, and {MAX_THREADS} threads are the most: taking that many"
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
    // Fails only where there is a pool already, which then serves.
    let _ = builder.build_global();
}

/// Bytes that have to be left where a thread is to start: its stack, and room for what it takes when it has
/// started, for whose lack Rust ends a program.
const START: usize = (2 << 20) + (1 << 20);

/// How many of this many threads can be had at the same time.
fn available(wanted: usize) -> usize {
    let is_limited = has_limited_addresses();
    let gate = Arc::new(RwLock::new(()));
    let closed = gate.write();
    let (send, starts) = mpsc::channel();
    let start = || {
        if is_limited {
            let mut room = Vec::<u8>::new();
            room.try_reserve_exact(START).ok()?;
            std::hint::black_box(&room);
        }
        let (gate, send) = (Arc::clone(&gate), send.clone());
        let run = move || {
            let _ = send.send(());
            // Waits until all that can start have started.
            drop(gate.read());
        };
        let thread = thread::Builder::new().spawn(run).ok()?;
        // It has taken what it takes.
        if is_limited {
            starts.recv().ok()?;
        }
        Some(thread)
    };
    let started: Vec<_> = (0..wanted).map_while(|_| start()).collect();
    drop(closed);
    let count = started.len();
    for thread in started {
        let _ = thread.join();
    }
    count
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use std::process::{Command, Output};

    use super::*;
    use crate::memory::spare_addresses;

    /// Threads that are asked for: more than any of the limits below leaves memory for.
    const WANTED: usize = 64;
    /// Set in the processes that the test starts.
    const LIMITED: &str = "HOST_TEST_LIMITED";

    /// Counts the threads that can be had, starts them, and has each of them do something.
    fn start_all() {
        // The tests' frame had no memory for a thread of its own, and it ends the process at those limits at
        // which it has memory for the stack alone: they are below those that are tested.
        if thread::current().name() == Some("main") {
            return;
        }
        spare_addresses();
        let threads = available(WANTED);
        if threads > 0 {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.broadcast(|context| context.num_threads()), vec![threads; threads]);
        }
        // The test's name stands at the beginning of this line.
        println!("\nthreads: {threads}");
    }

    /// A process of its own, which may have this many kilobytes of addresses. It may wait for ever where a
    /// thread of the tests' frame didn't start as a whole.
    fn limited(kilobytes: usize) -> Output {
        let script = format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"");
        Command::new("timeout")
            .args(["20", "sh", "-c", &script])
            .arg(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "threads::tests::no_limit_of_addresses_ends_a_program_at_its_threads",
            ])
            .args(["--nocapture", "--test-threads=1"])
            .env(LIMITED, "")
            .output()
            .unwrap()
    }

    /// Asked for in the environment: more threads than the system has mappings for.
    #[test]
    fn more_threads_than_make_sense_are_not_started() {
        if std::env::var_os(LIMITED).is_some() {
            share_work();
            println!("\nthreads: {}", rayon::current_num_threads());
            return;
        }
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "threads::tests::more_threads_than_make_sense_are_not_started"])
            .args(["--nocapture", "--test-threads=1"])
            .env(LIMITED, "")
            .env("RAYON_NUM_THREADS", "100000")
            .output()
            .unwrap();
        let count = threads_of(&output).unwrap_or_else(|| panic!("{output:?}"));
        assert!((1..=MAX_THREADS).contains(&count), "{count}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains("RAYON_NUM_THREADS is 100000, and 1024 threads are the most"),
            "{said}"
        );
    }

    fn threads_of(output: &Output) -> Option<usize> {
        let said = String::from_utf8_lossy(&output.stdout);
        let count = said.lines().find_map(|line| line.strip_prefix("threads: "))?;
        output.status.success().then(|| count.parse().unwrap())
    }

    #[test]
    fn no_limit_of_addresses_ends_a_program_at_its_threads() {
        if std::env::var_os(LIMITED).is_some() {
            return start_all();
        }
        // Below the first limit that is enough, what fails may be anything: the loader, the tests' own frame.
        let enough =
            (1..400).map(|n| n * 1024).find(|&limit| threads_of(&limited(limit)).is_some());
        let enough = enough.expect("400 MiB are enough to start without a thread");
        let mut counts = Vec::new();
        // A thread more every two MiB; in steps that meet each part of what it takes.
        for limit in (enough..enough + (24 << 10)).step_by(172) {
            let output = limited(limit);
            let count = threads_of(&output);
            let count = count.unwrap_or_else(|| panic!("{limit} KiB of addresses: {output:?}"));
            counts.push(count);
        }
        assert!(counts.is_sorted(), "{counts:?}");
        assert!(counts.last() > counts.first(), "{counts:?}");
        assert!(counts.iter().all(|&count| count < WANTED), "{counts:?}");
    }
}
