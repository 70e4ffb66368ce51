//! What a level is: the contract between the training loop and the four implementations.

use data::{Batch, Dataset};
use tensor::{Tensor, TensorName};

use crate::ranks::Rank;
use crate::{Parameters, Result};

/// One implementation of the network and of its training step.
///
/// The contract is a phase, not an operation, because fusing across operations is what the lower
/// levels are about. The training loop calls [`set_parameters`](Self::set_parameters) once, and
/// then, for each batch, [`load`](Self::load) and [`step`](Self::step).
pub trait Level {
    /// Tells the level the whole training set once, before training; it may keep it on the device.
    /// A batch that was loaded before may be gone then.
    ///
    /// # Errors
    /// What the device says.
    fn dataset(&mut self, set: &Dataset) -> Result<()>;

    /// Brings a batch to where this level computes. It is told the one after it too, so that
    /// copies can overlap compute. The batch may be of any size, and of another set than
    /// [`dataset`](Self::dataset) told, as when testing.
    ///
    /// # Errors
    /// What the device says.
    fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()>;

    /// Computes `z1 a1 … zL p` of the loaded batch.
    ///
    /// # Errors
    /// What the device says.
    fn forward(&mut self) -> Result<()>;

    /// Computes `dzL dwL dbL … dz1 dw1 db1` after [`forward`](Self::forward).
    ///
    /// # Errors
    /// What the device says.
    fn backward(&mut self) -> Result<()>;

    /// Updates the parameters, `w − lr·dw` and `b − lr·db`, after [`backward`](Self::backward).
    ///
    /// # Errors
    /// What the device says.
    fn update(&mut self, learning_rate: f32) -> Result<()>;

    /// A whole training step: forward, backward, update. Levels that fuse phases override it.
    ///
    /// # Errors
    /// What the device says.
    fn step(&mut self, learning_rate: f32) -> Result<()> {
        self.forward()?;
        self.backward()?;
        self.update(learning_rate)
    }

    /// How many batches the level would take at once, at most, by [`steps`](Self::steps). Where it
    /// is 1, that is never called.
    fn at_once(&self) -> usize {
        1
    }

    /// A training step on each of these batches, one after the other, as by [`load`](Self::load) and
    /// [`step`](Self::step). Afterwards the last of them is the one that is loaded.
    ///
    /// # Errors
    /// What the device says.
    fn steps(&mut self, batches: &[Batch<'_>], learning_rate: f32) -> Result<()> {
        for (k, batch) in batches.iter().enumerate() {
            self.load(batch, batches.get(k + 1))?;
            self.step(learning_rate)?;
        }
        Ok(())
    }

    /// The loss of the last forward pass, as the preset prints it. Waits for the device; the
    /// training loop asks only when it reports.
    ///
    /// # Errors
    /// What the device says.
    fn loss(&mut self) -> Result<f32>;

    /// Replaces all parameters.
    ///
    /// # Errors
    /// What the device says.
    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()>;

    /// The tensor of that name, row-major, or `None` where this level never materialises it.
    /// `w` and `b` are the parameters as they now stand; the `_next` names are never asked for.
    ///
    /// # Errors
    /// What the device says.
    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>>;

    /// Which of several ranks this is, that train together: it is then given its share of every
    /// batch, and gradients and the loss are those of the whole batch.
    fn place(&self) -> Rank {
        Rank::ALONE
    }

    /// Sees that all ranks were started alike: `terms` has a line for each thing that has to be the
    /// same. To be called by all of them, before anything else that they do together.
    ///
    /// # Errors
    /// What differs and on which rank; what the device says.
    fn agree(&mut self, _terms: &[String]) -> Result<()> {
        Ok(())
    }

    /// Whether something holds on any rank. To be called by all of them.
    ///
    /// # Errors
    /// What the device says.
    fn any(&mut self, here: bool) -> Result<bool> {
        Ok(here)
    }

    /// What the level has to say at the end of a command, a line each, such as a profile that one
    /// of its own options asked for.
    ///
    /// # Errors
    /// What the device says.
    fn report(&mut self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}
