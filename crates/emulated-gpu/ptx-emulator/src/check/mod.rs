//! The check that turns a syntax tree into a program: names are looked up, instructions must exist in the ISA,
//! and their operands must have the right types.

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

/// Checks a file; `standalone` means that no other files are linked with it. The module is complete only if no problem
/// was added.
pub(crate) fn module(file: &File, standalone: bool, problems: &mut Problems) -> Module {
    module::check(file, standalone, problems)
}
