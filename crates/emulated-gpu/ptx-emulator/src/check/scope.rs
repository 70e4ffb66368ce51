//! The names of a function body: registers, variables, labels and lists, block by block.

use std::collections::HashMap;

use crate::program::{LocalId, Register, Type, VariableId};
use crate::source::Span;

/// The meaning of a name inside a function.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    Register(Register),
    /// `.reg .v4`: one register for each element.
    Vector(Vec<Register>),
    Variable(LocalId),
    /// A `.global` or `.const` variable declared in the body.
    Static(VariableId),
    /// An index into the labels of the body.
    Label(usize),
    /// `.branchtargets`: indices of labels.
    BranchTargets(Vec<usize>),
    /// `.calltargets` and `.callprototype`: an index into the signatures of the body.
    Signature(usize),
}

/// `%r<10>`: a range of registers, each of which is created when it is first named.
#[derive(Debug)]
pub(super) struct Range {
    pub count: u64,
    pub ty: Type,
    pub lanes: u32,
    /// Whether the range is declared at module scope.
    pub shared: bool,
    pub span: Span,
    pub named: HashMap<u64, Binding>,
}

/// One block.
#[derive(Debug, Default)]
pub(super) struct Scope<'a> {
    pub names: HashMap<&'a str, Binding>,
    pub ranges: HashMap<&'a str, Range>,
}

/// Splits a name into a prefix and a number: `%r12` is `%r` and 12. As in ptxas, the number is all the digits
/// at the end.
pub(super) fn split(name: &str) -> Option<(&str, u64)> {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    Some((prefix, name[prefix.len()..].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_split_before_its_number() {
        assert_eq!(split("%r12"), Some(("%r", 12)));
        assert_eq!(split("%r1_07"), Some(("%r1_", 7)));
        assert_eq!(split("%r"), None);
        assert_eq!(split("%r99999999999999999999999"), None);
    }
}
