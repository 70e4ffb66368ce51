//! A function as far as it has been read.

use crate::check::scope::Scope;
use crate::check::signature::Signature;
use crate::program::{Function, Instruction, Label, SourceLine};

/// A function whose header has been read, and the names of its body so far.
pub(in crate::check) struct Body<'a> {
    pub function: Function,
    pub scopes: Vec<Scope<'a>>,
    /// Every label of the function, and where it is once that is known.
    pub(super) labels: Vec<(String, Option<Label>)>,
    pub signatures: Vec<Signature>,
    pub(super) instructions: Vec<Instruction>,
    pub(super) loc: Option<SourceLine>,
    /// The bytes that the next instruction wants, where that is a load and a pragma says so.
    pub used_bytes: Option<u32>,
}
