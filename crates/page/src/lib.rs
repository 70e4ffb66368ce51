//! Common parts of self-contained HTML pages that show numbers.
//!
//! A page loads no other file, and its content security policy forbids it: a browser only accepts the script and the
//! style sheet with the right digests. The template escapes all text that comes from files, and the numbers are data,
//! which a browser doesn't execute.
//!
//! ```text
//! frame      the document: template, style, script, data
//! packed     arrays of numbers, in the smallest type that holds them exactly
//! colour     the two colour maps, for values and for errors
//! chart      lines over an axis, as SVG
//! ```

mod chart;
mod colour;
mod frame;
mod packed;

pub use chart::{Chart, Line};
pub use colour::{ERRORS, VALUES, table};
pub use frame::{Page, PageError};
pub use packed::{Packed, bytes, exact, single};
