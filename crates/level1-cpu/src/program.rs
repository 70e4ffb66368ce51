//! Level 1 as a program: its name, its one option, its device.

use std::fmt;
use std::time::Instant;

use clap::{Args, ValueEnum};
use tensor::Network;
use training::{Level, Result};

use crate::{Level1, fast};

/// How a training step is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// One operation after the other, as the book shows it.
    Textbook,
    /// Fused, on all cores; the same within rounding.
    #[default]
    Fast,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        host::write_value(self, f)
    }
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

/// What the library that the fast form uses reaches on all cores, in 10⁹ operations a second: the best
/// of several products of 1024 × 1024 matrices, measured now.
#[must_use]
pub fn large_product_gflops() -> f64 {
    const N: usize = 1024;
    let (a, b) = (vec![0.5; N * N], vec![0.25; N * N]);
    let mut c = vec![0.0; N * N];
    let mut best = f64::INFINITY;
    for _ in 0..6 {
        let clock = Instant::now();
        fast::square_product(&a, &b, &mut c, N);
        best = best.min(clock.elapsed().as_secs_f64());
    }
    2e-9 * (N * N * N) as f64 / best
}
