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
//! A dump lists its tensors in the order of computation. So the operation with the bug is the one that made the first
//! wrong tensor from tensors that agree. Tolerances are never chosen but derived, from the values themselves and the
//! rounding of every operation on the way to them.
//!
//! Two methods are independent of each other. [`compare`] compares a candidate with a reference, so
//! errors add up along the chain. [`judge`] recomputes each operation from the candidate's own inputs,
//! so errors don't add up, no reference is needed, and an earlier fault hides no later one. A tensor that
//! differs from the reference but is right by itself has inherited its difference.
//!
//! # Three passes over one result
//!
//! ```text
//! chain       the operations, a row each: inputs, rule for an element, bound, names of the indices
//!    |
//! judge       bounds (rounding), a verdict for each tensor with a reference (compare) and without (own),
//!    |        each step of a run, several candidates
//! finding     the first wrong tensor
//!    |
//! describe    the operation that made it, the inputs, and the positions of wrong elements
//!    |
//! explain     hypotheses: which mistake makes its numbers
//!    |
//! write       text tables, JSON (report), and an HTML page
//! ```

mod chain;
mod describe;
mod explain;
mod finding;
mod judge;
mod numeric;
mod write;

pub use finding::{Divergence, Pattern, PatternKind};
pub use judge::{
    Candidate, Comparison, Deviation, Drift, Judgement, Row, Rows, Run, RunComparison, Step,
    Verdict, compare, compare_runs, judge, judge_files, judge_run,
};
pub use write::{write_json, write_page, write_text};
