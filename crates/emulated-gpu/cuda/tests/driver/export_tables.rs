//! Undocumented function tables, as NVIDIA's runtime library uses them: by identifier and index. The tests of
//! `emulated-cudart` run that library itself.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fatbins::fatbin;
use crate::support::*;

const RUNTIME: u128 = 0x6bd5_fb6c_5bf4_e74a_8987_d939_12fd_9df9;
const HOOKS: u128 = 0xa094_798c_2e74_2e74_93f2_0800_200c_0a66;
const STORAGE: u128 = 0xc693_336e_1121_df11_a8c3_68f3_55d8_9593;
const IDENTITY: u128 = 0xd408_2055_bde6_704b_8d34_ba12_3c66_e1f2;
const CHECKS: u128 = 0x263e_8860_7cd2_6143_92f6_bbd5_006d_fa7e;
const UNKNOWN: u128 = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef;

/// The table with this identifier; null if the driver has no such table.
fn table(id: u128) -> *const usize {
    let mut table = std::ptr::dangling::<usize>();
    let id = id.to_be_bytes();
    let code = cu!(cuGetExportTable(&raw mut table, id.as_ptr()));
    assert_eq!(code, if table.is_null() { code::NOT_SUPPORTED } else { 0 });
    table
}

fn word(id: u128, at: usize) -> usize {
    // SAFETY: the tests only read words that the table has.
    unsafe { table(id).add(at).read() }
}

/// Calls an entry of a table, `call!(TABLE[1](value => type))`, and returns the error code.
macro_rules! call {
    ($table:ident[$entry:literal]($($value:expr => $type:ty),* $(,)?)) => {{
        let address = word($table, $entry) as *const c_void;
        // SAFETY: the entry is a function of this type.
        let function: unsafe extern "C" fn($($type),*) -> u32 = unsafe { std::mem::transmute(address) };
        // SAFETY: the arguments match the function.
        unsafe { function($($value),*) }
    }};
}

/// Whether a context is a green context, and the green context's handle.
pub(crate) fn green(context: usize) -> (u32, usize) {
    let (mut answer, mut green) = (9u32, 0usize);
    assert_eq!(
        call!(CHECKS[2](
            context => usize, &raw mut answer => *mut u32, &raw mut green => *mut usize
        )),
        0
    );
    (answer, green)
}

#[test]
fn a_table_begins_with_its_size() {
    for (id, words) in [(RUNTIME, 13), (HOOKS, 7), (IDENTITY, 3), (CHECKS, 4)] {
        assert_eq!(word(id, 0), words * 8);
    }
    // This table has no size and ends with a null word.
    assert_ne!(word(STORAGE, 0), 0);
    assert_eq!(word(STORAGE, 3), 0);
}

#[test]
fn unknown_tables_and_entries_are_reported() {
    if !is_child() {
        let printed = run_child!(&[]);
        for part in [
            "the undocumented table of functions 01234567-89ab-cdef-0123-456789abcdef",
            "entry 9 of the table CUDART_INTERFACE (6bd5fb6c-5bf4-e74a-8987-d93912fd9df9) was called",
        ] {
            assert_eq!(printed.matches(part).count(), 1, "{part}: {printed}");
        }
        return;
    }
    ok!(cuInit(0u32));
    for _ in 0..2 {
        assert!(table(UNKNOWN).is_null());
        assert_eq!(call!(RUNTIME[9]()), code::NOT_SUPPORTED);
    }
    // This table is optional for its callers.
    assert!(table(0xf8cf_f951_2146_8b4e_b9e2_fb46_9e7c_0dd9).is_null());
    let mut table = 0usize;
    let none = std::ptr::null::<u8>();
    returns!(code::INVALID_VALUE, cuGetExportTable(&raw mut table, none));
}

#[test]
fn the_primary_context_handle_exists_before_the_context() {
    in_child!(&[]);
    ok!(cuInit(0u32));
    let (mut announced, mut retained, mut flags, mut active) = (0usize, 0usize, 0u32, 9i32);
    assert_eq!(call!(RUNTIME[2](&raw mut announced => *mut usize, 0 => i32)), 0);
    ok!(cuDevicePrimaryCtxGetState(0 => i32, &raw mut flags, &raw mut active => *mut i32));
    assert_eq!(active, 0);
    ok!(cuCtxSetCurrent(announced));
    returns!(code::CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    ok!(cuDevicePrimaryCtxRetain(&raw mut retained, 0 => i32));
    assert_eq!(retained, announced);
    ok!(cuCtxSynchronize());
    // The versions of these functions from before CUDA 11.
    ok!(cuDevicePrimaryCtxRelease(0 => i32));
    ok!(cuDevicePrimaryCtxReset(0 => i32));
    assert_eq!(call!(RUNTIME[2](&raw mut announced => *mut usize, 1 => i32)), code::INVALID_DEVICE);
}

static DESTROYED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn destroy(_: usize, key: usize, value: usize) {
    // The destructor may call the driver.
    output!(cuDeviceGetCount(-> i32));
    DESTROYED.store(key * 10 + value, Ordering::Relaxed);
}

#[test]
fn values_are_stored_with_contexts() {
    type End = unsafe extern "C" fn(usize, usize, usize);
    let context = context();
    let put = |context: usize, key: usize, value: usize| call!(STORAGE[0](context => usize, key => usize, value => usize, destroy => End));
    let get = |context: usize, key: usize| {
        let mut value = 0usize;
        let code = call!(STORAGE[2](&raw mut value => *mut usize, context => usize, key => usize));
        (code, value)
    };
    assert_eq!(get(context, 4).0, code::INVALID_HANDLE);
    assert_eq!((put(context, 4, 2), put(0, 5, 6)), (0, 0));
    assert_eq!((get(0, 4), get(context, 5)), ((0, 2), (0, 6)));
    assert_eq!(call!(STORAGE[1](context => usize, 5 => usize)), 0);
    assert_eq!(get(context, 5).0, code::INVALID_HANDLE);
    ok!(cuCtxDestroy_v2(context));
    assert_eq!(DESTROYED.load(Ordering::Relaxed), 42);
    assert_eq!(get(context, 4).0, code::INVALID_CONTEXT);
}

#[test]
fn fatbins_are_registered_as_modules() {
    let _context = own_context();
    let image = fatbin(INCREMENT.as_bytes());
    let wrapper = [0x4662_43b1u64 | 1 << 32, image.as_ptr() as u64, 0];
    let mut module = 0usize;
    let null = 0usize;
    assert_eq!(call!(RUNTIME[1](&raw mut module => *mut usize, wrapper.as_ptr() => *const u64)), 0);
    function(module, "increment");
    assert_eq!(call!(RUNTIME[7](module => usize)), 0);
    assert_eq!(call!(RUNTIME[7](module => usize)), code::INVALID_HANDLE);
    let extended = call!(RUNTIME[6](
        &raw mut module => *mut usize, wrapper.as_ptr() => *const u64, null => usize, null => usize,
        0 => u32
    ));
    assert_eq!(extended, 0);
    let bare = call!(RUNTIME[8](
        image.as_ptr() => *const u8, &raw mut module => *mut usize, null => usize, null => usize,
        0 => u32
    ));
    assert_eq!(bare, 0);
    function(module, "increment");
}

#[test]
fn profiler_hooks_are_empty() {
    ok!(cuInit(0u32));
    let mut buffer = std::ptr::null::<u32>();
    let mut words = 0usize;
    for (entry, expected) in [(2, 1024), (6, 14)] {
        let address = word(HOOKS, entry) as *const c_void;
        // SAFETY: the entry is a function of this type, and writes to these two locations.
        unsafe {
            let get_buffer: unsafe extern "C" fn(*mut *const u32, *mut usize) =
                std::mem::transmute(address);
            get_buffer(&raw mut buffer, &raw mut words);
        }
        assert_eq!(words, expected);
        // SAFETY: the buffer has `words` words and is never freed.
        assert!(unsafe { std::slice::from_raw_parts(buffer, words) }.iter().all(|word| *word == 0));
    }
    let (mut answer, mut detail) = (9u32, 0usize);
    assert_eq!(
        call!(CHECKS[2](0 => usize, &raw mut answer => *mut u32, &raw mut detail => *mut usize)),
        0
    );
    assert_eq!((answer, call!(CHECKS[3]())), (0, 0));
}

#[test]
fn the_identity_depends_on_the_question() {
    ok!(cuInit(0u32));
    let identity = |version: u32, seconds: u64| {
        let mut answer = [0u64; 2];
        let asked = call!(IDENTITY[1](
            version => u32, seconds => u64, &raw mut answer => *mut [u64; 2]
        ));
        assert_eq!(asked, 0);
        answer
    };
    assert_eq!(identity(12_090, 1)[0], 0x3341_181c_03cb_675c);
    assert_eq!(identity(12_091, 1)[0], 0x1841_181c_03cb_675c);
    assert_eq!(identity(12_092, 1), identity(12_092, 1));
    assert_ne!(identity(12_092, 1), identity(12_092, 2));
    assert_ne!(identity(12_092, 1), identity(13_052, 1));
    assert_ne!(
        identity(12_092, 1),
        std::thread::spawn(move || identity(12_092, 1)).join().unwrap()
    );
}
