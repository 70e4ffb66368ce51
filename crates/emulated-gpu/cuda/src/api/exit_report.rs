//! Reports at the end of a process: memory leaks, and the kernels' counts.

#![allow(unsafe_code, reason = "asks the C library to call a function at the end")]

use std::sync::Once;
use std::time::{Duration, Instant};

use host::file::write_atomically;

use crate::abi::ffi::say;
use crate::api::driver::{Driver, driver};
use crate::context::leaks::at_end;
use crate::device;

/// How long the next piece of work may take at the end of the process.
const PATIENCE: Duration = Duration::from_secs(10);

/// Has the reports made that the settings ask for, once.
pub(crate) fn at_exit(driver: &Driver) {
    static FIRST: Once = Once::new();
    let settings = &driver.hardware.settings;
    if settings.leaks || settings.statistics.is_some() {
        // SAFETY: `report` may be called at any time. What it can't do is then not done.
        FIRST.call_once(|| _ = unsafe { libc::atexit(report) });
    }
}

extern "C" fn report() {
    // A panic must not cross into C; there is nobody to tell of it either.
    let _ = std::panic::catch_unwind(|| {
        let Ok(driver) = driver() else { return };
        settle(driver);
        let hardware = &driver.hardware;
        if hardware.settings.leaks
            && let Some(leaks) = at_end(hardware)
        {
            say(&leaks);
        }
        if let Some(path) = &hardware.settings.statistics
            && let Err(error) = write_atomically(path, |file| {
                file.write_all(hardware.counts.to_json(device::name()).as_bytes())
            })
        {
            say(&format!("EMULATED_GPU_STATISTICS: {}: {error}", path.display()));
        }
    });
}

/// Waits for the work that stands in streams, for as long as some of it is being done: a kernel that
/// runs for ever, or a wait for what nobody writes, must not keep the process from its end.
fn settle(driver: &Driver) {
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
        if since.elapsed() > PATIENCE {
            return say(&format!(
                "the process ends, and {left} pieces of work still stand in streams, of which none \
                 was done within {} s: what they would have counted or freed is missing",
                PATIENCE.as_secs()
            ));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
