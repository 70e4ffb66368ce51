//! A level's program together with its options, without the type parameter of [`Program`]. Commands that use this type
//! are only compiled once, in this crate, instead of once per level.

use std::path::{Path, PathBuf};

use tensor::{Dtype, Network};

use super::Program;
use crate::{Level, Preset, Result, Runner};

/// Declares a trait with the functions of a [`Program`] that commands call, and implements it for [`WithOptions`].
macro_rules! level_program {
    ($(fn $name:ident(&self $(, $parameter:ident: $type:ty)*) -> $result:ty;)*) => {
        /// The functions of a [`Program`], called with the options of the command line.
        pub(super) trait LevelProgram: Sync {
            fn name(&self) -> &'static str;
            $(fn $name(&self $(, $parameter: $type)*) -> $result;)*
        }

        impl<P: Program> LevelProgram for WithOptions<P> {
            fn name(&self) -> &'static str {
                P::NAME
            }

            $(fn $name(&self $(, $parameter: $type)*) -> $result {
                P::$name(&self.0 $(, $parameter)*)
            })*
        }
    };
}

level_program! {
    fn device(&self) -> Result<String>;
    fn dtype(&self) -> Dtype;
    fn outputs(&self) -> Vec<(&'static str, &Path)>;
    fn plan(&self, preset: &Preset) -> Result<Vec<String>>;
    fn level(&self, network: &Network) -> Result<Box<dyn Level>>;
    fn is_leader(&self) -> Result<bool>;
    fn files(&self, path: &Path) -> Vec<PathBuf>;
    fn sgemm_gflops(&self) -> Result<Option<f64>>;
    fn on_each(&self, network: &Network, work: Work<'_>) -> Result<()>;
}

/// A function that a command runs on each copy of a level.
pub(super) type Work<'a> = &'a (dyn Fn(&mut dyn Runner) -> Result<()> + Sync);

/// A program with its options.
pub(super) struct WithOptions<P: Program>(pub(super) P::Options);
