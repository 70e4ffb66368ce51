//! What is told at the end of a process: memory that was never freed, and what kernels counted.

#![allow(unsafe_code, reason = "asks the C library to call a function at the end")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ptx_emulator::memory::{Allocation, AllocationKind};
use tensor::file::write_atomically;

use crate::abi::{Handle, Pointer};
use crate::device;
use crate::driver::{Driver, driver};
use crate::ffi::say;

/// How long the next piece of work may take at the end of the process.
const PATIENCE: Duration = Duration::from_secs(10);

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
        settle(driver);
        if driver.settings.leaks
            && let Some(leaks) = leaks(driver)
        {
            say(&leaks);
        }
        if let Some(path) = &driver.settings.statistics
            && let Err(error) = write_atomically(path, |file| {
                file.write_all(driver.counts.to_json(device::name()).as_bytes())
            })
        {
            say(&format!("EMULATED_GPU_STATISTICS: {}: {error}", path.display()));
        }
    });
}

/// Waits for the work that stands in streams, for as long as some of it is being done: a kernel that
/// runs for ever, or a wait for what nobody writes, must not keep the process from its end.
fn settle(driver: &Driver) {
    let contexts = driver.contexts.all();
    let streams: Vec<_> = contexts.iter().flat_map(|context| context.all_streams()).collect();
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

/// Whether memory was left in some context.
static LEAKED: AtomicBool = AtomicBool::new(false);

/// Tells what is left in a context that ends, which takes its memory with it.
pub(crate) fn leaks_of(driver: &Driver, context: Handle) {
    let mut list = driver.allocations.list(Some(context));
    list.extend(driver.emulator.memory().in_heap(context as u64).iter().map(of_kernel));
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
    list.extend(heap.map(|one| of_kernel(&one)));
    let physical = driver.handles.list().into_iter();
    list.extend(
        physical.map(|(handle, size)| (handle as u64, size, "physical memory, by its handle,")),
    );
    if list.is_empty() {
        let none = !LEAKED.load(Ordering::Relaxed);
        return none.then(|| "all memory was freed".to_owned());
    }
    Some(lines(&list))
}

fn of_kernel(one: &Allocation) -> (Pointer, u64, &'static str) {
    (one.address, one.size, "memory that a kernel allocated")
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
