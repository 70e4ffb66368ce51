//! The report of memory leaks.

use std::sync::atomic::{AtomicBool, Ordering};

use ptx_emulator::memory::{Allocation, AllocationKind};

use crate::abi::ffi::say;
use crate::abi::{Handle, Pointer};
use crate::context::hardware::Hardware;

/// Whether memory was left in some context.
static LEAKED: AtomicBool = AtomicBool::new(false);

/// Tells what is left in a context that ends, which takes its memory with it.
pub(crate) fn of_context(hardware: &Hardware, context: Handle) {
    let mut list = hardware.allocations.list(Some(context));
    list.extend(hardware.memory().in_heap(context as u64).iter().map(of_kernel));
    if hardware.settings.leaks && !list.is_empty() {
        LEAKED.store(true, Ordering::Relaxed);
        say(&lines(&list));
    }
}

/// Every allocation that is left at the end.
pub(crate) fn at_end(hardware: &Hardware) -> Option<String> {
    let mut list = hardware.allocations.list(None);
    let heap = hardware.memory().leaks().into_iter();
    let heap = heap.filter(|one| one.kind == AllocationKind::Heap);
    list.extend(heap.map(|one| of_kernel(&one)));
    let physical = hardware.handles.list().into_iter();
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
