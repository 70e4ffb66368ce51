//! Syntax tree to program: every name is looked up, every instruction is one that the ISA has,
//! and its operands fit.

mod body;
mod constants;
mod instruction;
mod known;
mod modifiers;
mod module;
mod operands;
mod scope;
mod special;
mod target;
mod types;
mod variables;

use std::cell::Cell;
use std::collections::HashMap;

use crate::diagnostic::{Problem, Problems, closest};
use crate::program::{FunctionId, Module, VariableId};
use crate::source::Span;
use crate::syntax::{File, Name};

pub use instruction::instructions;
pub(crate) use instruction::intrinsic;

type Result<T> = std::result::Result<T, Problem>;

/// Checks a file. The module is whole only where `problems` stays empty.
pub(crate) fn module(file: &File, problems: &mut Problems) -> Module {
    module::check(file, problems)
}

/// What a name stands for at module scope.
#[derive(Clone, Copy, Debug)]
enum Global {
    Variable(VariableId),
    Function(FunctionId),
}

/// The module as far as it has been read: PTX declares before it uses.
struct Context<'a> {
    module: Module,
    names: HashMap<&'a str, Global>,
    /// The letter behind `sm_90a`, which allows instructions of that architecture only.
    specific: bool,
    /// What calls through registers expect.
    prototypes: Vec<body::Signature>,
    /// Registers of module scope, of which every function has the same.
    registers: Vec<body::ModuleRegister<'a>>,
    /// How many names misspelt ones have been compared with.
    compared: Cell<usize>,
}

/// So many comparisons of names are worth a good suggestion: in a text with many names and as many
/// errors the rest goes without.
const MOST_COMPARED: usize = 1 << 21;

impl Context<'_> {
    /// The one of `names` that `word` was probably meant to be. There are `count` of them.
    fn closest<'n>(
        &self,
        word: &str,
        count: usize,
        names: impl Iterator<Item = &'n str>,
    ) -> Option<&'n str> {
        self.compared.set(self.compared.get().saturating_add(count));
        if self.compared.get() > MOST_COMPARED { None } else { closest(word, names) }
    }

    /// That the file's `.target` and `.version` are new enough for something.
    fn require(&self, span: Span, what: &str, target: u32, version: (u32, u32)) -> Result<()> {
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

fn duplicate(name: Name) -> Problem {
    Problem::new(name.span, format!("`{}` is declared twice", name.text))
        .label("declared before")
        .help("give one of them another name, or put one into a block of its own: { … }")
}
