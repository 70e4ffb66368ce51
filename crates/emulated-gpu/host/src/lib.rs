//! What every program of this workspace does with the machine that runs it: it prints, it is asked
//! to end, it needs memory and threads. What the machine refuses becomes a sentence and an exit
//! code, and never a panic.
//!
//! A program's `main` is [`main`], its results go through [`print()`], and its complaints through
//! [`complain`].

mod escape;
pub mod file;
mod foreign;
pub mod input;
pub mod library;
pub mod memory;
mod output;
mod program;
pub mod signals;
mod threads;
#[cfg(unix)]
mod user;

pub use escape::{escape, shown};
pub use foreign::Foreign;
pub use output::{complain, lost_output, parse, print, print_line, write_value};
pub use program::main;
pub use threads::share_work;
#[cfg(unix)]
pub use user::user;
