//! Profiles of the levels' launches and copies.
//!
//! A [`Recording`] records what is reported to its [`Profiler`](gpu::Profiler): times on a real GPU, counts on
//! the emulated one. A [`Profile`] has the outputs of `--profile` and `--roofline`: a table, a trace for
//! Perfetto, and the kernels in a card's roofline.
//!
//! ```text
//! arguments ── report ── recording ── counts, occupancy, totals
//!                 |          |
//!             roofline    table, overlap, trace
//!                 |
//!               card
//! ```

mod arguments;
mod card;
mod counts;
mod error;
mod occupancy;
mod overlap;
mod recording;
mod report;
pub mod roofline;
mod table;
mod totals;
mod trace;

pub use arguments::ProfileArgs;
pub use card::{Card, Speeds};
pub use counts::Counts;
pub use error::{ProfileError, Result};
pub use recording::Recording;
pub use report::Profile;
pub use totals::Total;
