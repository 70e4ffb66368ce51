//! `--kernels auto`: a level that becomes that of a rung when it sees its first batch.

use data::{Batch, Dataset};
use gpu::{Gpu, GpuError};
use profile::Profile;
use tensor::{Network, Tensor, TensorName};
use training::{Error, Level, MultiStep, Parameters, Result};

use crate::{Level4, choice};

/// What is known before the first batch, and the level after it.
pub(crate) struct Auto {
    gpu: Gpu,
    network: Network,
    profile: Option<Profile>,
    set: Option<Dataset>,
    parameters: Option<Parameters>,
    chosen: Option<Level4>,
}

impl Auto {
    pub(crate) fn new(gpu: Gpu, network: &Network, profile: Profile) -> Self {
        let (network, profile) = (network.clone(), Some(profile));
        Self { gpu, network, profile, set: None, parameters: None, chosen: None }
    }

    /// The level, chosen now if it has not been yet; the user is told.
    fn choose(&mut self, batch: usize) -> Result<&mut Level4> {
        let level = match self.chosen.take() {
            Some(level) => level,
            None => {
                let rung = choice::choose(&self.gpu, &self.network, batch)?;
                host::complain(format_args!("note: --kernels auto takes {rung}"));
                let profile = self.profile.take().unwrap_or_default();
                let mut level = Level4::new(&self.gpu, &self.network, rung, profile)?;
                if let Some(set) = &self.set {
                    level.dataset(set)?;
                }
                if let Some(parameters) = &self.parameters {
                    level.set_parameters(parameters)?;
                }
                level
            }
        };
        Ok(self.chosen.insert(level))
    }

    fn chosen(&mut self, operation: &'static str) -> Result<&mut Level4> {
        self.chosen.as_mut().ok_or_else(|| Error::level(GpuError::NoBatch { operation }))
    }
}

impl Level for Auto {
    fn dataset(&mut self, set: &Dataset) -> Result<()> {
        self.set = Some(set.clone());
        self.chosen.as_mut().map_or(Ok(()), |level| level.dataset(set))
    }

    fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()> {
        self.choose(batch.len())?.load(batch, next)
    }

    fn forward(&mut self) -> Result<()> {
        self.chosen("forward")?.forward()
    }

    fn backward(&mut self) -> Result<()> {
        self.chosen("backward")?.backward()
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        self.chosen("update")?.update(learning_rate)
    }

    fn step(&mut self, learning_rate: f32) -> Result<()> {
        self.chosen("step")?.step(learning_rate)
    }

    fn loss(&mut self) -> Result<f32> {
        self.chosen("loss")?.loss()
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        self.parameters = Some(parameters.clone());
        self.chosen.as_mut().map_or(Ok(()), |level| level.set_parameters(parameters))
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        self.chosen("tensor")?.tensor(name)
    }

    fn report(&mut self) -> Result<Vec<String>> {
        self.chosen.as_mut().map_or_else(|| Ok(Vec::new()), Level::report)
    }
}

impl MultiStep for Auto {
    fn at_once(&self) -> usize {
        self.chosen.as_ref().map_or(1, MultiStep::at_once)
    }

    fn steps(&mut self, batches: &[Batch<'_>], learning_rate: f32) -> Result<()> {
        self.chosen("steps")?.steps(batches, learning_rate)
    }
}
