//! Compares two dumps of the same training step and names the first tensor that differs; and judges
//! a dump, or each step of a run, by itself.
//!
//! Two dumps go in, a verdict comes out:
//!
//! ```
//! use std::path::Path;
//!
//! use tensor::{Dump, TensorName};
//!
//! let dumps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps");
//! let reference = Dump::read(&dumps.join("softmax.json"))?;
//! let mut candidate = reference.clone();
//! assert!(tensor_diff::compare(&reference, &candidate, 1.0).agrees());
//!
//! // The mistake: a backward pass that forgot ReLU's mask, so that dz1 is da1.
//! let da1 = reference.get(TensorName::Da(1)).unwrap().data.clone();
//! let wrong = candidate.tensors.iter_mut().find(|tensor| tensor.name == TensorName::Dz(1));
//! wrong.unwrap().data = da1;
//!
//! let comparison = tensor_diff::compare(&reference, &candidate, 1.0);
//! let first = comparison.first_divergence.unwrap();
//! assert_eq!(first.tensor, TensorName::Dz(1));
//! assert_eq!(first.operation.unwrap(), "dz1 = relu_backward(da1, z1)");
//! assert!(first.pattern.unwrap().text.contains("the mask [z1 > 0] was not applied"));
//! # Ok::<(), tensor::DumpError>(())
//! ```
//!
//! "Isolate and conquer": a dump lists its tensors in the order of computation, so the first one
//! that is wrong was made, from tensors that agree, by the operation that has the bug. Tolerances are
//! never chosen but derived, from the values themselves and the rounding of every operation on the
//! way to them.
//!
//! The two instruments are independent. [`compare`] holds a candidate against a reference, so
//! errors add up along the chain. [`judge`] does each operation again on the candidate's own inputs,
//! so nothing adds up, no reference is needed, and an earlier fault hides no later one. A tensor that
//! differs from the reference and is right by itself has inherited its difference.
//!
//! # From dumps to a verdict
//!
//! ```text
//! rounding    what one operation may err by          chain     the reference's values
//!        \                                          /
//!         bounds (output: p and the loss; product: the matrix products)
//!            |
//!      compare, own ── order      a verdict for each tensor, with a reference and without
//!            |
//!           run                   the same for each step of a run, and how two runs drift apart
//!            |
//!         reading ── operation, pattern (wrong_operation, shape_of_error)      the first divergence
//!            |
//!      table, report, page        for people, for programs, to look at
//!            |
//!    levels, levels_table         several candidates at once
//! ```

mod bounds;
mod chain;
mod compare;
mod hypothesis;
mod levels;
mod levels_table;
mod moved_factor;
mod operation;
mod order;
mod output;
mod own;
mod page;
mod pattern;
mod product;
mod reading;
mod report;
mod rounding;
mod run;
mod run_table;
mod shape_of_error;
mod table;
mod wrong_operation;

pub use compare::{Comparison, Deviation, Row, Verdict, compare};
pub use levels::{Candidate, compare_levels};
pub use levels_table::write_levels_table;
pub use moved_factor::moved_back;
pub use own::{Judgement, judge, judge_after};
pub use page::write_page;
pub use pattern::{Pattern, PatternKind};
pub use reading::Divergence;
pub use report::{write_json, write_judgement_json, write_levels_json, write_run_json};
pub use run::{Drift, RunComparison, Step, compare_runs, judge_run};
pub use run_table::write_run_table;
pub use table::{write_judgement, write_table};
