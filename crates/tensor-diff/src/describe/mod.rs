//! The second pass, the description of the first wrong tensor: the operation that made it from tensors that agree, and
//! its wrong values or their positions.

pub(crate) mod place;
pub(crate) mod places;
pub(crate) mod reading;
pub(crate) mod values;

use crate::chain;
use crate::chain::operation::{Operation, operation};
use crate::finding::Finding;
use crate::judge::Context;

/// The operation that makes the tensor.
pub(crate) fn operation_of(finding: &Finding<'_>) -> Option<Operation> {
    let Context { reference, candidate, .. } = finding.context;
    let layers = chain::layers(reference).max(chain::layers(candidate));
    operation(finding.row.name, layers, reference.header.loss.or(candidate.header.loss))
}
