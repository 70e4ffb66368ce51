//! The table of allocations from the host's side: ranges inside and outside of allocations, and the errors for
//! wrong addresses. Every boundary is tested on both sides.

use ptx_emulator::memory::{AllocationKind, Devices, Home, Reach};
use ptx_emulator::{Checks, Emulator, Memory, RunOptions};

/// Runs each test with allocations on the process's heap, and in reserved addresses.
macro_rules! in_both_places {
    ($($name:ident),* $(,)?) => {
        mod heap {
            $(#[test] fn $name() { super::$name(super::RunOptions::default()); })*
        }
        mod reserved {
            $(#[test] fn $name() {
                super::$name(super::RunOptions { reserve_addresses: true, ..Default::default() });
            })*
        }
    };
}

in_both_places! {
    ranges_are_inside_or_outside_of_allocations,
    fills_and_copies_write_the_right_bytes,
    allocations_are_aligned_separated_and_listed,
    only_the_start_of_an_allocation_can_be_freed_and_only_once,
    the_nearest_allocation_is_named,
    initialisation_is_tracked_to_the_byte,
    a_limited_amount_of_freed_memory_is_quarantined,
    memory_is_accessible_from_the_devices_that_it_is_shared_with,
}

/// A device that tracks which bytes have been written.
fn tracking(place: RunOptions) -> Emulator {
    let checks = Checks { initialisation: true, ..Checks::default() };
    Emulator::new(RunOptions { checks, ..place })
}

/// The error for `len` bytes at an address that are not inside one allocation.
fn read_error(memory: &Memory, address: u64, len: usize) -> String {
    memory.read(address, &mut vec![0; len]).unwrap_err().to_string()
}

fn ranges_are_inside_or_outside_of_allocations(place: RunOptions) {
    let emulator = Emulator::new(place);
    let memory = emulator.memory();
    let at = memory.allocate(16, 1).unwrap();
    let mut bytes = [1; 17];
    // New memory is zero.
    memory.read(at, &mut bytes[..16]).unwrap();
    assert_eq!(bytes[..16], [0; 16]);
    for (from, len, inside) in [
        (at, 16, true),
        (at + 15, 1, true),
        (at + 8, 8, true),
        (at, 17, false),
        (at + 1, 16, false),
        (at + 16, 1, false),
        (at - 1, 1, false),
        (at - 1, 2, false),
        (u64::MAX, 2, false),
        (0, 1, false),
        // An empty range is always inside.
        (at + 999, 0, true),
        (0, 0, true),
    ] {
        let bytes = &mut bytes[..len];
        let len = len as u64;
        assert_eq!(memory.read(from, bytes).is_ok(), inside, "read {from:#x} {len}");
        assert_eq!(memory.write(from, bytes).is_ok(), inside, "write {from:#x} {len}");
        assert_eq!(memory.fill(from, &[1], len).is_ok(), inside, "fill {from:#x} {len}");
        assert_eq!(memory.copy(from, at, len).is_ok(), inside && len <= 16, "copy to {from:#x}");
        assert_eq!(memory.copy(at, from, len).is_ok(), inside && len <= 16, "copy from {from:#x}");
        let actual = memory.check_read(from, len, Reach::default()).is_ok();
        assert_eq!(actual, inside, "check_read {from:#x} {len}");
        let actual = memory.check_write(from, len, Reach::default()).is_ok();
        assert_eq!(actual, inside, "check_write {from:#x} {len}");
    }
    assert_eq!(memory.range_of(at), Some((at, 16)));
    assert_eq!(memory.range_of(at + 15), Some((at, 16)));
    assert_eq!((memory.range_of(at - 1), memory.range_of(at + 16)), (None, None));
    // A pattern whose length overflows is also outside.
    memory.fill(at, &[1, 2, 3, 4], u64::MAX / 2).unwrap_err();
}

fn fills_and_copies_write_the_right_bytes(place: RunOptions) {
    let emulator = Emulator::new(place);
    let memory = emulator.memory();
    let at = memory.allocate(12, 1).unwrap();
    let now = || {
        let mut bytes = [0; 12];
        memory.read(at, &mut bytes).unwrap();
        bytes
    };
    memory.fill(at + 1, &[7], 3).unwrap();
    assert_eq!(now(), [0, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
    memory.fill(at + 4, &[1, 2], 2).unwrap();
    memory.fill(at + 8, &[3, 4, 5, 6], 1).unwrap();
    assert_eq!(now(), [0, 7, 7, 7, 1, 2, 1, 2, 3, 4, 5, 6]);
    // Overlapping copies in both directions.
    memory.copy(at + 5, at + 4, 7).unwrap();
    assert_eq!(now(), [0, 7, 7, 7, 1, 1, 2, 1, 2, 3, 4, 5]);
    memory.copy(at, at + 2, 10).unwrap();
    assert_eq!(now(), [7, 7, 1, 1, 2, 1, 2, 3, 4, 5, 4, 5]);
    memory.write(at + 10, &[8, 9]).unwrap();
    assert_eq!(now(), [7, 7, 1, 1, 2, 1, 2, 3, 4, 5, 8, 9]);
}

fn allocations_are_aligned_separated_and_listed(place: RunOptions) {
    let emulator = Emulator::new(place);
    let memory = emulator.memory();
    let mut all = Vec::new();
    for (size, align) in
        [(0, 1), (1, 1), (255, 2), (256, 256), (257, 512), (5000, 4096), (3, 65_536)]
    {
        let at = memory.allocate(size, align).unwrap();
        assert_eq!((at % 256, at % align), (0, 0), "{size} bytes aligned to {align}");
        all.push((at, size));
    }
    all.sort_unstable();
    for pair in all.windows(2) {
        let [(one, size), (other, _)] = pair else { unreachable!() };
        assert!(
            one + size + 256 <= *other,
            "an index that is off by one must not hit another allocation: {all:x?}"
        );
    }
    let listed = |list: Vec<ptx_emulator::memory::Allocation>| {
        list.into_iter().map(|one| (one.address, one.size)).collect::<Vec<_>>()
    };
    assert_eq!(listed(memory.allocations()), all);
    assert_eq!(listed(memory.leaks()), all);
    assert!(
        memory.allocations().iter().all(|allocation| allocation.kind == AllocationKind::Device)
    );
    let (at, _) = all.remove(2);
    memory.free(at).unwrap();
    assert_eq!(listed(memory.allocations()), all);
    for align in [0, 3, 96, 768] {
        assert!(memory.allocate(16, align).is_err(), "{align} is no power of two");
    }
    for size in [u64::MAX, u64::MAX - 256, u64::MAX - 512, i64::MAX as u64] {
        let error = memory.allocate(size, 1).unwrap_err();
        assert!(error.to_string().contains(&size.to_string()), "{error}");
    }
}

fn only_the_start_of_an_allocation_can_be_freed_and_only_once(place: RunOptions) {
    let emulator = Emulator::new(place);
    let memory = emulator.memory();
    let (one, other) = (memory.allocate(64, 1).unwrap(), memory.allocate(64, 1).unwrap());
    for wrong in [0, one - 1, one + 1, one + 64, u64::MAX] {
        let error = memory.free(wrong).unwrap_err().to_string();
        assert!(error.contains(&format!("{wrong:#x}")), "{error}");
    }
    memory.free(one).unwrap();
    memory.free(one).unwrap_err();
    assert_eq!(memory.range_of(other), Some((other, 64)));
    // Freed memory is remembered, and not reused for a while.
    let freed = format!("into an allocation of 64 bytes at {one:#x} that has been freed");
    for (at, words) in
        [(one, format!("it is 0 bytes {freed}")), (one + 63, format!("it is 63 bytes {freed}"))]
    {
        assert!(read_error(memory, at, 1).contains(&words), "{}", read_error(memory, at, 1));
    }
    assert!(
        !read_error(memory, one + 64, 1).contains("freed"),
        "{}",
        read_error(memory, one + 64, 1)
    );
    for _ in 0..100 {
        let next = memory.allocate(64, 1).unwrap();
        assert!(next + 64 <= one || next >= one + 64, "{next:#x} was freed just now");
    }
}

fn the_nearest_allocation_is_named(place: RunOptions) {
    let emulator = Emulator::new(place);
    let memory = emulator.memory();
    assert!(read_error(memory, 4096, 1).contains("there are no allocations"));
    let at = memory.allocate(100, 1).unwrap();
    let what = format!("the allocation of 100 bytes at {at:#x}");
    for (address, len, words) in [
        (at + 100, 1, format!("it is 0 bytes after the end of {what}")),
        (at + 107, 4, format!("it is 7 bytes after the end of {what}")),
        (at + 99, 2, format!("it is 99 bytes into {what}")),
        (at, 101, format!("it is 0 bytes into {what}")),
        (at - 1, 1, format!("it is 1 bytes before {what}")),
        (at - 5, 10, format!("it is 5 bytes before {what}")),
    ] {
        let message = read_error(memory, address, len);
        assert!(message.contains(&words), "{message}, not: {words}");
        assert!(message.starts_with(&format!("{len} bytes at {address:#x}")), "{message}");
    }
    // Between two allocations, the report names the nearer one.
    let mut both = [memory.allocate(10, 1).unwrap(), memory.allocate(10, 1).unwrap()];
    both.sort_unstable();
    let [low, high] = both;
    let middle = low + 10 + (high - (low + 10)) / 2;
    let below = read_error(memory, low + 11, 1);
    assert!(below.contains(&format!("after the end of the allocation of 10 bytes at {low:#x}")));
    let above = read_error(memory, high - 1, 1);
    assert!(above.contains(&format!("before the allocation of 10 bytes at {high:#x}")), "{above}");
    // Other allocations may lie between the two. If both neighbours are equally far away, the
    // report names the lower one.
    if memory
        .allocations()
        .iter()
        .all(|allocation| allocation.address <= low || allocation.address >= high)
    {
        let between = read_error(memory, middle, 1);
        assert!(between.contains(&format!("{low:#x}")), "{between}");
    }
}

fn initialisation_is_tracked_to_the_byte(place: RunOptions) {
    let emulator = tracking(place.clone());
    let memory = emulator.memory();
    let (at, other) = (memory.allocate(16, 1).unwrap(), memory.allocate(16, 1).unwrap());
    let first = |address, len| memory.check_read(address, len, Reach::default()).unwrap();
    assert_eq!((first(at, 16), first(at + 3, 1)), (Some(at), Some(at + 3)));
    memory.write(at, &[1, 2, 3]).unwrap();
    assert_eq!((first(at, 3), first(at, 4), first(at + 1, 2)), (None, Some(at + 3), None));
    memory.fill(at + 4, &[1, 2], 2).unwrap();
    let expected = (None, Some(at + 3), Some(at + 8));
    assert_eq!((first(at + 4, 4), first(at, 16), first(at + 4, 5)), expected);
    memory.check_write(at + 3, 1, Reach::default()).unwrap();
    assert_eq!((first(at, 8), first(at, 16)), (None, Some(at + 8)));
    // A copy also copies which bytes are initialised. Of bytes 6 to 9, the first two have been
    // written.
    memory.copy(other + 1, at + 6, 4).unwrap();
    assert_eq!((first(other, 1), first(other + 1, 2)), (Some(other), None));
    assert_eq!((first(other + 1, 3), first(other + 4, 1)), (Some(other + 3), Some(other + 4)));
    // If the destination was initialised, a copy also makes bytes of it uninitialised.
    memory.write(other, &[0; 16]).unwrap();
    memory.copy(other + 8, at + 7, 2).unwrap();
    assert_eq!((first(other, 9), first(other, 16)), (None, Some(other + 9)));
    assert_eq!(first(other + 10, 6), None);

    // Without the check, nothing is tracked.
    let emulator = Emulator::new(place);
    let at = emulator.memory().allocate(4, 1).unwrap();
    assert_eq!(emulator.memory().check_read(at, 4, Reach::default()).unwrap(), None);
}

fn a_limited_amount_of_freed_memory_is_quarantined(place: RunOptions) {
    const MIB: u64 = 1 << 20;
    let emulator = Emulator::new(place);
    let memory = emulator.memory();
    let freed = |address| read_error(memory, address, 1).contains("that has been freed");
    let free_one = |size| {
        let at = memory.allocate(size, 1).unwrap();
        memory.free(at).unwrap();
        at
    };
    // The quarantine's size limit: the newest 64 MiB are kept.
    let old = free_one(40 * MIB);
    let young = free_one(24 * MIB);
    assert!(freed(old) && freed(young));
    let last = free_one(1);
    assert!(!freed(old) && freed(young) && freed(last));
    // The quarantine's count limit: the newest 4096 blocks are kept.
    let first = free_one(1);
    for _ in 0..4095 {
        free_one(1);
    }
    assert!(freed(first));
    free_one(1);
    assert!(!freed(first));
    // Freed memory stays mapped while work runs that may have a pointer to it.
    let kept = memory.with_lease(|| {
        let at = free_one(65 * MIB);
        assert!(freed(at));
        at
    });
    free_one(1);
    assert!(!freed(kept));
}

fn memory_is_accessible_from_the_devices_that_it_is_shared_with(place: RunOptions) {
    let options = RunOptions { memory: Some(1000), ..place };
    let emulator = Emulator::new(options);
    let memory = emulator.memory();
    let own = memory.allocate(800, 1).unwrap();
    let on_second = memory.allocate_at(Home::on(1), 800, 1).unwrap();
    assert!(memory.allocate_at(Home::on(1), 800, 1).is_err(), "each device has 1000 bytes");
    assert_eq!(memory.home(on_second + 799).map(|home| home.device), Some(1));
    assert_eq!(memory.home(on_second + 800), None);
    let from = |device, peers| Reach { device, peers };
    let none = Devices::default();
    let reads = |at: u64, reach: Reach| memory.check_read(at, 800, reach).is_ok();
    assert!(reads(own, from(0, none)) && reads(on_second, from(1, none)));
    assert!(!reads(own, from(1, none)) && !reads(on_second, from(0, none)));
    assert!(reads(on_second, from(0, none.with(1))) && !reads(on_second, from(2, none.with(0))));
    let error = memory.check_write(on_second, 4, from(0, none)).unwrap_err().to_string();
    assert!(error.contains("it is on device 1, but is accessed from device 0"), "{error}");
    // Memory of a pool is not accessible to peers, only to the devices that it is shared with.
    let pooled = memory.allocate_at(Home { to_peers: false, ..Home::on(2) }, 800, 1).unwrap();
    assert!(!reads(pooled, from(0, none.with(2))));
    memory.share(pooled, none.with(0));
    assert!(reads(pooled, from(0, none)) && !reads(pooled, from(1, none)));
    // The host can access all devices' memory, and the host's own memory is accessible from all devices.
    memory.copy(on_second, pooled, 800).unwrap();
    let host = memory.allocate_host(800).unwrap();
    assert!((0..3).all(|device| reads(host, from(device, none))));
    // Freeing returns the memory to its own device.
    memory.free(on_second).unwrap();
    assert!(memory.allocate_at(Home::on(1), 800, 1).is_ok());
    assert!(memory.allocate(800, 1).is_err());
}
