//! The code that all levels share: the presets, the [`Level`] trait, the training loop, dumps, reports, and
//! the command line.
//!
//! A level implements [`Level`], with a method for each phase of a training step. This one has a single
//! layer with softmax:
//!
//! ```
//! use data::{Batch, Counts, Dataset, PIXELS};
//! use tensor::{Loss, Network, Tensor, TensorName};
//! use training::{Console, Level, Parameters, Preset, Result, Single, train};
//!
//! const CLASSES: usize = 10;
//!
//! #[derive(Default)]
//! struct OneLayer { x: Vec<f32>, y: Vec<f32>, w: Vec<f32>, b: Vec<f32>, p: Vec<f32>, dz: Vec<f32> }
//!
//! impl Level for OneLayer {
//!     fn forward(&mut self) -> Result<()> {
//!         for (x, p) in self.x.chunks(PIXELS).zip(self.p.chunks_mut(CLASSES)) {
//!             for ((p, w), b) in p.iter_mut().zip(self.w.chunks(PIXELS)).zip(&self.b) {
//!                 *p = (b + x.iter().zip(w).map(|(x, w)| x * w).sum::<f32>()).exp();
//!             }
//!             let sum: f32 = p.iter().sum();
//!             p.iter_mut().for_each(|p| *p /= sum);
//!         }
//!         Ok(())
//!     }
//!
//!     fn backward(&mut self) -> Result<()> {
//!         let batch = (self.x.len() / PIXELS) as f32;
//!         self.dz = self.p.iter().zip(&self.y).map(|(p, y)| (p - y) / batch).collect();
//!         Ok(())
//!     }
//!
//!     fn update(&mut self, learning_rate: f32) -> Result<()> {
//!         for (x, dz) in self.x.chunks(PIXELS).zip(self.dz.chunks(CLASSES)) {
//!             for ((dz, w), b) in dz.iter().zip(self.w.chunks_mut(PIXELS)).zip(&mut self.b) {
//!                 w.iter_mut().zip(x).for_each(|(w, x)| *w -= learning_rate * dz * x);
//!                 *b -= learning_rate * dz;
//!             }
//!         }
//!         Ok(())
//!     }
//!
//!     fn dataset(&mut self, _: &Dataset) -> Result<()> {
//!         Ok(()) // A level on a GPU may copy the whole set there.
//!     }
//!
//!     fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
//!         self.x.resize(batch.len() * PIXELS, 0.0);
//!         self.y.resize(batch.len() * CLASSES, 0.0);
//!         self.p.resize(batch.len() * CLASSES, 0.0);
//!         batch.copy_x(&mut self.x);
//!         batch.copy_y(&mut self.y);
//!         Ok(())
//!     }
//!
//!     fn loss(&mut self) -> Result<f32> {
//!         let samples = self.x.len() / PIXELS;
//!         let sum: f32 = self.p.iter().zip(&self.y).map(|(p, y)| -y * p.ln()).sum();
//!         Ok(sum / samples as f32)
//!     }
//!
//!     fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
//!         self.w = parameters.layers[0].w.data().to_vec();
//!         self.b = parameters.layers[0].b.data().to_vec();
//!         Ok(())
//!     }
//!
//!     fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
//!         let (shape, data) = match name {
//!             TensorName::W(1) => (vec![CLASSES, PIXELS], &self.w),
//!             TensorName::B(1) => (vec![CLASSES], &self.b),
//!             TensorName::P => (vec![self.p.len() / CLASSES, CLASSES], &self.p),
//!             _ => return Ok(None),
//!         };
//!         Ok(Some(Tensor::new(shape, data.clone()).unwrap()))
//!     }
//! }
//!
//! let preset = Preset {
//!     network: Network { sizes: vec![PIXELS, CLASSES], loss: Loss::CrossEntropy },
//!     ..Preset::presets().remove(0)
//! };
//! let (images, tests) = data::built_in(Counts { train: 1024, test: 256 });
//! let images = Dataset::new(&images, preset.normalisation);
//! let tests = Dataset::new(&tests, preset.normalisation);
//! let start = Parameters::new(&preset.network, preset.initialisation, preset.seed);
//! let mut level = OneLayer::default();
//! let (runner, console) = (&mut Single(&mut level), &mut Console::quiet());
//! let run = train::train(runner, &preset, &images, &tests, &start, console)?;
//! assert!(run.accuracy.fraction() > 0.5);
//! # Ok::<(), training::Error>(())
//! ```
//!
//! To get the command line of all levels (`train`, `dump`, `bench`, `predict`, and so on), implement
//! [`Program`] and call [`main`]: the example `own_level` of `crates/conformance` does, in the
//! appendix of the book that builds a level in stages.
//!
//! | module | contents |
//! |---|---|
//! | `preset` | the list of presets and fixtures: layers, loss, batch size, learning rate |
//! | `level` | the contract between the training loop and a level |
//! | `runner` | how a command runs its level: a single one, or one of several copies |
//! | [`mod@train`] | the training loop, and the test of the trained network |
//! | [`dump`], `divergence` | all tensors of a training step; the first one that isn't finite |
//! | `cli` | the command line, with a file for each command and group of options |
//! | [`checkpoint`], [`picture`] | parameters as safetensors; pictures for `predict` |
//! | [`report`], [`report_page`], [`plot`], [`mod@bench`] | results as JSON, as a page, as pictures, as speed |

pub mod bench;
pub mod checkpoint;
mod cli;
mod console;
mod divergence;
pub mod dump;
mod edge;
mod error;
mod level;
mod parameters;
pub mod picture;
pub mod plot;
mod preset;
pub mod report;
pub mod report_page;
mod runner;
pub mod train;

pub use cli::{Program, main, whole_number};
pub use console::Console;
pub use edge::Edge;
pub use error::{Error, Result};
pub use level::{Level, MultiStep};
pub use parameters::{Layer, Parameters};
pub use preset::{Initialisation, Preset, PresetKind};
pub use runner::{Multi, Runner, Single, Terms};
