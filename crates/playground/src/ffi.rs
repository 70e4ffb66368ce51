//! The foreign function interface to JavaScript: functions that know nothing but bytes, so that it takes no generated
//! code on either side. The page asks for room, writes its request there, and reads the answer. Before
//! that it may ask for a second module, and say where it has put that one's function.

#![allow(unsafe_code, reason = "a name that is not mangled could clash, and is the only one here")]

use std::cell::RefCell;

use ptx_emulator::fused;

use crate::Playground;

thread_local! {
    static PLAYGROUND: RefCell<Playground> = RefCell::default();
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static FMA: Vec<u8> = fused::module().unwrap_or_default();
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Room for a request of `len` bytes: its address, or 0 where there is not that much memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn room(len: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        if request.try_reserve_exact(len).is_err() {
            return std::ptr::null_mut();
        }
        request.resize(len, 0);
        request.as_mut_ptr()
    })
}

/// Carries out the request that was written: the address of the answer, in UTF-8. It stays until the
/// next request.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn answer() -> *const u8 {
    let request = REQUEST.with_borrow_mut(std::mem::take);
    let request = String::from_utf8_lossy(&request);
    let answer = PLAYGROUND.with_borrow_mut(|playground| playground.answer(&request));
    ANSWER.with_borrow_mut(|kept| {
        *kept = answer;
        kept.as_ptr()
    })
}

/// The bytes of the answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn answer_len() -> usize {
    ANSWER.with_borrow(String::len)
}

/// The second module, for browsers that take it: the bytes are where the answers are. Its function `fma`
/// belongs into the first one's table, at [`fma_slot`]; then [`use_fma`] is to be called.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fma_module() -> *const u8 {
    FMA.with(|module| module.as_ptr())
}

/// How many they are; none where there is no such module.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fma_module_len() -> usize {
    FMA.with(Vec::len)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fma_slot() -> usize {
    fused::slot()
}

/// Whether that function is used from now on: where the browser rounds twice, it is not.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn use_fma() -> bool {
    fused::use_slot()
}
