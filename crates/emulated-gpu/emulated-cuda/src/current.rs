//! What is the calling thread's: its context, and the streams that it names by numbers.

use std::cell::RefCell;
use std::sync::Arc;

use crate::abi::Handle;
use crate::context::Context;
use crate::driver::driver;
use crate::error::{Code, Result};
use crate::ffi;
use crate::green::Green;
use crate::stream::Stream;

thread_local! {
    static STACK: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// The handle of the calling thread's context, or 0.
pub(crate) fn handle() -> Handle {
    STACK.with_borrow(|stack| stack.last().copied().unwrap_or(0))
}

/// The calling thread's context, usable or not.
///
/// # Errors
/// `INVALID_CONTEXT` when there is none, `CONTEXT_IS_DESTROYED`.
pub(crate) fn context_of_any_state() -> Result<Arc<Context>> {
    let handle = handle();
    if handle == 0 {
        return Err(Code::INVALID_CONTEXT
            .because("this thread has no context; call cuCtxSetCurrent with one"));
    }
    driver()?.contexts.get(handle).ok_or_else(|| Code::CONTEXT_IS_DESTROYED.into())
}

/// The calling thread's context.
///
/// # Errors
/// `INVALID_CONTEXT` when there is none, and the error that ended it.
pub(crate) fn context() -> Result<Arc<Context>> {
    let context = context_of_any_state()?;
    context.check()?;
    Ok(context)
}

/// Replaces the top of the calling thread's stack; 0 takes it away.
pub(crate) fn set(handle: Handle) {
    STACK.with_borrow_mut(|stack| {
        stack.pop();
        if handle != 0 {
            stack.push(handle);
        }
    });
}

pub(crate) fn push(handle: Handle) {
    STACK.with_borrow_mut(|stack| stack.push(handle));
}

pub(crate) fn pop() -> Option<Handle> {
    STACK.with_borrow_mut(Vec::pop)
}

/// The green context that is the calling thread's.
///
/// # Errors
/// Before `cuInit`.
pub(crate) fn green() -> Result<Option<Arc<Green>>> {
    Ok(driver()?.green_of_context(handle()))
}

/// The stream of a handle: 0 is a default stream, 1 the legacy one, 2 that of the thread.
///
/// # Errors
/// `INVALID_HANDLE`, `INVALID_CONTEXT`, `STREAM_DETACHED`, and the error that ended its context.
pub(crate) fn stream(handle: Handle) -> Result<Arc<Stream>> {
    let driver = driver()?;
    let stream = match handle {
        0 if ffi::is_per_thread() => driver.streams_of(&*context()?)?.of_thread(),
        0 | 1 => driver.streams_of(&*context()?)?.null(),
        2 => driver.streams_of(&*context()?)?.of_thread(),
        _ => driver.stream(handle)?,
    };
    stream.context.check()?;
    if let Some(green) = stream.green.get() {
        green.check()?;
    }
    Ok(stream)
}
