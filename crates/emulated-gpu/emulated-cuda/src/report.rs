//! What is told at the end of a process: memory that was never freed, and what kernels counted.

#![allow(unsafe_code, reason = "asks the C library to call a function at the end")]

use crate::border::say;
use crate::device;
use crate::driver::{Driver, driver};

/// Has the reports made that the settings ask for.
pub(crate) fn at_exit(driver: &Driver) {
    if driver.settings.leaks || driver.settings.statistics.is_some() {
        // SAFETY: `report` may be called at any time. What it can't do is then not done.
        unsafe { libc::atexit(report) };
    }
}

extern "C" fn report() {
    // A panic must not cross into C; there is nobody to tell of it either.
    let _ = std::panic::catch_unwind(|| {
        let Ok(driver) = driver() else { return };
        for context in driver.contexts.all() {
            context.synchronize();
        }
        if driver.settings.leaks {
            say(&leaks(driver));
        }
        if let Some(path) = &driver.settings.statistics
            && let Err(error) = std::fs::write(path, driver.counts.to_json(device::name()))
        {
            say(&format!("EMULATED_GPU_STATISTICS: {}: {error}", path.display()));
        }
    });
}

/// Every allocation that is left, in lines.
fn leaks(driver: &Driver) -> String {
    let mut list = driver.allocations.list();
    let heap = driver.emulator.memory().leaks().into_iter();
    let heap = heap.filter(|one| one.kind == ptx_emulator::memory::AllocationKind::Heap);
    list.extend(heap.map(|one| (one.address, one.size, "memory that a kernel allocated")));
    if list.is_empty() {
        return "no memory is left that was never freed".to_owned();
    }
    let bytes: u64 = list.iter().map(|(_, size, _)| size).sum();
    let mut text = format!("{} allocations of {bytes} bytes in all were never freed", list.len());
    for (address, size, what) in list {
        text.push_str(&format!("\n  {size} bytes of {what} at {address:#x}"));
    }
    text
}
