//! Five ways to copy batches to the device. Each keeps `x` and `y` in the device's memory, so that the kernels don't
//! depend on the strategy.

use std::fmt;
use std::sync::Arc;

use clap::ValueEnum;
use cudarc::driver::CudaStream;
use data::{Batch, Dataset};

use crate::memory::{buffer, grow};
use crate::{Buffer, Gpu, Launcher, Result, View};

mod double_buffered;
mod explicit;
mod fixed;
mod pinned;
mod resident;
mod unified;

use double_buffered::DoubleBuffered;
use explicit::Explicit;
pub use fixed::Fixed;
use pinned::Pinned;
pub use resident::{Resident, SamplesOnDevice};
use unified::Unified;

/// How batches are copied to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Strategy {
    /// Each batch is copied from ordinary memory.
    #[default]
    Explicit,
    /// Each batch is copied from pinned memory, which the operating system can't move.
    Pinned,
    /// Host and device share memory; its pages are prefetched to the device.
    Unified,
    /// The next batch is copied in a second stream while this one is being computed.
    DoubleBuffered,
    /// The whole training set is copied once.
    Resident,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Self; 5] =
        [Self::Explicit, Self::Pinned, Self::Unified, Self::DoubleBuffered, Self::Resident];

    /// Prepares this strategy on a GPU.
    ///
    /// # Errors
    /// If its kernel can't be loaded; the driver's error.
    pub fn start(self, gpu: &Gpu, on: &Launcher) -> Result<Box<dyn Transfer>> {
        Ok(match self {
            Self::Explicit => Box::new(Explicit::new(on)?),
            Self::Pinned => Box::new(Pinned::new(on)?),
            Self::Unified => Box::new(Unified::new(&on.stream)?),
            Self::DoubleBuffered => Box::new(DoubleBuffered::new(on)?),
            Self::Resident => Box::new(Resident::new(gpu, on)?),
        })
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        host::write_value(self, f)
    }
}

/// Copies batches to the device.
pub trait Transfer {
    /// Hands the training set to the strategy, before training. Afterwards, no batch is loaded.
    ///
    /// # Errors
    /// The driver's error.
    fn dataset(&mut self, _set: &Dataset) -> Result<()> {
        Ok(())
    }

    /// Loads a batch, which replaces the previous one. `next` is the batch after it.
    ///
    /// # Errors
    /// The driver's error.
    fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()>;

    /// `x`, `[B, n0]`, and `y`, `[B, C]`, one-hot, of the loaded batch.
    fn views(&self) -> [View<'_>; 2];

    /// `x` of the loaded batch.
    fn x(&self) -> View<'_> {
        let [x, _] = self.views();
        x
    }

    /// `y` of the loaded batch.
    fn y(&self) -> View<'_> {
        let [_, y] = self.views();
        y
    }
}

/// `x` and `y` of a batch in the device's memory, in buffers that may be larger than needed.
struct Inputs {
    /// The kernels' stream, in which the memory is allocated, and the profiler.
    on: Launcher,
    x: Buffer,
    y: Buffer,
    /// The number of the batch's elements in `x`, and in `y`.
    len: (usize, usize),
}

impl Inputs {
    fn new(on: &Launcher) -> Result<Self> {
        let (x, y) = (buffer(&on.stream, 1)?, buffer(&on.stream, 1)?);
        Ok(Self { on: on.clone(), x, y, len: (0, 0) })
    }

    /// Whether a batch fits into the buffers.
    fn fits(&self, batch: &Batch<'_>) -> bool {
        let (x, y) = elements(batch);
        self.x.len() >= x && self.y.len() >= y
    }

    /// Enlarges the buffers if a batch doesn't fit.
    fn fit(&mut self, batch: &Batch<'_>) -> Result<()> {
        let (x, y) = elements(batch);
        grow(&self.on.stream, &mut self.x, x)?;
        grow(&self.on.stream, &mut self.y, y)?;
        self.len = (x, y);
        Ok(())
    }

    /// Starts to copy a batch to the device, in a stream.
    fn write(&mut self, stream: &Arc<CudaStream>, x: &[f32], y: &[f32]) -> Result<()> {
        for (from, to) in [(x, &mut self.x), (y, &mut self.y)] {
            self.on.profiler.copy("to the device", stream, size_of_val(from), || {
                Ok(stream.memcpy_htod(from, to)?)
            })?;
        }
        Ok(())
    }

    fn views(&self) -> [View<'_>; 2] {
        [self.x.slice(..self.len.0), self.y.slice(..self.len.1)]
    }
}

/// The numbers of elements of a batch: `B·n0` in `x`, and `B·C` in `y`.
fn elements(batch: &Batch<'_>) -> (usize, usize) {
    let set = batch.dataset();
    (batch.len() * set.features(), batch.len() * set.classes())
}
