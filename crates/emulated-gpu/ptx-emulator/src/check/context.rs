//! The context of a check: the module as far as it has been read.

use std::cell::Cell;
use std::collections::HashMap;

use super::signature::Signature;
use crate::diagnostic::{Problem, closest};
use crate::program::{FunctionId, Module, Type, VariableId};
use crate::source::Span;
use crate::syntax::Name;

/// What was found, or what is wrong.
pub(super) type Result<T> = std::result::Result<T, Problem>;

/// A register, or a range of them, that is declared at module scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModuleRegister<'a> {
    pub name: Name<'a>,
    /// `%r<10>`
    pub range: Option<u64>,
    pub ty: Type,
    pub lanes: u32,
}

/// What a name stands for at module scope.
#[derive(Clone, Copy, Debug)]
pub(super) enum Global {
    Variable(VariableId),
    Function(FunctionId),
}

/// The module as far as it has been read: PTX declares before it uses.
pub(super) struct Context<'a> {
    pub(super) module: Module,
    pub(super) names: HashMap<&'a str, Global>,
    /// Nothing is linked with it: what it declares it has to define.
    pub(super) alone: bool,
    /// `.target texmode_independent`
    pub(super) independent: bool,
    /// The letter behind `sm_90a`, which allows instructions of that architecture only.
    pub(super) specific: bool,
    /// What calls through registers expect.
    pub(super) prototypes: Vec<Signature>,
    /// Registers of module scope, of which every function has the same.
    pub(super) registers: Vec<ModuleRegister<'a>>,
    /// How many names misspelt ones have been compared with.
    pub(super) compared: Cell<usize>,
}

/// This many comparisons of names are worth a good suggestion: in a text with many names and as many
/// errors the rest goes without.
const MOST_COMPARED: usize = 1 << 21;

impl Context<'_> {
    /// The one of `names` that `word` was probably meant to be. There are `count` of them.
    pub(super) fn closest<'n>(
        &self,
        word: &str,
        count: usize,
        names: impl Iterator<Item = &'n str>,
    ) -> Option<&'n str> {
        self.compared.set(self.compared.get().saturating_add(count));
        if self.compared.get() > MOST_COMPARED { None } else { closest(word, names) }
    }

    /// Whether the file's `.target` and `.version` are as new as these.
    pub(super) fn has(&self, target: u32, version: (u32, u32)) -> bool {
        self.module.version >= version && self.module.target >= target
    }

    /// That the file's `.target` and `.version` are new enough for something.
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
        .help("give one of them another name, or put one into a block of its own: { … }")
}
