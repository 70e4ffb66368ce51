//! The whole training set is copied to the device once, and batches are found there.
//!
//! A batch in order is a stretch of the set, which nothing has to move. A shuffled one is gathered
//! by a kernel; what goes over the bus is its list of rows. Batches of another set, as in testing,
//! are copied.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use data::{Batch, Dataset, Epoch};
use gpu::Result;

use super::explicit::Explicit;
use super::{Inputs, Transfer};
use crate::View;
use crate::operations::Operations;

pub(super) struct Resident {
    on: Operations,
    stream: Arc<CudaStream>,
    set: Option<Set>,
    /// Shuffled batches.
    gathered: Inputs,
    /// Batches of other sets.
    others: Explicit,
    /// Where the loaded batch is.
    place: Place,
}

/// A dataset on the device.
struct Set {
    host: Dataset,
    /// `x`, `[N, n0]`, and `y`, `[N, C]`, one-hot.
    device: Inputs,
}

enum Place {
    /// These rows of the set.
    Rows(std::ops::Range<usize>),
    Gathered,
    Copied,
}

impl Resident {
    pub(super) fn new(on: &Operations) -> Result<Self> {
        let stream = Arc::clone(on.stream());
        let (gathered, others) = (Inputs::new(on)?, Explicit::new(on)?);
        Ok(Self { on: on.clone(), stream, set: None, gathered, others, place: Place::Copied })
    }
}

impl Transfer for Resident {
    fn dataset(&mut self, set: &Dataset) -> Result<()> {
        let whole = Epoch::in_order(set.len(), set.len().max(1), false);
        if whole.batches() == 1 {
            let (mut inputs, batch) = (Inputs::new(&self.on)?, whole.batch(set, 0));
            let mut y = vec![0.0; set.len() * set.classes()];
            batch.copy_y(&mut y);
            inputs.fit(&batch)?;
            inputs.write(&self.stream, set.x(), &y)?;
            self.set = Some(Set { host: set.clone(), device: inputs });
        }
        Ok(())
    }

    // ANCHOR: load
    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
        let is_here = |set: &&Set| std::ptr::eq(set.host.x(), batch.dataset().x());
        self.place = match (self.set.as_ref().filter(is_here), batch.contiguous()) {
            (None, _) => {
                self.others.load(batch, None)?;
                Place::Copied
            }
            (Some(_), Some(rows)) => Place::Rows(rows),
            (Some(set), None) => {
                self.gathered.fit(batch)?;
                let rows: Vec<u64> = batch.indices().map(|row| row as u64).collect();
                let rows: CudaSlice<u64> = self.stream.clone_htod(&rows)?;
                let (features, classes) = (set.host.features(), set.host.classes());
                let (x, y) = (&mut self.gathered.x, &mut self.gathered.y);
                self.on.gather_rows(&set.device.x, &rows, x, batch.len(), features)?;
                self.on.gather_rows(&set.device.y, &rows, y, batch.len(), classes)?;
                Place::Gathered
            }
        };
        Ok(())
    }
    // ANCHOR_END: load

    fn x(&self) -> View<'_> {
        match (&self.place, &self.set) {
            (Place::Rows(rows), Some(set)) => {
                let n0 = set.host.features();
                set.device.x.slice(rows.start * n0..rows.end * n0)
            }
            (Place::Gathered, _) => self.gathered.x(),
            _ => self.others.x(),
        }
    }

    fn y(&self) -> View<'_> {
        match (&self.place, &self.set) {
            (Place::Rows(rows), Some(set)) => {
                let classes = set.host.classes();
                set.device.y.slice(rows.start * classes..rows.end * classes)
            }
            (Place::Gathered, _) => self.gathered.y(),
            _ => self.others.y(),
        }
    }
}
