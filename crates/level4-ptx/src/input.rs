//! How batches get to the device: the training set is copied there once, and a batch that goes
//! through it in order is a stretch of it. Any other batch, shuffled or of another set, is copied.

use std::ops::Range;

use data::{Batch, Dataset};
use gpu::transfer::{Explicit, OnDevice, Transfer};
use gpu::{Launcher, Result, View};

/// `x`, `[B, n0]`, and `y`, `[B, C]`, one-hot.
pub(crate) struct Input {
    on: Launcher,
    set: Option<OnDevice>,
    /// Which rows of the set the loaded batch is; none where it was copied.
    rows: Option<Range<usize>>,
    copied: Explicit,
}

/// Samples of the training set, on the device.
pub(crate) struct Found<'a> {
    pub(crate) x: View<'a>,
    pub(crate) y: View<'a>,
    /// Rows of `x` and of `y`.
    pub(crate) rows: usize,
    /// Which of the rows each sample is; none where the rows are the samples, in their order.
    pub(crate) order: Option<Vec<u32>>,
}

impl Input {
    pub(crate) fn new(on: &Launcher) -> Result<Self> {
        Ok(Self { on: on.clone(), set: None, rows: None, copied: Explicit::new(on)? })
    }

    /// Copies the set to the device. What was loaded before is gone.
    pub(crate) fn dataset(&mut self, set: &Dataset) -> Result<()> {
        // Rows of the set that was there before may not be rows of this one.
        self.rows = None;
        self.set = OnDevice::new(&self.on, set)?;
        Ok(())
    }

    /// Finds a batch on the device, or brings it there.
    pub(crate) fn load(&mut self, batch: &Batch<'_>) -> Result<()> {
        let is_here = self.set.as_ref().is_some_and(|set| set.is_of(batch));
        self.rows = batch.contiguous().filter(|_| is_here);
        if self.rows.is_none() {
            self.copied.load(batch, None)?;
        }
        Ok(())
    }

    /// Finds the samples of several batches on the device; none where one is not of the training set.
    pub(crate) fn find(&self, batches: &[Batch<'_>]) -> Option<Found<'_>> {
        let set = self.set.as_ref()?;
        if !batches.iter().all(|batch| set.is_of(batch)) {
            return None;
        }
        let rows: Vec<usize> = batches.iter().flat_map(Batch::indices).collect();
        let start = *rows.first()?;
        let in_order = start..start + rows.len();
        if rows.iter().copied().eq(in_order.clone()) {
            let (x, y) = (set.x(&in_order), set.y(&in_order));
            return Some(Found { x, y, rows: rows.len(), order: None });
        }
        let (all, order) = (0..set.host().len(), rows.into_iter().map(|row| row as u32).collect());
        Some(Found { x: set.x(&all), y: set.y(&all), rows: all.end, order: Some(order) })
    }

    /// `x`, `[B, n0]`.
    pub(crate) fn x(&self) -> View<'_> {
        match (&self.rows, &self.set) {
            (Some(rows), Some(set)) => set.x(rows),
            _ => self.copied.x(),
        }
    }

    /// `y`, `[B, C]`.
    pub(crate) fn y(&self) -> View<'_> {
        match (&self.rows, &self.set) {
            (Some(rows), Some(set)) => set.y(rows),
            _ => self.copied.y(),
        }
    }
}
