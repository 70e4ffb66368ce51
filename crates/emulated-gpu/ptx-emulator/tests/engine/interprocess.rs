//! Memory that several emulators share, as if they were in different processes.
#![cfg(target_os = "linux")]

use ptx_emulator::memory::{Home, OpenError, Reach, ShareError, SharedMemory, SharedNumbers};
use ptx_emulator::{Checks, Emulator, Memory, RunOptions};

/// The page size of the host's memory in bytes.
const PAGE: u64 = 4096;

/// An emulator whose allocations can be shared between processes; `None` if the host doesn't support that.
fn emulator_that_shares(checks: Checks) -> Option<Emulator> {
    let emulator = emulator_with_reserved_addresses(checks);
    let memory = emulator.memory();
    let probe = memory.allocate(1, 256).unwrap();
    match memory.share_with_processes(probe) {
        Ok(_) => Some(emulator),
        Err(error) => {
            skipped::note(error.to_string());
            None
        }
    }
}

fn emulator_with_reserved_addresses(checks: Checks) -> Emulator {
    Emulator::new(RunOptions { reserve_addresses: true, checks, ..RunOptions::default() })
}

fn bytes(memory: &Memory, address: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    memory.read(address, &mut bytes).unwrap();
    bytes
}

#[test]
fn shared_bytes_are_kept_and_visible_to_both() {
    let Some(one) = emulator_that_shares(Checks::default()) else { return };
    let two = emulator_with_reserved_addresses(Checks::default());
    let (one, two) = (one.memory(), two.memory());
    let sizes = [0u64, 1, 300, 4096, 70_000, 40 << 20, 5];
    let blocks = sizes.map(|size| one.allocate(size, 256).unwrap());
    for (number, (block, size)) in blocks.into_iter().zip(sizes).enumerate() {
        one.fill(block, &[number as u8 + 1], size).unwrap();
    }
    // Only some are shared, but all must keep their contents.
    for number in [6, 0, 2, 5] {
        let (block, size) = (blocks[number], sizes[number]);
        let found = one.share_with_processes(block).unwrap();
        assert_eq!(one.share_with_processes(block + size / 2), Ok(found));
        let opened = two.open_shared(&found, Home::default()).unwrap();
        assert_eq!(bytes(two, opened, size as usize), vec![number as u8 + 1; size as usize]);
        assert!(two.read(opened, &mut vec![0; size as usize + 1]).is_err(), "that is all");
        two.fill(opened, &[0x80 + number as u8], size).unwrap();
        assert_eq!(bytes(one, block, size as usize), vec![0x80 + number as u8; size as usize]);
        one.fill(block, &[number as u8 + 1], size).unwrap();
        assert_eq!(bytes(two, opened, size as usize), vec![number as u8 + 1; size as usize]);
        two.free(opened).unwrap();
    }
    for (number, (block, size)) in blocks.into_iter().zip(sizes).enumerate() {
        assert_eq!(bytes(one, block, size as usize), vec![number as u8 + 1; size as usize]);
        one.free(block).unwrap();
    }
    assert!(two.leaks().is_empty());
}

/// Frees enough memory to evict everything from the quarantine of freed memory.
fn evict_quarantine(memory: &Memory) {
    for _ in 0..3 {
        let large = memory.allocate(40 << 20, 256).unwrap();
        memory.free(large).unwrap();
    }
}

#[test]
fn memory_that_reuses_a_shared_address_is_not_shared() {
    const LEN: usize = 1 << 20;
    let Some(one) = emulator_that_shares(Checks::default()) else { return };
    let two = emulator_with_reserved_addresses(Checks::default());
    let (one, two) = (one.memory(), two.memory());
    let [before, block, after] = [40, LEN as u64, 40].map(|len| one.allocate(len, 256).unwrap());
    for (address, len, byte) in [(before, 40, 1), (block, LEN as u64, 2), (after, 40, 3)] {
        one.fill(address, &[byte], len).unwrap();
    }
    let found = one.share_with_processes(block).unwrap();
    let opened = two.open_shared(&found, Home::default()).unwrap();
    one.free(block).unwrap();
    evict_quarantine(one);
    let expected = Err(OpenError::Freed { process: std::process::id() });
    assert_eq!(two.open_shared(&found, Home::default()), expected);
    let again: Vec<u64> = (0..4).map(|_| one.allocate(LEN as u64, 256).unwrap()).collect();
    assert!(again.contains(&block), "the test wants it at the same place");
    for block in again {
        assert!(bytes(one, block, LEN).iter().all(|&byte| byte == 0));
        one.fill(block, &[9], LEN as u64).unwrap();
    }
    // The memory is zero, except for the pages that are shared with neighbouring allocations, which still
    // belong to the file.
    let whole = PAGE as usize..LEN - PAGE as usize;
    assert!(bytes(two, opened, LEN)[whole].iter().all(|&byte| byte == 0), "it went with the block");
    two.fill(opened + PAGE, &[5], LEN as u64 - 2 * PAGE).unwrap();
    assert_eq!(bytes(one, block, LEN), vec![9; LEN]);
    assert_eq!((bytes(one, before, 40), bytes(one, after, 40)), (vec![1; 40], vec![3; 40]));
}

#[test]
fn shared_memory_counts_as_initialised() {
    let checks = Checks { initialisation: true, ..Checks::default() };
    let Some(emulator) = emulator_that_shares(checks) else { return };
    let memory = emulator.memory();
    let (block, beside) = (memory.allocate(64, 256).unwrap(), memory.allocate(64, 256).unwrap());
    memory.share_with_processes(block).unwrap();
    let first_unwritten = |at| memory.check_read(at, 64, Reach::default()).unwrap();
    assert_eq!((first_unwritten(block), first_unwritten(beside)), (None, Some(beside)));
}

#[test]
fn memory_that_cannot_be_shared_is_an_error() {
    let heap = Emulator::new(RunOptions::default());
    let heap = heap.memory();
    let block = heap.allocate(64, 256).unwrap();
    assert_eq!(heap.share_with_processes(block), Err(ShareError::Unavailable));
    let Some(emulator) = emulator_that_shares(Checks::default()) else { return };
    let memory = emulator.memory();
    let host = memory.allocate_host(64).unwrap();
    for address in [0, 8, host, u64::MAX] {
        assert_eq!(memory.share_with_processes(address), Err(ShareError::NotDevice));
    }
    let block = memory.allocate(64, 256).unwrap();
    assert_eq!(memory.share_with_processes(block + 64), Err(ShareError::NotDevice));
    let found = memory.share_with_processes(block).unwrap();
    let process = std::process::id();
    let missing = Err(OpenError::NoFile { process });
    for wrong in [
        SharedMemory { inode: found.inode + 1, ..found },
        SharedMemory { descriptor: i32::MAX, ..found },
        SharedMemory { descriptor: -1, ..found },
        SharedMemory { offset: u64::MAX, ..found },
        SharedMemory { size: u64::MAX - 5, ..found },
        SharedMemory { size: 1 << 50, ..found },
    ] {
        assert_eq!(memory.open_shared(&wrong, Home::default()), missing, "{wrong:?}");
    }
    // Standard error is not a shared memory file.
    let wrong = SharedMemory { descriptor: 2, ..found };
    assert_eq!(memory.open_shared(&wrong, Home::default()), missing);
    assert!(
        SharedNumbers::open(process, found.descriptor, found.inode).is_none(),
        "of another size"
    );
    let numbers = SharedNumbers::new().unwrap();
    let place = numbers.place().unwrap();
    let same = SharedNumbers::open(process, place.descriptor, place.inode).unwrap();
    numbers.get(1023).store(7, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(same.get(1023).load(std::sync::atomic::Ordering::SeqCst), 7);
}
