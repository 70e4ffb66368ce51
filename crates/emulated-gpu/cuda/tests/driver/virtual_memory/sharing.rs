//! Mappings side by side, threads beside each other, and other processes.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{
    DESCRIPTOR, MIB2, PLAIN, Properties, again, attribute, create, create_as, fill, free_bytes,
    give_back, map, mapped, release, reserve, set_access, start, unmap,
};
use crate::support::{
    INCREMENT, code, cu, function, gives, is_child, launch, module, ok, read, stream,
};

/// Copies the 32 bytes at `from` to `to` by one asynchronous copy, which goes through shared memory.
const BULK: &str = r"
.version 8.0
.target sm_90
.address_size 64
.visible .entry bulk(.param .u64 to)
{
    .reg .b64 %a;
    .shared .align 16 .b8 s[32];
    ld.param.u64 %a, [to];
    st.shared.u64 [s], 1;
    st.shared.u64 [s+8], 2;
    st.shared.u64 [s+16], 3;
    st.shared.u64 [s+24], 4;
    fence.proxy.async;
    cp.async.bulk.global.shared::cta.bulk_group [%a], [s], 32;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    ret;
}
";

#[test]
fn mappings_that_follow_each_other_are_one_range_with_every_check() {
    let test = "mappings_that_follow_each_other_are_one_range_with_every_check";
    if !is_child() {
        again(module_path!(), test, &[("EMULATED_GPU_CHECKS", "all")]);
        again(module_path!(), test, &[("EMULATED_GPU_CHECKS", "memory")]);
        return;
    }
    if start().is_none() {
        return;
    }
    let increment = function(module(INCREMENT), "increment");
    let bulk = function(module(BULK), "bulk");
    let (address, alias) = (reserve(3 * MIB2), reserve(2 * MIB2));
    let handles = [create(MIB2), create(MIB2), create(MIB2)];
    for (index, handle) in handles.iter().enumerate() {
        assert_eq!(map(address + (index * MIB2) as u64, MIB2, *handle), 0);
    }
    // The second and the first one, in the other order.
    assert_eq!((map(alias, MIB2, handles[1]), map(alias + MIB2 as u64, MIB2, handles[0])), (0, 0));
    assert_eq!((set_access(address, 3 * MIB2, 3), set_access(alias, 2 * MIB2, 3)), (0, 0));
    let border = address + MIB2 as u64;
    // From the first through the second to the third, written in one go and read by a kernel.
    let words = MIB2 / 4 + 16;
    assert_eq!(fill(border - 32, 5, words), 0);
    assert_eq!(
        launch(increment, (words.div_ceil(256) as u32, 256), 0, &[border - 32, words as u64]),
        0
    );
    ok!(cuCtxSynchronize());
    assert_eq!(read(border - 32, words), vec![6; words]);
    // By the other addresses: what was written there is written here.
    assert_eq!(launch(increment, (1, 8), 0, &[alias + 2 * MIB2 as u64 - 32, 8]), 0);
    assert_eq!(launch(increment, (1, 8), 0, &[alias, 8]), 0);
    ok!(cuCtxSynchronize());
    assert_eq!(read(border - 32, 17), [vec![7; 16], vec![6]].concat());
    // One copy of a kernel's that goes over the border, onto what nothing has written.
    let border = border + MIB2 as u64;
    let fresh = border + 4096 - 16;
    assert_eq!(launch(bulk, (1, 1), 0, &[border - 16]), 0);
    assert_eq!(launch(bulk, (1, 1), 0, &[fresh]), 0);
    ok!(cuCtxSynchronize());
    assert_eq!(launch(increment, (1, 8), 0, &[border - 16, 8]), 0);
    assert_eq!(launch(increment, (1, 8), 0, &[fresh, 8]), 0);
    ok!(cuCtxSynchronize());
    assert_eq!(read(border - 16, 8), [2, 1, 3, 1, 4, 1, 5, 1]);
    // A copy inside of it, over both borders at once.
    ok!(cuMemcpyDtoD_v2(address => u64, border - 64 - MIB2 as u64 => u64, 2 * MIB2 => usize));
    assert_eq!(read(address + MIB2 as u64 + 48, 8), [2, 1, 3, 1, 4, 1, 5, 1]);
    // What was never written is known by either address.
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
        gives!(code::LAUNCH_FAILED, cuCtxSynchronize());
    }
}

/// A host function that has begun, and may end.
#[derive(Default)]
struct Door {
    begun: AtomicBool,
    open: AtomicBool,
}

unsafe extern "C" fn stand_in(door: *mut c_void) {
    // SAFETY: the test's door is never freed.
    let door = unsafe { &*door.cast::<Door>() };
    door.begun.store(true, Ordering::SeqCst);
    while !door.open.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn work_that_may_have_found_memory_is_waited_for_when_it_is_unmapped() {
    let Some(context) = start() else { return };
    let (stream, address) = (stream(1), mapped(MIB2));
    // A host function holds what it may have found until it returns.
    let door: &'static Door = Box::leak(Box::default());
    let data = std::ptr::from_ref(door).cast_mut().cast::<c_void>();
    ok!(cuLaunchHostFunc(
        stream => usize, stand_in => unsafe extern "C" fn(*mut c_void), data => *mut c_void
    ));
    while !door.begun.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let unmapping = std::thread::spawn(move || unmap(address, MIB2));
    std::thread::sleep(Duration::from_millis(200));
    let early = unmapping.is_finished();
    door.open.store(true, Ordering::SeqCst);
    assert_eq!((unmapping.join().unwrap(), early), (0, false));
    ok!(cuStreamSynchronize(stream => usize));
    ok!(cuMemAddressFree(address => u64, MIB2 => usize));
    ok!(cuCtxDestroy_v2(context => usize));
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
    let code = cu!(cuMemImportFromShareableHandle(
        &raw mut handle => *mut usize, descriptor => usize, kind => i32
    ));
    (code, handle)
}

#[test]
fn a_file_descriptor_carries_memory_to_another_process() {
    let test = "a_file_descriptor_carries_memory_to_another_process";
    if start().is_none() {
        return;
    }
    assert_eq!(attribute(103), 1);
    let address = reserve(MIB2);
    let open = |handle: usize| {
        assert_eq!((map(address, MIB2, handle), set_access(address, MIB2, 3)), (0, 0));
    };
    if is_child() {
        let before = free_bytes();
        let descriptor = std::env::var("DESCRIPTOR").unwrap().parse().unwrap();
        let (code, handle) = import(descriptor, DESCRIPTOR);
        assert_eq!(code, 0);
        assert_eq!(free_bytes(), before, "it counts where it was created");
        // SAFETY: the descriptor stays the program's own, and is used no more.
        assert_eq!(unsafe { libc::close(descriptor as i32) }, 0);
        open(handle);
        assert_eq!(read(address, 3), [1, 2, 3]);
        assert_eq!(fill(address, 9, 2), 0);
        ok!(cuCtxSynchronize());
        // Its end does not matter to the others.
        return;
    }
    let shared = Properties { handle_types: DESCRIPTOR, ..PLAIN };
    let (code, handle) = create_as(MIB2, shared);
    assert_eq!(code, 0);
    let mut properties = PLAIN;
    ok!(cuMemGetAllocationPropertiesFromHandle(
        &raw mut properties => *mut Properties, handle => usize
    ));
    assert_eq!(properties, shared);
    open(handle);
    let numbers = [1u32, 2, 3];
    ok!(cuMemcpyHtoD_v2(address => u64, numbers.as_ptr() => *const u32, 12 => usize));
    let (code, descriptor) = export(handle, DESCRIPTOR);
    assert_eq!(code, 0);
    // SAFETY: a copy of an open descriptor, which programs that are started get.
    let inherited = unsafe { libc::dup(descriptor) };
    again(module_path!(), test, &[("DESCRIPTOR", &inherited.to_string())]);
    assert_eq!(read(address, 3), [9, 9, 3]);
    // Back in the process that it came from, it is the memory that is there.
    let (code, same) = import(descriptor as usize, DESCRIPTOR);
    assert_eq!((code, same), (0, handle));
    for descriptor in [descriptor, inherited] {
        // SAFETY: both are this test's own.
        assert_eq!(unsafe { libc::close(descriptor) }, 0);
    }
    assert_eq!((release(handle), read(address, 1), release(handle)), (0, vec![9], 0));
    // What is no such memory.
    let wrong = code::INVALID_VALUE;
    let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&file);
    for descriptor in [number as usize, usize::MAX, 1 << 20] {
        assert_eq!(import(descriptor, DESCRIPTOR).0, wrong);
    }
    // A file of memory by the right name that anybody may still make shorter.
    let name = c"emulated-gpu memory of device 0";
    // SAFETY: the name ends in NUL; the file is this test's own.
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
    give_back(address, MIB2);
}
