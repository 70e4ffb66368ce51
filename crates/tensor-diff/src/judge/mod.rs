//! The first pass, the verdict on each tensor: the bounds of rounding errors, and whether a tensor is wrong by itself
//! or has inherited its difference.

mod bounds;
mod compare;
mod context;
mod own;
pub(crate) mod rounding;
mod run;
mod usual;
mod verdict;

pub(crate) use compare::VARY;
pub use compare::{Comparison, compare};
pub(crate) use context::Context;
pub(crate) use own::moved_back;
pub use own::{Judgement, judge};
pub use run::{Candidate, Drift, Run, RunComparison, Step, compare_runs, judge_files, judge_run};
pub(crate) use run::{Evidence, evidence, names, titles};
pub(crate) use usual::{is_usual, usual_errors};
pub use verdict::{Deviation, Row, Rows, Verdict};
pub(crate) use verdict::{index, number, within};
