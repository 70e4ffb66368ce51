//! The strategy that copies the whole training set to the device once.
//!
//! A batch in order is a range of the set and needs no copy. A shuffled batch is gathered
//! by a kernel, so only its list of rows is copied from the host. Batches of another set, as in testing,
//! are copied.
#![allow(unsafe_code, reason = "nothing checks that a kernel has these parameters")]

use std::ops::Range;

use cudarc::driver::CudaSlice;
use data::{Batch, Dataset, Epoch};

use super::explicit::Explicit;
use super::{Inputs, Transfer};
use crate::launch::matrix;
use crate::{Gpu, Launcher, Result, View, kernels};

/// Keeps the training set on the device.
pub struct Resident {
    launcher: Launcher,
    /// The kernel that gathers shuffled batches; if `None`, shuffled batches are copied.
    gather_rows: Option<GatherRows>,
    set: Option<OnDevice>,
    /// Shuffled batches.
    gathered: Inputs,
    /// Copies the batches of other data sets.
    others: Explicit,
    /// The place of the loaded batch: in rows of `set`, in `gathered`, or in `others`.
    place: Place,
}

/// Samples of the training set, on the device.
pub struct SamplesOnDevice<'a> {
    /// `x`, `[rows, n0]`.
    pub x: View<'a>,
    /// `y`, `[rows, C]`, one-hot.
    pub y: View<'a>,
    /// The number of rows of `x` and of `y`.
    pub rows: usize,
    /// The row of each sample; `None` if row `i` is sample `i`.
    pub order: Option<CudaSlice<u32>>,
}

enum Place {
    /// The batch is in these rows of the training set.
    Rows(Range<usize>),
    Gathered,
    Copied,
}

impl Resident {
    pub(super) fn new(gpu: &Gpu, on: &Launcher) -> Result<Self> {
        // SAFETY: the declared parameters are the kernel's, and it stays within the declared elements: a batch only
        // lists rows of its set, which is the table.
        let gather_rows = unsafe { GatherRows::load(on.clone(), |name| gpu.kernel(name)) }?;
        Ok(Self { gather_rows: Some(gather_rows), ..Self::copying(on)? })
    }

    /// The strategy without the gathering kernel: shuffled batches are copied from the host.
    ///
    /// # Errors
    /// The driver's error.
    pub fn copying(on: &Launcher) -> Result<Self> {
        let (gathered, others) = (Inputs::new(on)?, Explicit::new(on)?);
        let (launcher, place) = (on.clone(), Place::Copied);
        Ok(Self { launcher, gather_rows: None, set: None, gathered, others, place })
    }

    /// Finds the samples of several batches on the device; `None` if a batch is not from the training set.
    ///
    /// # Errors
    /// The driver's error.
    pub fn find(&self, batches: &[Batch<'_>]) -> Result<Option<SamplesOnDevice<'_>>> {
        let set = self.set.as_ref().filter(|set| batches.iter().all(|batch| set.is_of(batch)));
        let order: Vec<u32> =
            batches.iter().flat_map(Batch::indices).map(|row| row as u32).collect();
        let (Some(set), Some(&start)) = (set, order.first()) else { return Ok(None) };
        let in_order = start..start + order.len() as u32;
        let (rows, order) = match order.iter().copied().eq(in_order.clone()) {
            true => (in_order.start as usize..in_order.end as usize, None),
            false => (0..set.host.len(), Some(self.launcher.stream.clone_htod(&order)?)),
        };
        let [x, y] = set.views(&rows);
        Ok(Some(SamplesOnDevice { x, y, rows: rows.len(), order }))
    }
}

impl Transfer for Resident {
    fn dataset(&mut self, set: &Dataset) -> Result<()> {
        // The loaded batch may refer to rows of the previous set.
        self.place = Place::Copied;
        self.set = OnDevice::new(&self.launcher, set)?;
        Ok(())
    }

    // ANCHOR: load
    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
        let set = self.set.as_ref().filter(|set| set.is_of(batch));
        self.place = match (set, batch.contiguous(), &self.gather_rows) {
            (Some(_), Some(rows), _) => Place::Rows(rows),
            (Some(set), None, Some(on)) => {
                self.gathered.fit(batch)?;
                let rows: Vec<u64> = batch.indices().map(|row| row as u64).collect();
                let rows: CudaSlice<u64> = self.launcher.stream.clone_htod(&rows)?;
                let (features, classes) = (set.host.features(), set.host.classes());
                let (x, y) = (&mut self.gathered.x, &mut self.gathered.y);
                on.gather(&set.device.x, &rows, x, batch.len(), features)?;
                on.gather(&set.device.y, &rows, y, batch.len(), classes)?;
                Place::Gathered
            }
            _ => {
                self.others.load(batch, None)?;
                Place::Copied
            }
        };
        Ok(())
    }
    // ANCHOR_END: load

    fn views(&self) -> [View<'_>; 2] {
        match (&self.place, &self.set) {
            (Place::Rows(rows), Some(set)) => set.views(rows),
            (Place::Gathered, _) => self.gathered.views(),
            _ => self.others.views(),
        }
    }
}

/// A dataset on the device.
pub(super) struct OnDevice {
    host: Dataset,
    /// `x`, `[N, n0]`, and `y`, `[N, C]`, one-hot.
    device: Inputs,
}

impl OnDevice {
    /// Copies a set to the device; `None` if it is empty.
    fn new(on: &Launcher, set: &Dataset) -> Result<Option<Self>> {
        if set.is_empty() {
            return Ok(None);
        }
        let whole = Epoch::in_order(set.len(), set.len(), false);
        let (mut device, batch) = (Inputs::new(on)?, whole.batch(set, 0));
        let mut y = vec![0.0; set.len() * set.classes()];
        batch.copy_y(&mut y);
        device.fit(&batch)?;
        device.write(&on.stream, set.x(), &y)?;
        Ok(Some(Self { host: set.clone(), device }))
    }

    /// Whether a batch is from the same data set object; another set with equal contents doesn't count.
    fn is_of(&self, batch: &Batch<'_>) -> bool {
        std::ptr::eq(self.host.x(), batch.dataset().x())
    }

    /// `x`, `[rows, n0]`, and `y`, `[rows, C]`, one-hot, of these rows of the set.
    fn views(&self, rows: &Range<usize>) -> [View<'_>; 2] {
        let Self { host, device } = self;
        [(&device.x, host.features()), (&device.y, host.classes())]
            .map(|(of, width)| of.slice(rows.start * width..rows.end * width))
    }
}

kernels! {
    /// The loaded kernel that gathers shuffled batches.
    struct GatherRows(on) {}

    /// `gathered[i, j] = table[rows[i], j]`, where `table` is `[N, n]`, `rows` is `[m]`, each below
    /// `N`, and `gathered` is `[m, n]`.
    gather = "gather_rows"(read table[n], read rows[m]: u64, write gathered[m * n], m: usize, n: usize)
        in matrix(m, n), flops[0];
}
