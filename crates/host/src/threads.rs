//! Rayon's threads, on machines that don't give them.

use std::num::NonZero;
use std::sync::{Arc, RwLock};
use std::thread;

use rayon::ThreadPoolBuilder;

/// Starts the threads that share work: as many as there are cores, or as many as the system gives
/// (`ulimit -u`, a container's limit). Rayon would panic where it can't have all of them; with none,
/// the calling thread does all the work.
pub(crate) fn share_work() {
    let wanted = match std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse().ok()) {
        Some(wanted) if wanted > 0 => wanted,
        _ => thread::available_parallelism().map_or(1, NonZero::get),
    };
    let builder = match available(wanted) {
        0 => ThreadPoolBuilder::new().num_threads(1).use_current_thread(),
        threads => ThreadPoolBuilder::new().num_threads(threads),
    };
    // Fails only where there is a pool already, which then serves.
    let _ = builder.build_global();
}

/// How many of this many threads can be had at the same time.
fn available(wanted: usize) -> usize {
    let gate = Arc::new(RwLock::new(()));
    let closed = gate.write();
    let started: Vec<_> = (0..wanted)
        .map_while(|_| {
            let gate = Arc::clone(&gate);
            // Waits until all that can start have started.
            thread::Builder::new().spawn(move || drop(gate.read())).ok()
        })
        .collect();
    drop(closed);
    let count = started.len();
    for thread in started {
        let _ = thread.join();
    }
    count
}
