//! What a network is trained on: images of handwritten digits, the batches in which they reach
//! it, and the random numbers that shuffle them.
//!
//! [`load`] finds the images: MNIST's four files, on this machine or downloaded, or digits that
//! this crate draws itself. [`Dataset`] holds them normalised, one row for each image, [`Epoch`]
//! cuts it into [`Batch`]es. [`Generator`] is the only source of random numbers in the
//! workspace; it gives the same ones on every platform.

mod batch;
mod dataset;
mod digits;
mod download;
mod error;
mod idx;
mod images;
mod mnist;
mod normalisation;
mod random;
mod source;

pub use batch::{Batch, Epoch};
pub use dataset::Dataset;
pub use error::{DataError, UnknownName};
pub use images::{CLASSES, Digits, HEIGHT, Images, Origin, PIXELS, WIDTH};
pub use normalisation::Normalisation;
pub use random::{Generator, Stream};
pub use source::{Counts, Source, load};
