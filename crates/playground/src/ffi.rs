//! The foreign function interface to JavaScript. Its functions only exchange bytes, so neither side needs generated code:
//! the page allocates a buffer, writes its request into it, and reads the answer. Before that it may load a second module
//! and put that module's `fma` function into the table.

#![allow(
    unsafe_code,
    reason = "exported names are not mangled and could clash; these are the only ones"
)]

use std::cell::RefCell;

use ptx_emulator::fused;

use crate::Playground;

thread_local! {
    static PLAYGROUND: RefCell<Playground> = RefCell::default();
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static FMA: Vec<u8> = fused::module().unwrap_or_default();
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Allocates a buffer for a request of `len` bytes: its address, or 0 if out of memory.
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

/// Answers the request in the buffer. Returns the address of the answer in UTF-8, which is valid until the next request.
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

/// Length of the answer in bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn answer_len() -> usize {
    ANSWER.with_borrow(String::len)
}

/// Address of the second WebAssembly module's bytes. That module uses relaxed SIMD for a fused multiply-add, which not
/// every browser supports. The page puts its function `fma` into this module's table at [`fma_slot`], and then calls
/// [`use_fma`].
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fma_module() -> *const u8 {
    FMA.with(|module| module.as_ptr())
}

/// Length of the second module in bytes; 0 if it is missing.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fma_module_len() -> usize {
    FMA.with(Vec::len)
}

/// Index in the table for the function `fma`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fma_slot() -> usize {
    fused::slot()
}

/// Uses `fma` from now on, unless the browser rounds twice. Returns whether it is used.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn use_fma() -> bool {
    fused::use_slot()
}
