//! Digits, and where they come from.

use std::fmt;
use std::path::PathBuf;

use crate::Images;

/// Digits to train on and digits to test with.
#[derive(Clone, Debug)]
pub struct Digits {
    /// What a network is trained on.
    pub train: Images,
    /// What it is tested with; none of these is among the others.
    pub test: Images,
    /// Where both come from.
    pub origin: Origin,
}

/// Where digits come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// MNIST's files in this folder.
    Mnist(PathBuf),
    /// Drawn by this program.
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
