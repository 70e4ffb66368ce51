//! The device's timer, `%globaltimer`: one for all launches and for all threads of the host, which never
//! runs backwards.

use std::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(target_family = "wasm"))]
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// See the module's comment.
#[derive(Debug)]
pub(crate) struct Timer {
    /// The time of day, in nanoseconds, when the device was made: from there on the host's steady clock
    /// counts, which nobody sets back.
    #[cfg(not(target_family = "wasm"))]
    began: (u64, Instant),
    /// Nanoseconds in which all threads of some block did nothing but wait, and which were left out.
    skipped: AtomicU64,
    /// The clocks of the deterministic launches so far, together.
    ran: AtomicU64,
}

impl Timer {
    pub(crate) fn new() -> Self {
        Self {
            #[cfg(not(target_family = "wasm"))]
            began: {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                (now.as_nanos() as u64, Instant::now())
            },
            skipped: AtomicU64::new(0),
            ran: AtomicU64::new(0),
        }
    }

    /// Nanoseconds; in deterministic runs steps, of which the launch has come to `clock`.
    pub(crate) fn read(&self, clock: u64, deterministic: bool) -> u64 {
        let skipped = self.skipped.load(Ordering::Acquire);
        self.counted(clock, deterministic).wrapping_add(skipped)
    }

    #[cfg(not(target_family = "wasm"))]
    fn counted(&self, clock: u64, deterministic: bool) -> u64 {
        if deterministic {
            return self.ran.load(Ordering::Relaxed).wrapping_add(clock);
        }
        let (began, since) = self.began;
        began.wrapping_add(since.elapsed().as_nanos() as u64)
    }

    /// A page is given no clock.
    #[cfg(target_family = "wasm")]
    fn counted(&self, clock: u64, _: bool) -> u64 {
        self.ran.load(Ordering::Relaxed).wrapping_add(clock)
    }

    /// Leaves out time in which nothing happens.
    pub(crate) fn skip(&self, nanoseconds: u64) {
        self.skipped.fetch_add(nanoseconds, Ordering::AcqRel);
    }

    /// A thread of the host has done its part of a launch, which has taken `clock` steps.
    pub(crate) fn add(&self, clock: u64) {
        self.ran.fetch_add(clock, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timer_goes_on_over_launches_and_waits() {
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
