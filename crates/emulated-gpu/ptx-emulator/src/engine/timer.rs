//! The device's timer, `%globaltimer`. It is shared by all launches and host threads, and never
//! runs backwards.

use std::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(target_family = "wasm"))]
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The timer of a device. See the module's comment.
#[derive(Debug)]
pub(crate) struct Timer {
    /// The time of day in nanoseconds when the device was created, and the host's monotonic clock
    /// at that moment. Later times are computed from the monotonic clock, because the time of day
    /// may be set back.
    #[cfg(not(target_family = "wasm"))]
    began: (u64, Instant),
    /// Nanoseconds that were skipped because all threads of a block were waiting.
    skipped_nanoseconds: AtomicU64,
    /// The sum of the clocks of all deterministic launches so far.
    launched_clocks: AtomicU64,
}

impl Timer {
    pub(crate) fn new() -> Self {
        Self {
            #[cfg(not(target_family = "wasm"))]
            began: {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                (now.as_nanos() as u64, Instant::now())
            },
            skipped_nanoseconds: AtomicU64::new(0),
            launched_clocks: AtomicU64::new(0),
        }
    }

    /// The time in nanoseconds. In deterministic runs, it is the number of executed steps,
    /// including `clock` steps of the current launch.
    pub(crate) fn read(&self, clock: u64, deterministic: bool) -> u64 {
        let skipped = self.skipped_nanoseconds.load(Ordering::Acquire);
        self.clock_nanoseconds(clock, deterministic).wrapping_add(skipped)
    }

    #[cfg(not(target_family = "wasm"))]
    fn clock_nanoseconds(&self, clock: u64, deterministic: bool) -> u64 {
        if deterministic {
            return self.launched_clocks.load(Ordering::Relaxed).wrapping_add(clock);
        }
        let (began, since) = self.began;
        began.wrapping_add(since.elapsed().as_nanos() as u64)
    }

    /// WebAssembly has no clock.
    #[cfg(target_family = "wasm")]
    fn clock_nanoseconds(&self, clock: u64, _: bool) -> u64 {
        self.launched_clocks.load(Ordering::Relaxed).wrapping_add(clock)
    }

    /// Advances the timer, because all threads are waiting.
    pub(crate) fn skip(&self, nanoseconds: u64) {
        self.skipped_nanoseconds.fetch_add(nanoseconds, Ordering::AcqRel);
    }

    /// Adds the `clock` steps that a host thread has executed in a launch.
    pub(crate) fn add(&self, clock: u64) {
        self.launched_clocks.fetch_add(clock, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timer_is_monotonic_over_launches_and_waits() {
        for deterministic in [false, true] {
            let timer = Timer::new();
            let mut last = 0;
            for launch in 0..3 {
                for clock in [0, 10, 20] {
                    let now = timer.read(clock, deterministic);
                    assert!(now >= last, "launch {launch}: {now} after {last}");
                    last = now;
                    timer.skip(1000);
                    assert!(timer.read(clock, deterministic) >= last + 1000);
                }
                timer.add(20);
            }
        }
    }
}
