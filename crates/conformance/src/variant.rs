//! Variants: ways to run a level.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use clap::{Args, Command, FromArgMatches};
use gpu::Choice;
use tensor::{Dtype, Network};
use training::{Error, Level, Program, Result, Runner};

use crate::Check;

/// A variant: a level, with command-line options that determine how it computes.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The level's name.
    pub level: &'static str,
    /// The options, without the device.
    pub options: String,
    /// The choice of the GPU; `None` for a level on the processor.
    pub device: Option<Choice>,
    /// The checks that the variant has to pass.
    pub checks: &'static [Check],
    /// The names of the cases that the variant skips.
    pub without: &'static [&'static str],
    functions: ProgramFunctions,
}

/// A level, or the reason why it can't be made.
type OpenedLevel = Result<Box<dyn Level>>;

/// A function that uses a level as a command of the level's program does.
type LevelWork<'a> = &'a (dyn Fn(&mut dyn Runner) -> Result<()> + Sync);

/// The functions of a level's program, each called with the variant's options.
#[derive(Clone, Copy, Debug)]
struct ProgramFunctions {
    open: fn(&[String], &Network) -> OpenedLevel,
    run: fn(&[String], &Network, LevelWork<'_>) -> Result<()>,
    device: fn(&[String]) -> Result<String>,
    dtype: fn(&[String]) -> Result<Dtype>,
}

impl Variant {
    /// A variant of a level on the processor, with these options.
    #[must_use]
    pub fn on_cpu<P: Program>(options: &str) -> Self {
        Self::new::<P>(options, None)
    }

    /// A variant of a level on a GPU, with these options.
    #[must_use]
    pub fn on_gpu<P: Program>(device: Choice, options: &str) -> Self {
        Self::new::<P>(options, Some(device))
    }

    fn new<P: Program>(options: &str, device: Option<Choice>) -> Self {
        let functions = ProgramFunctions {
            open: |arguments, network| P::level(&parse::<P>(arguments)?, network),
            run: |arguments, network, work| P::on_each(&parse::<P>(arguments)?, network, work),
            device: |arguments| P::device(&parse::<P>(arguments)?),
            dtype: |arguments| Ok(P::dtype(&parse::<P>(arguments)?)),
        };
        let (options, checks) = (options.into(), &Check::ALL);
        Self { level: P::NAME, options, device, checks, without: &[], functions }
    }

    /// Limits this variant to these checks, because another variant with the same kernels has to pass the others.
    #[must_use]
    pub fn with_checks_only(self, checks: &'static [Check]) -> Self {
        Self { checks, ..self }
    }

    /// Excludes these cases, whose result depends on a library that the level calls.
    #[must_use]
    pub fn without(self, cases: &'static [&'static str]) -> Self {
        Self { without: cases, ..self }
    }

    /// Makes the level.
    ///
    /// # Errors
    /// If the level doesn't have these options, or its device fails.
    pub fn open(&self, network: &Network) -> Result<Box<dyn Level>> {
        (self.functions.open)(&self.arguments(), network)
    }

    /// Runs `work` on the level as a command of its program would: with several batches in one call if the level
    /// supports that.
    ///
    /// # Errors
    /// As [`open`](Self::open), and if `work` fails.
    pub fn run<T: Send>(
        &self,
        network: &Network,
        work: impl Fn(&mut dyn Runner) -> Result<T> + Sync,
    ) -> Result<T> {
        let done = Mutex::new(None);
        (self.functions.run)(&self.arguments(), network, &|runner| {
            let result = work(runner)?;
            *done.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            Ok(())
        })?;
        let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.ok_or_else(|| Error::Usage(format!("{self} ran no level")))
    }

    /// The name of the device in dumps.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn device_name(&self) -> Result<String> {
        (self.functions.device)(&self.arguments())
    }

    /// The arithmetic in which the variant computes.
    ///
    /// # Errors
    /// If the level doesn't have these options.
    pub fn dtype(&self) -> Result<Dtype> {
        (self.functions.dtype)(&self.arguments())
    }

    /// The options in the form of command-line arguments.
    fn arguments(&self) -> Vec<String> {
        let device = self.device.map(|device| format!("--device={device}"));
        self.options.split_whitespace().map(str::to_owned).chain(device).collect()
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(format!("{} {}", self.level, self.options).trim_end())
    }
}

/// Parses options as the level's command line does.
fn parse<P: Program>(arguments: &[String]) -> Result<P::Options> {
    let command = P::Options::augment_args(Command::new(P::NAME).no_binary_name(true));
    command
        .try_get_matches_from(arguments)
        .and_then(|matches| P::Options::from_arg_matches(&matches))
        .map_err(|error| Error::Usage(error.to_string()))
}
