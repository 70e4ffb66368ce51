//! Training and test digits, with the source that they came from.

use std::fmt;
use std::path::PathBuf;

use crate::Images;

/// Digits to train on and digits to test with.
#[derive(Clone, Debug)]
pub struct Digits {
    /// The training images.
    pub train: Images,
    /// The test images, which differ from all training images.
    pub test: Images,
    /// The origin of both sets.
    pub origin: Origin,
}

/// The origin of digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// MNIST's files in this folder.
    Mnist(PathBuf),
    /// The built-in digits, drawn by this program.
    Synthetic,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mnist(folder) => write!(f, "MNIST from {}", host::shown(folder)),
            Self::Synthetic => f.write_str("built-in digits"),
        }
    }
}
