//! The traits [`Level`], the contract between the training loop and the four levels, and [`MultiStep`].

use data::{Batch, Dataset};
use tensor::{Tensor, TensorName};

use crate::{Parameters, Result};

/// One implementation of the network and of its training step.
///
/// The methods are phases, not operations, because the lower levels fuse several operations. The training loop
/// calls [`set_parameters`](Self::set_parameters) once, and then, for each batch, [`load`](Self::load) and
/// [`step`](Self::step). All methods fail if the device reports an error.
pub trait Level {
    /// Passes the whole training set once, before training, so that a level can keep it on its device. Afterwards, no
    /// batch may be loaded.
    fn dataset(&mut self, set: &Dataset) -> Result<()>;

    /// Loads a batch onto the device. `next` is the following batch, so that its copy can overlap compute. A batch may
    /// have any size, and may come from a set other than the set of [`dataset`](Self::dataset), as in testing.
    fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()>;

    /// Computes `z1 a1 … zL p` of the loaded batch.
    fn forward(&mut self) -> Result<()>;

    /// Computes `dzL dwL dbL … dz1 dw1 db1` after [`forward`](Self::forward).
    fn backward(&mut self) -> Result<()>;

    /// Updates the parameters, `w − lr·dw` and `b − lr·db`, after [`backward`](Self::backward).
    fn update(&mut self, learning_rate: f32) -> Result<()>;

    /// Runs a whole training step: forward, backward, update. Levels that fuse phases override it.
    fn step(&mut self, learning_rate: f32) -> Result<()> {
        self.forward()?;
        self.backward()?;
        self.update(learning_rate)
    }

    /// The loss of the last forward pass, as it is printed. Waits for the device, so the training loop only calls it
    /// when it reports.
    fn loss(&mut self) -> Result<f32>;

    /// Replaces all parameters.
    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()>;

    /// The tensor of that name, row-major, or `None` if this level never materialises it.
    /// `w` and `b` are the current parameters. The `_next` names are never requested.
    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>>;

    /// Lines to print at the end of a command, such as a profile that one of the level's own options requests. `train`
    /// passes the accuracy as text.
    fn report(&mut self, _accuracy: Option<&str>) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

/// A level that can run several training steps in one call. The call fails if the device reports an error.
pub trait MultiStep: Level {
    /// The maximum number of batches for one call of [`steps`](Self::steps). If it is 1, `steps` is never called.
    fn at_once(&self) -> usize;

    /// Trains on each of these batches in turn, as [`load`](Level::load) and [`step`](Level::step) would. Afterwards,
    /// the last batch is loaded.
    fn steps(&mut self, batches: &[Batch<'_>], learning_rate: f32) -> Result<()>;
}
