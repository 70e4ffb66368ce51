//! Rayon's threads, on machines that don't give them.

use std::num::NonZero;
use std::sync::{Arc, RwLock, mpsc};
use std::thread;

use rayon::ThreadPoolBuilder;

use crate::memory::has_limited_addresses;

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
