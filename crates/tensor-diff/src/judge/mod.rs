//! The verdict on each tensor: how far rounding may move it, and whether it is wrong by itself or has inherited its
//! difference.

pub(crate) mod bounds;
mod candidates;
mod compare;
mod moved_factor;
mod order;
mod own;
pub(crate) mod rounding;
mod run;
mod usual;

pub use candidates::{Candidate, Run, judge_files};
pub(crate) use candidates::{Cell, names, titles};
pub use compare::{Comparison, Deviation, Row, Verdict, compare};
pub(crate) use compare::{Context, VARY, index, number, within};
pub(crate) use moved_factor::moved_back;
pub(crate) use order::File;
pub(crate) use own::recomputed;
pub use own::{Judgement, judge};
pub(crate) use run::allowed_at;
pub use run::{Drift, RunComparison, Step, compare_runs, judge_run};
