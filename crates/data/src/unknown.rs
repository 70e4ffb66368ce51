//! Names that an option does not know.

use thiserror::Error;

/// The text is not one of the names that an option knows.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{given:?} is not a {what}: choose one of {known}")]
pub struct UnknownName {
    /// What kind of name was asked for.
    pub what: &'static str,
    /// The text.
    pub given: String,
    /// The names that are known, separated by commas.
    pub known: &'static str,
}
