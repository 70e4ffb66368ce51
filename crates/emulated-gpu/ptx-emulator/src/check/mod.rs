//! Syntax tree to program: every name is looked up, every instruction is one that the ISA has,
//! and its operands fit.

mod body;
mod constants;
mod context;
mod instruction;
mod known;
mod modifiers;
mod module;
mod opaque;
mod operands;
mod scope;
mod signature;
mod since;
mod special;
mod target;
mod types;
mod variables;

use crate::diagnostic::Problems;
use crate::program::Module;
use crate::syntax::File;

pub use instruction::instructions;
pub(crate) use instruction::intrinsic;
pub(crate) use since::is_directive;

/// Checks a file, `alone` if nothing is linked with it. The module is whole only where `problems` stays
/// empty.
pub(crate) fn module(file: &File, alone: bool, problems: &mut Problems) -> Module {
    module::check(file, alone, problems)
}
