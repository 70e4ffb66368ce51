//! The state of a check: the part of the module that has been read so far.

use std::cell::Cell;
use std::collections::HashMap;

use super::signature::Signature;
use crate::diagnostic::{Problem, closest};
use crate::program::{FunctionId, Module, Type, VariableId};
use crate::source::Span;
use crate::syntax::Name;

/// A value, or the problem that was found.
pub(super) type Result<T> = std::result::Result<T, Problem>;

/// A register, or a range of registers, that is declared at module scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModuleRegister<'a> {
    pub name: Name<'a>,
    /// `%r<10>`
    pub range: Option<u64>,
    pub ty: Type,
    pub lanes: u32,
}

/// The meaning of a name at module scope.
#[derive(Clone, Copy, Debug)]
pub(super) enum Global {
    Variable(VariableId),
    Function(FunctionId),
}

/// The part of the module that has been read so far. PTX requires declaration before use, so this is enough.
pub(super) struct ModuleContext<'a> {
    pub(super) module: Module,
    pub(super) names: HashMap<&'a str, Global>,
    /// Whether no other files are linked, so that all functions must be defined here.
    pub(super) standalone: bool,
    /// `.target texmode_independent`
    pub(super) separate_samplers: bool,
    /// Whether the target has a letter (`sm_90a`), which enables architecture-specific instructions.
    pub(super) architecture_specific: bool,
    /// The signatures that calls through registers expect.
    pub(super) prototypes: Vec<Signature>,
    /// Registers of module scope, which all functions share.
    pub(super) registers: Vec<ModuleRegister<'a>>,
    /// The number of names that have been compared with misspelt names.
    pub(super) comparisons: Cell<usize>,
}

/// Limit on comparisons of names for suggestions. In a text with many names and many errors, the later errors
/// get no suggestion.
const MAX_COMPARISONS: usize = 1 << 21;

impl ModuleContext<'_> {
    /// The entry of `names`, which has `count` entries, that is most similar to `word`.
    pub(super) fn closest<'n>(
        &self,
        word: &str,
        count: usize,
        names: impl Iterator<Item = &'n str>,
    ) -> Option<&'n str> {
        self.comparisons.set(self.comparisons.get().saturating_add(count));
        if self.comparisons.get() > MAX_COMPARISONS { None } else { closest(word, names) }
    }

    /// Whether the file's `.target` and `.version` are at least `target` and `version`.
    pub(super) fn has(&self, target: u32, version: (u32, u32)) -> bool {
        self.module.version >= version && self.module.target >= target
    }

    /// Returns an error unless the file's `.target` and `.version` are at least `target` and `version`. `what` names
    /// the feature.
    pub(super) fn require(
        &self,
        span: Span,
        what: &str,
        target: u32,
        version: (u32, u32),
    ) -> Result<()> {
        if self.module.version < version {
            let (major, minor) = version;
            return Err(Problem::new(span, format!("{what} needs PTX {major}.{minor}"))
                .label(format!(
                    "the file says .version {}.{}",
                    self.module.version.0, self.module.version.1
                ))
                .help(format!("write .version {major}.{minor} or a later one at the top")));
        }
        if self.module.target < target {
            return Err(Problem::new(span, format!("{what} needs sm_{target}"))
                .label(format!("the file says .target sm_{}", self.module.target))
                .help(format!("write .target sm_{target} or a later one at the top")));
        }
        Ok(())
    }
}

pub(super) fn duplicate(name: Name) -> Problem {
    Problem::new(name.span, format!("`{}` is declared twice", name.text))
        .label("declared before")
        .help("give one of them another name, or put one into its own block: { … }")
}
