//! Reports at process exit: memory leaks, and the kernels' counters.

#![allow(unsafe_code, reason = "asks the C library to call a function at process exit")]

use std::sync::Once;
use std::time::{Duration, Instant};

use host::file::write_atomically;

use crate::abi::ffi::report;
use crate::api::driver::{Driver, driver};
use crate::context::leaks::describe_remaining;
use crate::device;

/// The time without progress at process exit after which pending work is given up.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Registers the reports that the settings ask for; only the first call has an effect.
pub(crate) fn at_exit(driver: &Driver) {
    static FIRST: Once = Once::new();
    let settings = &driver.hardware.settings;
    if settings.leaks || settings.statistics.is_some() {
        // SAFETY: `report_at_exit` may be called at any time; if the driver is unusable by then, the function does
        // nothing.
        FIRST.call_once(|| _ = unsafe { libc::atexit(report_at_exit) });
    }
}

extern "C" fn report_at_exit() {
    // A panic must not cross into C, so it is caught and ignored.
    let _ = std::panic::catch_unwind(|| {
        let Ok(driver) = driver() else { return };
        drain_streams(driver);
        let hardware = &driver.hardware;
        if hardware.settings.leaks
            && let Some(leaks) = describe_remaining(hardware)
        {
            report(&leaks);
        }
        if let Some(path) = &hardware.settings.statistics
            && let Err(error) = write_atomically(path, |file| {
                file.write_all(hardware.counts.to_json(device::name()).as_bytes())
            })
        {
            report(&format!("EMULATED_GPU_STATISTICS: {}: {error}", path.display()));
        }
    });
}

/// Waits for the pending work of all streams, as long as it makes progress. A kernel in an endless loop, or a wait
/// for a value that is never written, must not keep the process from exiting.
fn drain_streams(driver: &Driver) {
    let streams = driver.all_streams();
    let (mut last, mut since) = (0, Instant::now());
    loop {
        let progress = streams.iter().map(|stream| stream.progress());
        let (done, left) = progress.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if left == 0 {
            return;
        }
        if done != last {
            (last, since) = (done, Instant::now());
        }
        if since.elapsed() > STALL_TIMEOUT {
            return report(&format!(
                "the process exits with {left} pieces of work pending in streams, of which none \
                 finished within {} s; their counts are missing, and memory they would have freed is reported",
                STALL_TIMEOUT.as_secs()
            ));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
