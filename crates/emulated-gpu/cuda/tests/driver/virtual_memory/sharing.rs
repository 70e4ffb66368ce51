//! Adjacent mappings, concurrent threads, and other processes.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use emulated_gpu_test_support::ptx::entry;

use super::{
    DESCRIPTOR, MIB2, PLAIN, Properties, attribute, create, create_as, fill, map, mapped, release,
    reserve, set_access, start, unmap, unmap_and_free,
};
use crate::support::*;

/// Writes 32 bytes to the address in its parameter with one asynchronous bulk copy from shared memory.
fn bulk() -> String {
    let header = ".version 8.0\n.target sm_90\n.address_size 64\n".to_owned();
    let copy = ".shared .align 16 .b8 s[32]; st.shared.u64 [s], 1; st.shared.u64 [s+8], 2;
        st.shared.u64 [s+16], 3; st.shared.u64 [s+24], 4; fence.proxy.async;
        cp.async.bulk.global.shared::cta.bulk_group [%p0], [s], 32;
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;";
    header + &entry("bulk", 1, copy)
}

#[test]
fn adjacent_mappings_form_one_range() {
    if !is_child() {
        run_child!(&[("EMULATED_GPU_CHECKS", "all")]);
        run_child!(&[("EMULATED_GPU_CHECKS", "memory")]);
        return;
    }
    if start().is_none() {
        return;
    }
    let increment = function(module(INCREMENT), "increment");
    let bulk = function(module(&bulk()), "bulk");
    let (address, alias) = (reserve(3 * MIB2), reserve(2 * MIB2));
    let handles = [create(MIB2), create(MIB2), create(MIB2)];
    for (index, handle) in handles.iter().enumerate() {
        assert_eq!(map(address + (index * MIB2) as u64, MIB2, *handle), 0);
    }
    // Maps the second and the first piece again, in reverse order.
    assert_eq!((map(alias, MIB2, handles[1]), map(alias + MIB2 as u64, MIB2, handles[0])), (0, 0));
    assert_eq!((set_access(address, 3 * MIB2, 3), set_access(alias, 2 * MIB2, 3)), (0, 0));
    let border = address + MIB2 as u64;
    // A range that begins in the first piece, contains the second and ends in the third is written by one fill and read
    // by a kernel.
    let words = MIB2 / 4 + 16;
    assert_eq!(fill(border - 32, 5, words), 0);
    assert_eq!(
        launch(increment, (words.div_ceil(256) as u32, 256), 0, &[border - 32, words as u64]),
        0
    );
    ok!(cuCtxSynchronize());
    assert_eq!(read(border - 32, words), vec![6; words]);
    // Writes through the other addresses; the changes are visible at the first ones.
    assert_eq!(launch(increment, (1, 8), 0, &[alias + 2 * MIB2 as u64 - 32, 8]), 0);
    assert_eq!(launch(increment, (1, 8), 0, &[alias, 8]), 0);
    ok!(cuCtxSynchronize());
    assert_eq!(read(border - 32, 17), [vec![7; 16], vec![6]].concat());
    // A bulk copy writes across the border between two pieces, to memory that was never written.
    let border = border + MIB2 as u64;
    let fresh = border + 4096 - 16;
    assert_eq!(launch(bulk, (1, 1), 0, &[border - 16]), 0);
    assert_eq!(launch(bulk, (1, 1), 0, &[fresh]), 0);
    ok!(cuCtxSynchronize());
    assert_eq!(launch(increment, (1, 8), 0, &[border - 16, 8]), 0);
    assert_eq!(launch(increment, (1, 8), 0, &[fresh, 8]), 0);
    ok!(cuCtxSynchronize());
    assert_eq!(read(border - 16, 8), [2, 1, 3, 1, 4, 1, 5, 1]);
    // A copy within the range, across both borders.
    ok!(cuMemcpyDtoD_v2(address, border - 64 - MIB2 as u64, 2 * MIB2 => usize));
    assert_eq!(read(address + MIB2 as u64 + 48, 8), [2, 1, 3, 1, 4, 1, 5, 1]);
    // The initialisation of memory is tracked across its addresses.
    if std::env::var("EMULATED_GPU_CHECKS").is_ok_and(|checks| checks == "all") {
        let unwritten = create(MIB2);
        let (one, two) = (reserve(MIB2), reserve(MIB2));
        for address in [one, two] {
            assert_eq!((map(address, MIB2, unwritten), set_access(address, MIB2, 3)), (0, 0));
        }
        assert_eq!(fill(one, 1, 4), 0);
        assert_eq!(launch(increment, (1, 4), 0, &[two, 4]), 0);
        ok!(cuCtxSynchronize());
        assert_eq!(launch(increment, (1, 5), 0, &[two, 5]), 0);
        returns!(code::LAUNCH_FAILED, cuCtxSynchronize());
    }
}

/// A host function that signals when it begins, and waits for permission to end.
#[derive(Default)]
struct Handshake {
    begun: AtomicBool,
    open: AtomicBool,
}

unsafe extern "C" fn wait_for_permission(handshake: *mut c_void) {
    // SAFETY: the test never frees the handshake.
    let handshake = unsafe { &*handshake.cast::<Handshake>() };
    handshake.begun.store(true, Ordering::SeqCst);
    while !handshake.open.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn unmapping_waits_for_running_work() {
    let Some(context) = start() else { return };
    let (stream, address) = (stream(1), mapped(MIB2));
    // A host function may use memory until it returns, so unmapping waits for it.
    let handshake: &'static Handshake = Box::leak(Box::default());
    let data = std::ptr::from_ref(handshake).cast_mut().cast::<c_void>();
    ok!(cuLaunchHostFunc(stream, wait_for_permission => unsafe extern "C" fn(*mut c_void), data));
    while !handshake.begun.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let unmapping = std::thread::spawn(move || unmap(address, MIB2));
    std::thread::sleep(Duration::from_millis(200));
    let early = unmapping.is_finished();
    handshake.open.store(true, Ordering::SeqCst);
    assert_eq!((unmapping.join().unwrap(), early), (0, false));
    ok!(cuStreamSynchronize(stream));
    ok!(cuMemAddressFree(address, MIB2));
    ok!(cuCtxDestroy_v2(context));
}

fn export(handle: usize, kind: i32) -> (u32, i32) {
    let mut descriptor = -1;
    let code = cu!(cuMemExportToShareableHandle(
        &raw mut descriptor => *mut i32, handle => usize, kind => i32, 0 => u64
    ));
    (code, descriptor)
}

fn import(descriptor: usize, kind: i32) -> (u32, usize) {
    let mut handle = 0;
    let code = cu!(cuMemImportFromShareableHandle(&raw mut handle, descriptor, kind => i32));
    (code, handle)
}

#[test]
fn a_file_descriptor_shares_memory_with_another_process() {
    if start().is_none() {
        return;
    }
    assert_eq!(attribute(103), 1);
    let address = reserve(MIB2);
    let open = |handle: usize| {
        assert_eq!((map(address, MIB2, handle), set_access(address, MIB2, 3)), (0, 0));
    };
    if is_child() {
        let before = free_memory();
        let descriptor = std::env::var("DESCRIPTOR").unwrap().parse().unwrap();
        let (code, handle) = import(descriptor, DESCRIPTOR);
        assert_eq!(code, 0);
        assert_eq!(free_memory(), before, "memory counts in the process that created it");
        // SAFETY: the descriptor belongs to the program, and is not used any more.
        assert_eq!(unsafe { libc::close(descriptor as i32) }, 0);
        open(handle);
        assert_eq!(read(address, 3), [1, 2, 3]);
        assert_eq!(fill(address, 9, 2), 0);
        ok!(cuCtxSynchronize());
        // The end of this process doesn't affect the parent's memory.
        return;
    }
    let shared = Properties { handle_types: DESCRIPTOR, ..PLAIN };
    let (code, handle) = create_as(MIB2, shared);
    assert_eq!(code, 0);
    let mut properties = PLAIN;
    ok!(cuMemGetAllocationPropertiesFromHandle(&raw mut properties => *mut Properties, handle));
    assert_eq!(properties, shared);
    open(handle);
    let numbers = [1u32, 2, 3];
    ok!(cuMemcpyHtoD_v2(address, numbers.as_ptr(), 12usize));
    let (code, descriptor) = export(handle, DESCRIPTOR);
    assert_eq!(code, 0);
    // SAFETY: the call duplicates an open descriptor, so that child processes inherit it.
    let inherited = unsafe { libc::dup(descriptor) };
    run_child!(&[("DESCRIPTOR", &inherited.to_string())]);
    assert_eq!(read(address, 3), [9, 9, 3]);
    // If memory is imported into the process that exported it, it is the same memory.
    let (code, same) = import(descriptor as usize, DESCRIPTOR);
    assert_eq!((code, same), (0, handle));
    for descriptor in [descriptor, inherited] {
        // SAFETY: both descriptors belong to this test.
        assert_eq!(unsafe { libc::close(descriptor) }, 0);
    }
    assert_eq!((release(handle), read(address, 1), release(handle)), (0, vec![9], 0));
    // Descriptors that don't refer to exported memory.
    let wrong = code::INVALID_VALUE;
    let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&file);
    for descriptor in [number as usize, usize::MAX, 1 << 20] {
        assert_eq!(import(descriptor, DESCRIPTOR).0, wrong);
    }
    // Makes a memory file with the right name but without a seal, so that another process could truncate it.
    let name = c"emulated-gpu memory of device 0";
    // SAFETY: the name ends in NUL; the file belongs to this test.
    let open = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_ALLOW_SEALING) };
    // SAFETY: as above.
    assert_eq!(unsafe { libc::ftruncate(open, MIB2 as i64) }, 0);
    assert_eq!(import(open as usize, DESCRIPTOR).0, wrong);
    // SAFETY: as above.
    assert_eq!(unsafe { libc::close(open) }, 0);
    assert_eq!(import(0, 8).0, code::NOT_SUPPORTED);
    assert_eq!(import(0, 3).0, wrong);
    let private = create(MIB2);
    assert_eq!(export(private, DESCRIPTOR).0, wrong);
    assert_eq!(release(private), 0);
    unmap_and_free(address, MIB2);
}
