//! Level 1 as a program: its name, its option, its device.

use clap::{Args, ValueEnum};
use tensor::Network;
use training::{Level, Result};

use crate::{Level1, large_product_gflops};

/// How a training step is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// One operation after the other, as in the book.
    Textbook,
    /// Fused, on all cores; the results differ only by rounding.
    #[default]
    Fast,
}

/// The options that only this level has.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Level 1")]
pub struct Options {
    /// How training steps are computed.
    #[arg(long, value_enum, default_value_t)]
    form: Form,
}

/// The program `level1-cpu`.
#[derive(Clone, Copy, Debug)]
pub struct Program;

impl training::Program for Program {
    const NAME: &'static str = "level1-cpu";
    const ABOUT: &'static str =
        "Level 1 of four: a multilayer perceptron by hand on the CPU, with ndarray";
    type Options = Options;

    fn device(_options: &Options) -> Result<String> {
        Ok("cpu".into())
    }

    fn level(options: &Options, network: &Network) -> Result<Box<dyn Level>> {
        Ok(Box::new(Level1::new(network, options.form)))
    }

    fn sgemm_gflops(_options: &Options) -> Result<Option<f64>> {
        Ok(Some(large_product_gflops()))
    }
}
