//! Training data: images of handwritten digits, batches of them, and the random numbers that shuffle them.
//!
//! [`load`] returns the images: MNIST's four files, from this machine or downloaded, or digits that this crate draws
//! itself. [`Dataset`] contains the normalised images, one per row. [`Epoch`] divides a data set into [`Batch`]es.
//! [`Generator`] is the only source of random numbers in the workspace, and returns the same numbers on every platform.

#[cfg(feature = "files")]
mod batch;
#[cfg(feature = "files")]
mod dataset;
mod digits;
#[cfg(feature = "files")]
mod download;
#[cfg(feature = "files")]
mod error;
#[cfg(feature = "files")]
mod idx;
mod images;
#[cfg(feature = "files")]
mod mnist;
mod normalisation;
#[cfg(feature = "files")]
mod origin;
mod random;
#[cfg(feature = "files")]
mod source;
mod unknown;

#[cfg(feature = "files")]
pub use batch::{Batch, Epoch};
#[cfg(feature = "files")]
pub use dataset::Dataset;
pub use digits::built_in;
#[cfg(feature = "files")]
pub use error::DataError;
pub use images::{CLASSES, Counts, HEIGHT, Images, PIXELS, WIDTH};
pub use normalisation::Normalisation;
#[cfg(feature = "files")]
pub use origin::{Digits, Origin};
pub use random::{Generator, Purpose};
#[cfg(feature = "files")]
pub use source::{Source, load};
pub use unknown::UnknownName;
