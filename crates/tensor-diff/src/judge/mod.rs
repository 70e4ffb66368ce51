//! The first pass, the verdict on each tensor: the bounds of rounding errors, and whether a tensor is wrong by itself
//! or has inherited its difference.

mod bounds;
mod candidates;
mod compare;
mod context;
mod moved_factor;
mod order;
mod own;
pub(crate) mod rounding;
mod run;
mod usual;
mod verdict;

pub use candidates::{Candidate, Run, judge_files};
pub(crate) use candidates::{Cell, names, titles};
pub(crate) use compare::VARY;
pub use compare::{Comparison, compare};
pub(crate) use context::Context;
pub(crate) use moved_factor::moved_back;
pub(crate) use own::recomputed;
pub use own::{Judgement, judge};
pub(crate) use run::allowed_at;
pub use run::{Drift, RunComparison, Step, compare_runs, judge_run};
pub(crate) use usual::{is_usual, usual_errors};
pub use verdict::{Deviation, Row, Rows, Verdict};
pub(crate) use verdict::{index, number, within};
