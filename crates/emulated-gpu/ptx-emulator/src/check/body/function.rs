//! The part of a function that has been read so far.

use crate::check::scope::Scope;
use crate::check::signature::Signature;
use crate::program::{Function, Instruction, Label, SourceLine};

/// A function whose header has been read, and the names in its body so far.
pub(in crate::check) struct Body<'a> {
    pub function: Function,
    pub scopes: Vec<Scope<'a>>,
    /// Every label of the function, with its position once that is known.
    pub(super) labels: Vec<(String, Option<Label>)>,
    pub signatures: Vec<Signature>,
    pub(super) instructions: Vec<Instruction>,
    pub(super) loc: Option<SourceLine>,
    /// The bytes that the next load uses, if the pragma `used_bytes_mask` gave them.
    pub used_bytes: Option<u32>,
}
