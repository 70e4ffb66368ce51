//! What is told at the end of a process: memory that was never freed, and what kernels counted.

#![allow(unsafe_code, reason = "asks the C library to call a function at the end")]

use std::sync::atomic::{AtomicBool, Ordering};

use ptx_emulator::memory::AllocationKind;

use crate::abi::{Handle, Pointer};
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
        if driver.settings.leaks
            && let Some(leaks) = leaks(driver)
        {
            say(&leaks);
        }
        if let Some(path) = &driver.settings.statistics
            && let Err(error) = std::fs::write(path, driver.counts.to_json(device::name()))
        {
            say(&format!("EMULATED_GPU_STATISTICS: {}: {error}", path.display()));
        }
    });
}

/// Whether memory was left in some context.
static LEAKED: AtomicBool = AtomicBool::new(false);

/// Tells what is left in a context that ends, which takes its memory with it.
pub(crate) fn leaks_of(driver: &Driver, context: Handle) {
    let list = driver.allocations.list(Some(context));
    if driver.settings.leaks && !list.is_empty() {
        LEAKED.store(true, Ordering::Relaxed);
        say(&lines(&list));
    }
}

/// Every allocation that is left at the end.
fn leaks(driver: &Driver) -> Option<String> {
    let mut list = driver.allocations.list(None);
    let heap = driver.emulator.memory().leaks().into_iter();
    let heap = heap.filter(|one| one.kind == AllocationKind::Heap);
    list.extend(heap.map(|one| (one.address, one.size, "memory that a kernel allocated")));
    if list.is_empty() {
        let none = !LEAKED.load(Ordering::Relaxed);
        return none.then(|| "all memory was freed".to_owned());
    }
    Some(lines(&list))
}

fn lines(list: &[(Pointer, u64, &str)]) -> String {
    let bytes: u64 = list.iter().map(|(_, size, _)| size).sum();
    let count = list.len();
    let plural = if count == 1 { "" } else { "s" };
    let mut text = format!("{bytes} bytes in {count} allocation{plural} were never freed");
    for (address, size, what) in list {
        text.push_str(&format!("\n  {size} bytes of {what} at {address:#x}"));
    }
    text
}
