//! The report of memory leaks.

use std::sync::atomic::{AtomicBool, Ordering};

use ptx_emulator::memory::{Allocation, AllocationKind};

use crate::abi::ffi::report;
use crate::abi::{Handle, Pointer};
use crate::context::hardware::Hardware;

/// Whether any destroyed context leaked memory.
static LEAKED: AtomicBool = AtomicBool::new(false);

/// Reports the memory that is still allocated when a context is destroyed, which frees it.
pub(crate) fn report_context(hardware: &Hardware, context: Handle) {
    let mut list = hardware.allocations.list(Some(context));
    list.extend(hardware.memory().heap_allocations(context as u64).iter().map(kernel_allocation));
    if hardware.settings.leaks && !list.is_empty() {
        LEAKED.store(true, Ordering::Relaxed);
        report(&lines(&list));
    }
}

/// The report for process exit: every allocation that was not freed. `None` if all memory is free now, but a destroyed
/// context had leaked some.
pub(crate) fn describe_remaining(hardware: &Hardware) -> Option<String> {
    let mut list = hardware.allocations.list(None);
    let heap = hardware.memory().leaks().into_iter();
    let heap = heap.filter(|one| one.kind == AllocationKind::Heap);
    list.extend(heap.map(|one| kernel_allocation(&one)));
    let physical = hardware.handles.list().into_iter();
    list.extend(
        physical
            .map(|(handle, size)| (handle as u64, size, "physical memory (listed by its handle)")),
    );
    if list.is_empty() {
        let no_leaks = !LEAKED.load(Ordering::Relaxed);
        return no_leaks.then(|| "all memory was freed".to_owned());
    }
    Some(lines(&list))
}

fn kernel_allocation(one: &Allocation) -> (Pointer, u64, &'static str) {
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
