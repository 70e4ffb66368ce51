//! [`DataParallel`], the adapter that makes a level one of several ranks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use data::{Batch, Dataset};
use gpu::{Gpu, GpuError};
use tensor::{Header, Tensor, TensorName};
use training::{Error, Level, Parameters, Result, Runner, Terms};

use crate::collectives::Collectives;
use crate::communicator::{Communicator, Id};
use crate::level::DeviceLevel;
use crate::rank::Rank;
use crate::terms;

/// The interval, in batches, at which ranks agree on whether to stop: agreeing waits for the device.
const AGREE_EVERY: usize = 8;

/// The operation that turns the gradients of ranks into the gradients of the whole batch.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    /// The minimum size of a bucket in bytes: gradients are sent as soon as there are enough.
    pub bucket: usize,
    /// Computes the number by which each rank divides its sums. The arguments are the sample counts of the rank's share
    /// and of the whole batch.
    pub divisor: fn(usize, usize) -> usize,
    /// Whether the all-reduce averages the ranks' gradients instead of adding them.
    pub averages: bool,
}

impl Default for Reduction {
    /// Each rank divides its sums by the whole batch's size, and the all-reduce adds them.
    fn default() -> Self {
        Self { bucket: 0, divisor: |_, whole| whole, averages: false }
    }
}

/// Wraps a level to make it one of several ranks. Callers load whole batches; the wrapped level computes this rank's
/// share. The resulting gradients and loss are the gradients and the loss of the whole batch.
pub struct DataParallel<L> {
    // Declared first so that it is dropped first: dropping it waits until all collectives on the level's buffers have
    // finished.
    ranks: Collectives,
    level: L,
    divisor: fn(usize, usize) -> usize,
    /// The number of samples in this rank's share, which may be 0.
    share: usize,
    /// The number of samples in the whole batch; 0 until a batch is loaded.
    whole: usize,
}

/// Loads NCCL, or the emulated NCCL, so that cudarc finds it.
#[allow(unsafe_code, reason = "loading a library runs its initialisers")]
pub(crate) fn install(gpu: &Gpu) -> crate::Result<()> {
    // SAFETY: loading the emulated NCCL has no side effects, and its functions have cudarc's types.
    Ok(unsafe { gpu.install_library("nccl", emulated_nccl::library_path()) }?)
}

impl<L: DeviceLevel> DataParallel<L> {
    /// Joins the communicator with this id, and waits until all ranks have joined.
    pub(crate) fn join(
        mut level: L,
        id: Id,
        place: Rank,
        reduction: Reduction,
    ) -> crate::Result<(Self, Arc<Communicator>)> {
        install(level.gpu())?;
        level.gpu().context().bind_to_thread()?;
        let communicator = Communicator::join(id, place)?;
        let layers: Vec<_> =
            level.layers().iter().map(|layer| [layer.inputs, layer.outputs]).collect();
        let (joined, launcher) = (Arc::clone(&communicator), level.launcher().clone());
        let ranks = Collectives::new(joined, launcher, &layers, reduction)?;
        Ok((Self { ranks, level, divisor: reduction.divisor, share: 0, whole: 0 }, communicator))
    }

    /// The rank that this adapter makes of its level.
    pub const fn rank(&self) -> Rank {
        self.ranks.place()
    }

    /// The level that computes this rank's share.
    pub const fn inner(&mut self) -> &mut L {
        &mut self.level
    }

    /// Fails if no batch is loaded. An empty share of a batch counts as loaded.
    fn is_loaded(&self, operation: &'static str) -> Result<()> {
        if self.whole == 0 {
            return Err(Error::level(GpuError::NoBatch { operation }));
        }
        Ok(())
    }
}

impl<L: DeviceLevel> Level for DataParallel<L> {
    fn dataset(&mut self, set: &Dataset) -> Result<()> {
        self.whole = 0;
        self.level.dataset(set)
    }

    fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()> {
        self.whole = 0;
        let place = self.rank();
        let share = place.share(batch);
        let next = next.map(|next| place.share(next)).filter(|next| !next.is_empty());
        if !share.is_empty() {
            let divisor = (self.divisor)(share.len(), batch.len());
            self.level.load_share(&share, next.as_ref(), divisor)?;
        }
        (self.share, self.whole) = (share.len(), batch.len());
        Ok(())
    }

    fn forward(&mut self) -> Result<()> {
        self.is_loaded("forward")?;
        if self.share == 0 { Ok(()) } else { self.level.forward() }
    }

    fn backward(&mut self) -> Result<()> {
        self.is_loaded("backward")?;
        let Self { ranks, level, .. } = self;
        match self.share {
            0 => Ok(ranks.reduce_nothing(level.layers())?),
            _ => level.backward_with(&mut |l, layers| Ok(ranks.reduce(l, layers)?)),
        }
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        self.level.update(learning_rate)
    }

    fn step(&mut self, learning_rate: f32) -> Result<()> {
        self.is_loaded("step")?;
        let Self { ranks, level, .. } = self;
        if self.share == 0 {
            ranks.reduce_nothing(level.layers())?;
            return level.update(learning_rate);
        }
        level.step_with(learning_rate, &mut |l, layers| Ok(ranks.reduce(l, layers)?))
    }

    fn loss(&mut self) -> Result<f32> {
        self.is_loaded("loss")?;
        let sum = if self.share == 0 { None } else { Some(self.level.loss_sum()?) };
        let sum = self.ranks.sum_of(sum)?;
        Ok(self.level.mean_loss(sum, self.whole))
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        self.level.set_parameters(parameters)
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        if name == TensorName::Loss {
            return Ok(Some(Tensor::scalar(self.loss()?)));
        }
        if self.share == 0 && name.has_a_row_for_each_sample() {
            let shape = self.level.network().shape(name, 0).unwrap_or_default();
            return Tensor::new(shape, Vec::new()).map(Some).map_err(Error::level);
        }
        self.level.tensor(name)
    }

    fn report(&mut self, accuracy: Option<&str>) -> Result<Vec<String>> {
        self.level.report(accuracy)
    }
}

impl<L: DeviceLevel> Runner for DataParallel<L> {
    fn level(&mut self) -> &mut dyn Level {
        self
    }

    fn tester(&mut self) -> Option<&mut dyn Level> {
        if !self.rank().is_first() {
            return None;
        }
        // The tester loads batches of another data set into the level, which replace this rank's batch.
        self.whole = 0;
        Some(&mut self.level)
    }

    fn check_terms(&mut self, terms: &Terms<'_>) -> Result<()> {
        Ok(self.ranks.require_equal_terms(&terms::setting_lines(terms))?)
    }

    fn largest(&mut self, here: f32) -> Result<f32> {
        Ok(self.ranks.largest(here)?)
    }

    fn should_stop(&mut self, batch: usize, requested: bool) -> Result<bool> {
        if !batch.is_multiple_of(AGREE_EVERY) {
            return Ok(false);
        }
        Ok(self.ranks.largest(f32::from(u8::from(requested)))? > 0.0)
    }

    fn world_size(&self) -> Option<usize> {
        Some(self.rank().world_size)
    }

    fn share_of_batch<'a>(&self, batch: &Batch<'a>) -> Batch<'a> {
        self.rank().share(batch)
    }

    fn dump_file(&self, header: &mut Header, out: &Path) -> PathBuf {
        let Rank { rank, world_size } = self.rank();
        (header.rank, header.world_size) = (Some(rank as u64), Some(world_size as u64));
        self.rank().file(out)
    }
}
