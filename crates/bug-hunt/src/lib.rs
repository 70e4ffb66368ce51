//! Bugs in a training step: the twelve bugs to hunt, their symptoms, and the check of a guess. The program and the book's
//! page share them.

mod array;
mod bugs;
mod formula;
mod hunt;
mod step;

pub use bugs::{BUGS, Bug};
pub use hunt::{Element, Reply, Symptoms, check, describe, list, pick, symptoms};
pub use step::{Line, lines, run};
