//! Green contexts: each a primary context that has some of its device's multiprocessors. Everything is shared
//! with the primary one, streams apart.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::abi::Handle;
use crate::abi::green::DeviceResource;
use crate::context;
use crate::driver::driver;
use crate::error::{Code, Result};
use crate::event::Mark;
use crate::stream::Stream;

/// What a green context is made of.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    pub(crate) device: u32,
    pub(crate) multiprocessors: DeviceResource,
    pub(crate) queues: DeviceResource,
}

/// A green context.
#[derive(Debug)]
pub(crate) struct Green {
    pub(crate) handle: Handle,
    /// The handle under which it is a context (`cuCtxFromGreenCtx`).
    pub(crate) context: Handle,
    pub(crate) description: Description,
    /// What the work of streams waits for that are made later.
    pub(crate) awaited: Mutex<Vec<Arc<Mark>>>,
    is_gone: AtomicBool,
}

impl Green {
    pub(crate) fn new(handle: Handle, context: Handle, description: Description) -> Self {
        let is_gone = AtomicBool::new(false);
        Self { handle, context, description, awaited: Mutex::default(), is_gone }
    }

    /// Takes no work any longer; false where it took none before.
    pub(crate) fn end(&self) -> bool {
        !self.is_gone.swap(true, Ordering::AcqRel)
    }

    /// Fails for streams that have outlived it.
    ///
    /// # Errors
    /// `STREAM_DETACHED`
    pub(crate) fn check(&self) -> Result {
        if self.is_gone.load(Ordering::Acquire) {
            return Err(Code::STREAM_DETACHED.because("the stream's green context was destroyed"));
        }
        Ok(())
    }

    /// Its streams.
    ///
    /// # Errors
    /// Before `cuInit`.
    pub(crate) fn streams(self: &Arc<Self>) -> Result<Vec<Arc<Stream>>> {
        let mut streams = driver()?.streams.all();
        streams.retain(|stream| stream.green.get().is_some_and(|green| Arc::ptr_eq(green, self)));
        Ok(streams)
    }

    /// What streams wait for that are made now.
    pub(crate) fn awaited(&self) -> Vec<Arc<Mark>> {
        let mut awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        awaited.retain(|mark| mark.passed().is_none());
        awaited.clone()
    }
}

/// The green context of a handle.
///
/// # Errors
/// `INVALID_CONTEXT`
pub(crate) fn find(handle: Handle) -> Result<Arc<Green>> {
    driver()?.greens.get(handle).ok_or_else(|| {
        Code::INVALID_CONTEXT.because(format!("there is no green context {handle:#x}"))
    })
}

/// The one that stands under a context's handle.
///
/// # Errors
/// Before `cuInit`.
pub(crate) fn of_context(context: Handle) -> Result<Option<Arc<Green>>> {
    Ok(driver()?.greens.all().into_iter().find(|green| green.context == context))
}

/// The one that is the calling thread's context.
///
/// # Errors
/// Before `cuInit`.
pub(crate) fn current() -> Result<Option<Arc<Green>>> {
    of_context(context::current_handle())
}
