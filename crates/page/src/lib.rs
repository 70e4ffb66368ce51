//! Pages of one file that look at numbers: what all of them have in common.
//!
//! A page loads nothing, from the network or from beside it, and its security policy says so: only
//! the one script and the one style sheet that it was made with run, by their digests. Every text
//! that comes from a file is escaped by the template, and the numbers are data, which no browser
//! executes.
//!
//! ```text
//! frame      the document: template, style, script, data
//! packed     arrays of numbers, as small as they are exact
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
