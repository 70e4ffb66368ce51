//! Compares two dumps of the same training step and names the first tensor that differs.
//!
//! "Isolate and conquer": a dump lists its tensors in the order of computation, so the first one
//! that is wrong is made, from tensors that agree, by the operation that has the bug. How far a
//! tensor may be off is never chosen but derived, from the values themselves and the rounding of
//! every operation on the way to them.
//!
//! ```text
//! rounding    what one operation may err by          chain     the reference's values
//!        \                                          /
//!         bounds (output: p and the loss; product: the matrix products)
//!            |
//!         compare ── order        a verdict for each tensor
//!            |
//!         reading ── operation, pattern (wrong_operation, shape_of_error)      the first divergence
//!            |
//!         table, report           for people, for programs
//! ```

mod bounds;
mod chain;
mod compare;
mod operation;
mod order;
mod output;
mod pattern;
mod product;
mod reading;
mod report;
mod rounding;
mod shape_of_error;
mod table;
mod wrong_operation;

pub use compare::{Comparison, Deviation, Row, Verdict, compare};
pub use pattern::{Pattern, PatternKind};
pub use reading::Divergence;
pub use report::write_json;
pub use table::write_table;
