//! The calling thread's stack of contexts, and the streams that it names by numbers.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::abi::Handle;
use crate::abi::error::{Code, Result};
use crate::abi::ffi;
use crate::api::driver::driver;
use crate::context::Context;
use crate::green_context::Green;
use crate::stream::Stream;

thread_local! {
    /// The top of the stack, or 0. It has no destructor, so that a thread has its context until its end.
    static TOP: Cell<Handle> = const { Cell::new(0) };
    /// What is below the top.
    static BELOW: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// The handle of the calling thread's context, or 0.
pub(crate) fn handle() -> Handle {
    TOP.get()
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
    if handle == 0 {
        pop();
    } else {
        TOP.set(handle);
    }
}

/// Puts a context, whose handle is not 0, on the calling thread's stack.
pub(crate) fn push(handle: Handle) {
    let before = TOP.replace(handle);
    if before != 0 {
        // A thread that exits has no stack any longer.
        let _ = BELOW.try_with(|below| below.borrow_mut().push(before));
    }
}

/// Takes the top of the calling thread's stack away.
pub(crate) fn pop() -> Option<Handle> {
    let below = BELOW.try_with(|below| below.borrow_mut().pop()).ok().flatten();
    Some(TOP.replace(below.unwrap_or(0))).filter(|top| *top != 0)
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
