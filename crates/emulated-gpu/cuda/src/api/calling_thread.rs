//! The calling thread's stack of contexts, and its special stream handles (0, 1 and 2).

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::abi::Handle;
use crate::abi::error::{Code, Result};
use crate::abi::ffi;
use crate::api::driver::driver;
use crate::context::Context;
use crate::green_context::GreenContext;
use crate::stream::Stream;

thread_local! {
    /// The top of the calling thread's stack of contexts, or 0. This variable has no destructor, so it stays valid
    /// until the thread ends.
    static CURRENT_CONTEXT: Cell<Handle> = const { Cell::new(0) };
    /// The calling thread's stack of contexts without its top.
    static LOWER_CONTEXTS: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// The handle of the calling thread's context, or 0.
pub(crate) fn handle() -> Handle {
    CURRENT_CONTEXT.get()
}

/// The calling thread's context, even if it can't be used any more.
///
/// # Errors
/// `INVALID_CONTEXT` if the thread has none, `CONTEXT_IS_DESTROYED` if its context was destroyed.
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
/// `INVALID_CONTEXT` if the thread has none; otherwise the error that made the context unusable.
pub(crate) fn context() -> Result<Arc<Context>> {
    let context = context_of_any_state()?;
    context.check()?;
    Ok(context)
}

/// Replaces the top of the calling thread's stack; 0 pops it.
pub(crate) fn set(handle: Handle) {
    if handle == 0 {
        pop();
    } else {
        CURRENT_CONTEXT.set(handle);
    }
}

/// Pushes a context, whose handle is not 0, onto the calling thread's stack.
pub(crate) fn push(handle: Handle) {
    let before = CURRENT_CONTEXT.replace(handle);
    if before != 0 {
        // An error is ignored: a thread that is exiting has already lost its stack.
        let _ = LOWER_CONTEXTS.try_with(|below| below.borrow_mut().push(before));
    }
}

/// Pops the top of the calling thread's stack.
pub(crate) fn pop() -> Option<Handle> {
    let below = LOWER_CONTEXTS.try_with(|below| below.borrow_mut().pop()).ok().flatten();
    Some(CURRENT_CONTEXT.replace(below.unwrap_or(0))).filter(|top| *top != 0)
}

/// The calling thread's green context, if its current context is one.
///
/// # Errors
/// `NOT_INITIALIZED` if the driver is not initialised.
pub(crate) fn green() -> Result<Option<Arc<GreenContext>>> {
    Ok(driver()?.green_of_context(handle()))
}

/// The stream with this handle: 0 is the default stream, 1 the legacy default stream, 2 the
/// per-thread default stream.
///
/// # Errors
/// `INVALID_HANDLE` if there is no such stream; `INVALID_CONTEXT` for a default stream if the thread has no context;
/// `STREAM_DETACHED` if the stream's green context was destroyed; otherwise the error that made the context unusable.
pub(crate) fn stream(handle: Handle) -> Result<Arc<Stream>> {
    let driver = driver()?;
    let stream = match handle {
        0 if ffi::is_per_thread() => driver.streams_of(&*context()?)?.per_thread(),
        0 | 1 => driver.streams_of(&*context()?)?.null(),
        2 => driver.streams_of(&*context()?)?.per_thread(),
        _ => driver.stream(handle)?,
    };
    stream.context.check()?;
    if let Some(green) = stream.green.get() {
        green.check()?;
    }
    Ok(stream)
}
