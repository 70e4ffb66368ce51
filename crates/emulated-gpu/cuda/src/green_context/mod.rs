//! Green contexts. A green context is a primary context that is restricted to some multiprocessors of its device. It
//! shares everything with the primary context except streams.

pub(crate) mod multiprocessors;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::abi::Handle;
use crate::abi::error::{Code, Result};
use crate::abi::green_context::DeviceResource;
use crate::event::Mark;

/// The resources of a green context.
#[derive(Clone, Debug)]
pub(crate) struct ResourceDescriptor {
    pub(crate) device: u32,
    pub(crate) multiprocessors: DeviceResource,
    pub(crate) queues: DeviceResource,
}

/// A green context.
#[derive(Debug)]
pub(crate) struct GreenContext {
    pub(crate) handle: Handle,
    /// The green context's handle as a `CUcontext` (`cuCtxFromGreenCtx`).
    pub(crate) context: Handle,
    pub(crate) resources: ResourceDescriptor,
    /// Marks for which the work of streams created later must wait.
    pub(crate) awaited: Mutex<Vec<Arc<Mark>>>,
    is_destroyed: AtomicBool,
}

impl GreenContext {
    pub(crate) fn new(handle: Handle, context: Handle, resources: ResourceDescriptor) -> Self {
        let is_destroyed = AtomicBool::new(false);
        Self { handle, context, resources, awaited: Mutex::default(), is_destroyed }
    }

    /// Makes the green context accept no more work. Returns false if it already didn't accept any.
    pub(crate) fn end(&self) -> bool {
        !self.is_destroyed.swap(true, Ordering::AcqRel)
    }

    /// Checks that the green context of a stream still exists.
    ///
    /// # Errors
    /// `STREAM_DETACHED` if it was destroyed.
    pub(crate) fn check(&self) -> Result {
        if self.is_destroyed.load(Ordering::Acquire) {
            return Err(Code::STREAM_DETACHED.because("the stream's green context was destroyed"));
        }
        Ok(())
    }

    /// The marks for which streams created now must wait.
    pub(crate) fn awaited_marks(&self) -> Vec<Arc<Mark>> {
        let mut awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        awaited.retain(|mark| mark.passed().is_none());
        awaited.clone()
    }
}
