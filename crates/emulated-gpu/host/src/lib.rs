//! Operating-system services for every program of this workspace: output, signals, memory, threads and files. A
//! failure of the operating system becomes a message and an exit code, never a panic.
//!
//! A program's `main` calls [`main`]. It prints results with [`print()`], and errors with [`complain`].

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
