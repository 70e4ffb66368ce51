//! What all levels share: the presets, the [`Level`] trait, the one training loop, and the
//! command line. A level brings a [`Program`] and calls [`main`]; everything else is here.

pub mod bench;
pub mod checkpoint;
mod cli;
mod console;
mod divergence;
pub mod dump;
mod error;
mod level;
mod parameters;
pub mod picture;
pub mod plot;
mod preset;
mod ranks;
pub mod report;
pub mod report_page;
pub mod train;

pub use cli::{Program, main};
pub use console::Console;
pub use error::{Error, Result};
pub use level::Level;
pub use parameters::{Layer, Parameters};
pub use preset::{Initialisation, Preset, PresetKind};
pub use ranks::Rank;
