//! The whole training set is copied to the device once, and batches are found there.
//!
//! A batch in order is a stretch of the set, which nothing has to move. A shuffled one is gathered
//! by a kernel; what goes over the bus is its list of rows. Batches of another set, as in testing,
//! are copied.
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use std::ops::Range;

use cudarc::driver::{CudaFunction, CudaSlice, PushKernelArg};
use data::{Batch, Dataset, Epoch};

use super::explicit::Explicit;
use super::{Inputs, Transfer};
use crate::launch::matrix;
use crate::{Buffer, Gpu, Launcher, Result, View, Work, size};

pub(super) struct Resident {
    gather_rows: GatherRows,
    set: Option<OnDevice>,
    /// Shuffled batches.
    gathered: Inputs,
    /// Batches of other sets.
    others: Explicit,
    /// Where the loaded batch is.
    found: Found,
}

enum Found {
    /// In these rows of the set.
    Rows(Range<usize>),
    Gathered,
    Copied,
}

impl Resident {
    pub(super) fn new(gpu: &Gpu, on: &Launcher) -> Result<Self> {
        let gather_rows = GatherRows::new(gpu, on)?;
        let (gathered, others) = (Inputs::new(on)?, Explicit::new(on)?);
        Ok(Self { gather_rows, set: None, gathered, others, found: Found::Copied })
    }
}

impl Transfer for Resident {
    fn dataset(&mut self, set: &Dataset) -> Result<()> {
        // Rows of the set that was there before may not be rows of this one.
        self.found = Found::Copied;
        self.set = OnDevice::new(&self.gather_rows.on, set)?;
        Ok(())
    }

    // ANCHOR: load
    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
        let set = self.set.as_ref().filter(|set| set.is_of(batch));
        self.found = match (set, batch.contiguous()) {
            (None, _) => {
                self.others.load(batch, None)?;
                Found::Copied
            }
            (Some(_), Some(rows)) => Found::Rows(rows),
            (Some(set), None) => {
                self.gathered.fit(batch)?;
                let rows: Vec<u64> = batch.indices().map(|row| row as u64).collect();
                let rows: CudaSlice<u64> = self.gather_rows.on.stream.clone_htod(&rows)?;
                let (features, classes) = (set.host.features(), set.host.classes());
                let (x, y) = (&mut self.gathered.x, &mut self.gathered.y);
                self.gather_rows.launch(&set.device.x, &rows, x, batch.len(), features)?;
                self.gather_rows.launch(&set.device.y, &rows, y, batch.len(), classes)?;
                Found::Gathered
            }
        };
        Ok(())
    }
    // ANCHOR_END: load

    fn x(&self) -> View<'_> {
        match (&self.found, &self.set) {
            (Found::Rows(rows), Some(set)) => set.x(rows),
            (Found::Gathered, _) => self.gathered.x(),
            _ => self.others.x(),
        }
    }

    fn y(&self) -> View<'_> {
        match (&self.found, &self.set) {
            (Found::Rows(rows), Some(set)) => set.y(rows),
            (Found::Gathered, _) => self.gathered.y(),
            _ => self.others.y(),
        }
    }
}

/// A dataset on the device.
pub struct OnDevice {
    host: Dataset,
    /// `x`, `[N, n0]`, and `y`, `[N, C]`, one-hot.
    device: Inputs,
}

impl OnDevice {
    /// Copies a set to the device; none where there are no rows.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(on: &Launcher, set: &Dataset) -> Result<Option<Self>> {
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

    /// The same set on the host.
    #[must_use]
    pub const fn host(&self) -> &Dataset {
        &self.host
    }

    /// Whether a batch is of this set, and not only of one that is alike.
    #[must_use]
    pub fn is_of(&self, batch: &Batch<'_>) -> bool {
        std::ptr::eq(self.host.x(), batch.dataset().x())
    }

    /// `x` of these rows of the set, `[rows, n0]`.
    #[must_use]
    pub fn x(&self, rows: &Range<usize>) -> View<'_> {
        let features = self.host.features();
        self.device.x.slice(rows.start * features..rows.end * features)
    }

    /// `y` of these rows, `[rows, C]`, one-hot.
    #[must_use]
    pub fn y(&self, rows: &Range<usize>) -> View<'_> {
        let classes = self.host.classes();
        self.device.y.slice(rows.start * classes..rows.end * classes)
    }
}

/// The kernel `gather_rows`.
struct GatherRows {
    kernel: CudaFunction,
    on: Launcher,
}

impl GatherRows {
    fn new(gpu: &Gpu, on: &Launcher) -> Result<Self> {
        let kernel = on.kernel_of(gpu, "gather_rows", "gather_rows")?;
        Ok(Self { kernel, on: on.clone() })
    }

    /// `gathered[i, j] = table[rows[i], j]`, where `table` is `[N, n]`, `rows` is `[m]`, each below
    /// `N`, and `gathered` is `[m, n]`.
    fn launch(
        &self,
        table: &Buffer,
        rows: &CudaSlice<u64>,
        gathered: &mut Buffer,
        m: usize,
        n: usize,
    ) -> Result<()> {
        let buffers = [
            ("table", table.len(), size([n])),
            ("rows", rows.len(), size([m])),
            ("gathered", gathered.len(), size([m, n])),
        ];
        let work = Work::new("gather_rows", &buffers, size([0]))?;
        let mut launch = self.on.stream.launch_builder(&self.kernel);
        launch.arg(table).arg(rows).arg(gathered).arg(&m).arg(&n);
        // SAFETY: these are the kernel's parameters; a batch lists rows of its own set, which the
        // table holds, and the rest stays within the shapes just checked.
        unsafe { self.on.launch(launch, matrix(m, n), work) }
    }
}
