//! The table of planted faults, `faults.toml`, and the expected report of each.

pub(crate) mod plant;

mod code;
mod network;

use serde::Deserialize;
use tensor::TensorName;
use training::{Error, Result};

/// The table: 118 known faults, and 48 that were added to see how well `tensor-diff` explains unforeseen faults.
#[derive(Deserialize)]
pub(crate) struct Table {
    /// Faults that the authors of readings knew.
    pub(crate) seen: Vec<Fault>,
    /// Faults for which no reading was written.
    pub(crate) blind: Vec<Fault>,
}

/// A fault, and the verdict that is expected.
#[derive(Deserialize)]
pub(crate) struct Fault {
    /// The fault in a few words.
    pub(crate) what: String,
    #[serde(flatten)]
    planted: Planted,
    /// The run in `reference/dumps` with which the faulty run is compared.
    run: String,
    /// The first tensor that the fault makes wrong.
    pub(crate) tensor: TensorName,
    /// The first step in which that tensor is wrong.
    #[serde(default)]
    pub(crate) step: u64,
    /// Words that the right reading contains.
    reading: String,
    /// Whether `tensor-diff` is expected to find that reading. The book counts the faults for which it does, and the
    /// test checks each.
    #[serde(default = "expected")]
    #[allow(dead_code, reason = "only the test asks")]
    pub(crate) explained: bool,
}

const fn expected() -> bool {
    true
}

/// The way to plant a fault: by replacing text, or by a row of [`code`].
#[derive(Deserialize)]
#[serde(untagged)]
enum Planted {
    Text { file: String, replace: Vec<(String, String)> },
    Rules { rules: String },
    Made { made: String },
    Between { between: String },
}

impl Table {
    /// Reads a table.
    ///
    /// # Errors
    /// If the text is not TOML of this form.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(Error::level)
    }

    /// Reads the table of this example.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub(crate) fn read() -> Result<Self> {
        Self::parse(include_str!("../faults.toml"))
    }
}
