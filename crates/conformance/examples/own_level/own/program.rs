//! The level as a program, with the command line of all levels.

use clap::{Args, ValueEnum};
use tensor::Network;
use training::{Level, Result};

use super::Own;

/// The stages in which the reader builds the level. Each includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Stage {
    /// The level takes in a batch and parameters.
    Batch,
    /// The level computes the forward pass: z, a, p and the loss.
    Forward,
    /// The level computes the gradients.
    Backward,
    /// The level trains.
    #[default]
    Update,
}

/// The option that only this level has.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Do only as much as the level could do at this stage of its making.
    #[arg(long, value_enum, default_value_t)]
    stage: Stage,
}

// ANCHOR: program
/// The program.
pub(crate) struct Program;

impl training::Program for Program {
    const NAME: &'static str = "own-level";
    const ABOUT: &'static str = "Your own level, in plain loops";
    type Options = Options;

    fn device(_options: &Options) -> Result<String> {
        Ok("cpu".into())
    }

    fn level(options: &Options, network: &Network) -> Result<Box<dyn Level>> {
        Ok(Box::new(Own::new(network, options.stage)))
    }
}
// ANCHOR_END: program
