//! The trait [`Runner`], through which a command runs its level: a single one, or one of several copies that
//! train together.

use std::path::{Path, PathBuf};

use data::{Batch, Dataset};
use tensor::Header;

use crate::dump::Steps;
use crate::{Level, MultiStep, Parameters, Preset, Result};

/// A level in the form in which commands run it. If several copies of a level train together, each has a runner, and
/// the command calls the same methods of all runners in the same order. Methods documented as "the same for all of
/// them" return the same value in every copy. A single level is run by [`Single`] or [`Multi`]. Methods fail if the
/// device reports an error.
pub trait Runner {
    /// The level, into which whole batches are loaded.
    fn level(&mut self) -> &mut dyn Level;

    /// The level as a [`MultiStep`], if it can run several steps in one call.
    fn multi_step(&mut self) -> Option<&mut dyn MultiStep> {
        None
    }

    /// The level, if this copy tests the network and prints for all copies, otherwise `None`. Afterwards, no batch is
    /// loaded in [`level`](Self::level).
    fn tester(&mut self) -> Option<&mut dyn Level>;

    /// Checks that all copies were started with the same settings. A command calls this before any other
    /// method that compares copies.
    ///
    /// # Errors
    /// If a setting differs; the error names it.
    fn check_terms(&mut self, _terms: &Terms<'_>) -> Result<()> {
        Ok(())
    }

    /// The maximum over all copies of the number `here`: the same for all of them.
    fn largest(&mut self, here: f32) -> Result<f32> {
        Ok(here)
    }

    /// Whether training stops after this batch, counted from 0, because a signal requested it here or in
    /// another copy: the same for all of them.
    fn should_stop(&mut self, _batch: usize, requested: bool) -> Result<bool> {
        Ok(requested)
    }

    /// The number of copies that train together; `None` for a single level.
    fn world_size(&self) -> Option<usize> {
        None
    }

    /// The part of a batch that this copy computes.
    fn share_of_batch<'a>(&self, batch: &Batch<'a>) -> Batch<'a> {
        *batch
    }

    /// Completes the header of this copy's dumps, and returns the file for them; `out` is the file that the user named
    /// for all copies.
    fn dump_file(&self, _header: &mut Header, out: &Path) -> PathBuf {
        out.to_owned()
    }
}

/// The settings that have to be the same in all copies of a level.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// The command.
    pub command: &'a str,
    /// The steps that the command dumps, if it dumps any.
    pub steps: Option<Steps>,
    /// The preset.
    pub preset: &'a Preset,
    /// The training set.
    pub set: &'a Dataset,
    /// The initial parameters of training.
    pub start: &'a Parameters,
}

/// A single level.
pub struct Single<'a>(pub &'a mut dyn Level);

impl Runner for Single<'_> {
    fn level(&mut self) -> &mut dyn Level {
        self.0
    }

    fn tester(&mut self) -> Option<&mut dyn Level> {
        Some(self.0)
    }
}

/// A runner for a single level that can run several steps in one call.
pub struct Multi<'a>(pub &'a mut dyn MultiStep);

impl Runner for Multi<'_> {
    fn level(&mut self) -> &mut dyn Level {
        self.0
    }

    fn multi_step(&mut self) -> Option<&mut dyn MultiStep> {
        Some(self.0)
    }

    fn tester(&mut self) -> Option<&mut dyn Level> {
        Some(self.0)
    }
}
