//! Messages for failed attempts: what happened, its usual cause, and what to do.

mod faults;
mod memory;
mod numbers;
mod patterns;

use ptx_emulator::Fault;

use crate::outcome::ShownLine;
use crate::puzzle::Language;

pub(crate) use faults::fault;
pub(crate) use numbers::numbers;

/// A message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    /// What happened.
    pub(crate) what: String,
    /// Explanation and advice, as paragraphs.
    pub(crate) teaches: Vec<String>,
}

impl Message {
    fn new(what: String, teach: impl Into<String>) -> Self {
        Self { what, teaches: vec![teach.into()] }
    }
}

/// The lines of the reader's source that a fault names.
pub(crate) fn fault_lines(fault: &Fault, language: Language, source: &str) -> Vec<ShownLine> {
    let of = |ptx: Option<usize>, cuda: Option<&(String, u32)>, role: &str| {
        let line = match language {
            Language::Ptx => ptx?,
            Language::CudaC => cuda?.1 as usize,
        };
        let text = source.lines().nth(line.checked_sub(1)?)?.to_owned();
        Some(ShownLine { line, text, role: role.to_owned() })
    };
    let own =
        of(fault.place.as_ref().map(|place| place.line), fault.cuda.as_ref(), "where it happened");
    let other = fault.other.as_ref().and_then(|other| {
        let role =
            if other.wrote { "where the other one wrote" } else { "where the other one read" };
        of(Some(other.place.line), other.cuda.as_ref(), role)
    });
    let other = other.filter(|other| own.as_ref().is_none_or(|own| own.line != other.line));
    own.into_iter().chain(other).collect()
}
