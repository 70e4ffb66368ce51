//! How batches get to the device: the training set is copied there once, and a batch that goes
//! through it in order is a stretch of it. Any other batch, shuffled or of another set, is copied.

use cudarc::driver::CudaStream;
use data::{Batch, Dataset, Epoch};
use gpu::{Profiler, Result};

use crate::kernels::Launcher;
use crate::state::buffer;
use crate::{Buffer, View};

/// `x`, `[B, n0]`, and `y`, `[B, C]`, one-hot.
pub(crate) struct Input {
    on: Launcher,
    /// The training set, and its `x` and `y` on the device.
    set: Option<(Dataset, Buffer, Buffer)>,
    /// A batch that was copied.
    x: Buffer,
    y: Buffer,
    /// The same on the host.
    host: (Vec<f32>, Vec<f32>),
    place: Place,
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

/// Where the loaded batch is.
#[derive(Clone, Copy)]
enum Place {
    /// From these elements of the set's `x` and `y` on.
    Set((usize, usize), (usize, usize)),
    /// In the buffers, in so many elements.
    Copied(usize, usize),
}

impl Input {
    pub(crate) fn new(on: &Launcher) -> Result<Self> {
        let (x, y) = (buffer(&on.stream, 1)?, buffer(&on.stream, 1)?);
        let (host, place) = ((Vec::new(), Vec::new()), Place::Copied(0, 0));
        Ok(Self { on: on.clone(), set: None, x, y, host, place })
    }

    /// Copies the set to the device.
    pub(crate) fn dataset(&mut self, set: &Dataset) -> Result<()> {
        if set.is_empty() {
            self.set = None;
            return Ok(());
        }
        let whole = Epoch::in_order(set.len(), set.len(), false);
        let mut targets = vec![0.0; set.len() * set.classes()];
        whole.batch(set, 0).copy_y(&mut targets);
        let mut x = buffer(&self.on.stream, set.x().len())?;
        let mut y = buffer(&self.on.stream, targets.len())?;
        write(&self.on.profiler, &self.on.stream, set.x(), &mut x)?;
        write(&self.on.profiler, &self.on.stream, &targets, &mut y)?;
        self.set = Some((set.clone(), x, y));
        Ok(())
    }

    /// Finds a batch on the device, or brings it there.
    pub(crate) fn load(&mut self, batch: &Batch<'_>) -> Result<()> {
        let set = batch.dataset();
        let (features, classes) = (set.features(), set.classes());
        let is_here = self.set.as_ref().is_some_and(|(own, ..)| std::ptr::eq(own.x(), set.x()));
        if let (true, Some(rows)) = (is_here, batch.contiguous()) {
            let x = (rows.start * features, rows.end * features);
            let y = (rows.start * classes, rows.end * classes);
            self.place = Place::Set(x, y);
            return Ok(());
        }
        let (x, y) = (batch.len() * features, batch.len() * classes);
        self.host.0.resize(x, 0.0);
        self.host.1.resize(y, 0.0);
        batch.copy_x(&mut self.host.0);
        batch.copy_y(&mut self.host.1);
        if self.x.len() < x {
            self.x = buffer(&self.on.stream, x)?;
        }
        if self.y.len() < y {
            self.y = buffer(&self.on.stream, y)?;
        }
        write(&self.on.profiler, &self.on.stream, &self.host.0, &mut self.x)?;
        write(&self.on.profiler, &self.on.stream, &self.host.1, &mut self.y)?;
        self.place = Place::Copied(x, y);
        Ok(())
    }

    /// Finds the samples of several batches on the device; none where one is not of the training set.
    pub(crate) fn find(&self, batches: &[Batch<'_>]) -> Option<Found<'_>> {
        let (set, x, y) = self.set.as_ref()?;
        if batches.iter().any(|batch| !std::ptr::eq(set.x(), batch.dataset().x())) {
            return None;
        }
        let rows: Vec<usize> = batches.iter().flat_map(Batch::indices).collect();
        let (start, count) = (*rows.first()?, rows.len());
        if rows.iter().enumerate().all(|(i, &row)| row == start + i) {
            let part = |each: usize| start * each..(start + count) * each;
            let (x, y) = (x.slice(part(set.features())), y.slice(part(set.classes())));
            return Some(Found { x, y, rows: count, order: None });
        }
        let order = Some(rows.into_iter().map(|row| row as u32).collect());
        Some(Found { x: x.as_view(), y: y.as_view(), rows: set.len(), order })
    }

    /// `x`, `[B, n0]`.
    pub(crate) fn x(&self) -> View<'_> {
        match (self.place, &self.set) {
            (Place::Set((from, to), _), Some((_, x, _))) => x.slice(from..to),
            (Place::Copied(len, _), _) => self.x.slice(..len),
            _ => self.x.slice(..0),
        }
    }

    /// `y`, `[B, C]`.
    pub(crate) fn y(&self) -> View<'_> {
        match (self.place, &self.set) {
            (Place::Set(_, (from, to)), Some((_, _, y))) => y.slice(from..to),
            (Place::Copied(_, len), _) => self.y.slice(..len),
            _ => self.y.slice(..0),
        }
    }
}

fn write(
    profiler: &Profiler,
    stream: &std::sync::Arc<CudaStream>,
    from: &[f32],
    to: &mut Buffer,
) -> Result<()> {
    profiler.copy("to the device", stream, size_of_val(from), || Ok(stream.memcpy_htod(from, to)?))
}
