//! Green contexts: each a primary context that has some of its device's multiprocessors. Everything is shared
//! with the primary one, streams apart.

pub(crate) mod multiprocessors;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::abi::Handle;
use crate::abi::error::{Code, Result};
use crate::abi::green_context::DeviceResource;
use crate::event::Mark;

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

    /// What streams wait for that are made now.
    pub(crate) fn awaited(&self) -> Vec<Arc<Mark>> {
        let mut awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        awaited.retain(|mark| mark.passed().is_none());
        awaited.clone()
    }
}
