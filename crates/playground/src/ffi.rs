//! The foreign function interface to JavaScript: three functions that know nothing but bytes, so that it takes no generated
//! code on either side. The page asks for room, writes its request there, and reads the answer.

#![allow(unsafe_code, reason = "a name that is not mangled could clash, and is the only one here")]

use std::cell::RefCell;

use crate::Playground;

thread_local! {
    static PLAYGROUND: RefCell<Playground> = RefCell::default();
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Room for a request of `len` bytes: its address, or 0 where there is not so much memory.
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
