//! What can go wrong with images and labels.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::idx::IdxError;

/// Why there are no images, or none that can be trusted.
#[derive(Debug, Error)]
pub enum DataError {
    /// A folder was named, and it is not there.
    #[error(
        "the folder of MNIST {} does not exist: name one that holds MNIST's four files, or leave \
         --data-dir and MNIST_DIR out to have them downloaded",
        host::shown(folder)
    )]
    NoFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// What was named as a folder is none.
    #[error(
        "{} is no folder: name the folder that MNIST's four files lie in, not one of them",
        host::shown(path)
    )]
    NotAFolder {
        /// What was named.
        path: PathBuf,
    },
    /// A folder lacks one of the four files.
    #[error(
        "the folder of MNIST {} has no {file} (nor {file}.gz): it takes the four files \
         train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and \
         t10k-labels-idx1-ubyte, gzipped or not, which are found at {address}; or leave \
         --data-dir and MNIST_DIR out to have them downloaded",
        host::shown(folder)
    )]
    MissingFile {
        /// The folder.
        folder: PathBuf,
        /// The file's name without `.gz`.
        file: &'static str,
        /// Where the file is found on the network.
        address: &'static str,
    },
    /// A file can't be opened, read or unpacked.
    #[error("can't read {}: {source}", host::shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system or the decompressor says.
        source: io::Error,
    },
    /// A file was read, and it is no IDX file of MNIST's form.
    #[error("{} is not usable: {source}; fetch the file again", host::shown(path))]
    Idx {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: IdxError,
    },
    /// Two files that belong together have different numbers of items.
    #[error(
        "{} holds {images} images and {} holds {labels} labels: they are not of the same set; \
         fetch both again",
        host::shown(images_path),
        host::shown(labels_path)
    )]
    Counts {
        /// The file of images.
        images_path: PathBuf,
        /// How many it holds.
        images: usize,
        /// The file of labels.
        labels_path: PathBuf,
        /// How many it holds.
        labels: usize,
    },
    /// A file is well-formed, and it is not MNIST's.
    #[error(
        "{} is not the file of MNIST: the SHA-256 of its unpacked content is {found}, and that of \
         MNIST's {file} is {expected}; fetch the file again",
        host::shown(path)
    )]
    Digest {
        /// The file.
        path: PathBuf,
        /// The name of the published file.
        file: &'static str,
        /// The published digest, in hexadecimal.
        expected: &'static str,
        /// The digest of what was read, in hexadecimal.
        found: String,
    },
    /// MNIST was asked for, is not on this machine or damaged there, and can't be downloaded.
    #[error(
        "{why}: put its four files into a folder and name it with --data-dir or MNIST_DIR, or use \
         --data digits"
    )]
    Unavailable {
        /// What is the matter with it, and why it can't be downloaded.
        why: String,
    },
    /// There is no memory for the images.
    #[error("holding {images} images {shortage}: use fewer, with --samples")]
    Memory {
        /// How many were asked for.
        images: u64,
        /// What they need, and what can be had.
        shortage: host::memory::Shortage,
    },
    /// Rows given as numbers do not make a dataset.
    #[error("these rows are not a dataset: {reason}")]
    Rows {
        /// What is wrong.
        reason: String,
    },
}
