//! The strategy with two buffers: the next batch is copied in a second stream while the kernels compute on
//! this one.
//!
//! Two streams run independently, so events order the operations that have to wait:
//!
//! ```text
//! copies    [ batch 1 ]        [ batch 2 ]        [ batch 3 ]
//!                     \copied /           \copied /
//! kernels              [ step on batch 1 ] [ step on batch 2 ] …
//! ```
//!
//! A step waits until its batch is copied; a copy waits until the step that used its buffer is done.
#![allow(unsafe_code, reason = "cudarc would order the streams by itself")]

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream};
use data::{Batch, Dataset};

use super::pinned::Staging;
use super::{Inputs, Transfer};
use crate::{Launcher, Result, View};

pub(super) struct DoubleBuffered {
    /// The kernels' stream.
    compute: Arc<CudaStream>,
    /// The copies' stream.
    copies: Arc<CudaStream>,
    /// Two slots: one with the batch that is computed on, one for the batch that is being copied.
    slots: [Slot; 2],
    /// The index of the slot that is computed on.
    current: usize,
}

impl DoubleBuffered {
    pub(super) fn new(on: &Launcher) -> Result<Self> {
        // A second handle of the same context, used only for this stream, so that event tracking can be switched off
        // without affecting the caller's handle.
        let context = CudaContext::new(on.stream.context().ordinal())?;
        // SAFETY: with event tracking off, cudarc does not order streams. Only the slots are used in
        // both streams, and this file orders their uses.
        unsafe { context.disable_event_tracking() };
        let copies = context.new_stream()?;
        let slots = [Slot::new(on)?, Slot::new(on)?];
        Ok(Self { compute: Arc::clone(&on.stream), copies, slots, current: 0 })
    }
}

impl Transfer for DoubleBuffered {
    // ANCHOR: load
    fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()> {
        // All kernels launched so far use the current slot.
        self.slots[self.current].used.record(&self.compute)?;
        self.current = 1 - self.current;
        let [first, second] = &mut self.slots;
        let (slot, other) = if self.current == 0 { (first, second) } else { (second, first) };
        if !slot.holds(batch) {
            slot.start(batch, &self.copies, &self.compute)?;
        }
        self.compute.wait(&slot.staging.copied)?;
        match next {
            Some(next) => other.start(next, &self.copies, &self.compute),
            None => Ok(()),
        }
    }
    // ANCHOR_END: load

    fn views(&self) -> [View<'_>; 2] {
        self.slots[self.current].inputs.views()
    }
}

impl Drop for DoubleBuffered {
    fn drop(&mut self) {
        // A batch may still be being copied to memory that the other stream is about to free. Errors are ignored,
        // because `drop` can't report them.
        let _ = self.copies.synchronize();
    }
}

/// One of the two buffers, with its events.
struct Slot {
    staging: Staging,
    inputs: Inputs,
    /// Recorded after the kernels that use the slot.
    used: CudaEvent,
    /// The data set and the rows that were copied into the slot.
    held: Option<(Dataset, Vec<usize>)>,
}

impl Slot {
    fn new(on: &Launcher) -> Result<Self> {
        Ok(Self {
            staging: Staging::new(&on.stream)?,
            inputs: Inputs::new(on)?,
            used: on.stream.record_event(None)?,
            held: None,
        })
    }

    fn holds(&self, batch: &Batch<'_>) -> bool {
        self.held.as_ref().is_some_and(|(set, rows)| {
            std::ptr::eq(set.x(), batch.dataset().x()) && batch.indices().eq(rows.iter().copied())
        })
    }

    // ANCHOR: start
    /// Starts to copy a batch into the slot.
    fn start(
        &mut self,
        batch: &Batch<'_>,
        copies: &Arc<CudaStream>,
        compute: &Arc<CudaStream>,
    ) -> Result<()> {
        self.held = None;
        if !self.inputs.fits(batch) {
            // Memory is freed and allocated in the order of the kernels' stream, so copies have to wait
            // until that stream has reached this point.
            copies.synchronize()?;
            self.inputs.fit(batch)?;
            self.used.record(compute)?;
        }
        self.inputs.fit(batch)?;
        self.staging.fill(batch)?;
        copies.wait(&self.used)?;
        self.staging.copy(copies, &mut self.inputs)?;
        self.held = Some((batch.dataset().clone(), batch.indices().collect()));
        Ok(())
    }
    // ANCHOR_END: start
}
