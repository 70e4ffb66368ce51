//! The backward pass: from a loss to the gradients of everything that it was computed from.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::panic::Location;
use std::rc::Rc;

use crate::tensor::{Node, Operand, Origin};
use crate::{Array, Element, Error, ErrorKind, Result, Tensor};

impl<T: Element> Tensor<T> {
    /// Computes the gradient of this number with respect to every parameter that it was computed
    /// from, and adds it to the gradient that the parameter has.
    ///
    /// # Errors
    /// The error that this tensor holds; [`ErrorKind::NotScalar`] if it is not one number;
    /// [`ErrorKind::NoGraph`] if no tensor that it was computed from requires a gradient;
    /// [`ErrorKind::ChangedInPlace`] if a tensor of its graph has been changed in place since; or an error of
    /// the device. On an error, all gradients are as they were.
    #[track_caller]
    pub fn backward(&self) -> Result<()> {
        let at = Location::caller();
        backward(self.node()?).map_err(|error: Error| error.at(at))
    }
}

// ANCHOR: backward
fn backward<T: Element>(loss: &Rc<Node<T>>) -> Result<()> {
    let value = loss.value.borrow();
    if value.len() != 1 {
        return Err(ErrorKind::NotScalar { shape: value.shape().to_vec() }.into());
    }
    if !loss.requires_grad {
        return Err(ErrorKind::NoGraph { what: loss.describe() }.into());
    }

    // The gradient of the loss with respect to itself is 1.
    let mut gradients = HashMap::new();
    gradients.insert(loss.id, Array::full(value.shape(), T::one(), &value.device())?);
    let mut kept = Vec::new();
    for node in youngest_first(loss, |operand| operand.pullback.is_some()) {
        // All nodes that use this one are younger and have been processed, so its gradient is complete.
        let Some(dy) = gradients.remove(&node.id) else { continue };
        if let Some(origin) = &node.origin {
            for operand in &origin.operands {
                let Some(dx) = pull_back(origin, operand, &dy)? else { continue };
                // A node that was used twice gets the sum of both gradients.
                match gradients.get_mut(&operand.node.id) {
                    Some(sum) => Array::add_scaled(sum, T::one(), &dx)?,
                    None => drop(gradients.insert(operand.node.id, dx)),
                }
            }
        }
        if node.origin.is_none() || node.retain_grad.get() {
            kept.push((node, dy));
        }
    }
    // Stored only now, so that an error above leaves every gradient as it was.
    kept.into_iter().try_for_each(|(node, gradient)| accumulate(&node, gradient))
}

/// The gradient of an operand, if it needs one.
fn pull_back<T: Element>(
    origin: &Origin<T>,
    operand: &Operand<T>,
    dy: &Array<T>,
) -> Result<Option<Array<T>>> {
    if operand.node.version.get() != operand.version {
        let (operation, used) = (origin.operation, origin.at);
        let what = operand.node.describe();
        return Err(ErrorKind::ChangedInPlace { operation, used, what }.into());
    }
    operand.pullback.as_ref().map(|pullback| pullback(dy)).transpose()
}

/// A node and all nodes that it was computed from, the youngest first; operands that `follows` rejects are left out.
/// This is a topological order, because an operand is always older than its result. The search is not recursive.
pub(crate) fn youngest_first<T: Element>(
    node: &Rc<Node<T>>,
    follows: impl Fn(&Operand<T>) -> bool,
) -> Vec<Rc<Node<T>>> {
    let mut reached = vec![Rc::clone(node)];
    let mut seen = HashSet::from([node.id]);
    let mut next = 0;
    while let Some(node) = reached.get(next).cloned() {
        next += 1;
        for operand in node.origin.iter().flat_map(|origin| &origin.operands) {
            if follows(operand) && seen.insert(operand.node.id) {
                reached.push(Rc::clone(&operand.node));
            }
        }
    }
    reached.sort_unstable_by_key(|node| Reverse(node.id));
    reached
}

/// Adds to a node's gradient.
fn accumulate<T: Element>(node: &Node<T>, gradient: Array<T>) -> Result<()> {
    let mut slot = node.gradient.borrow_mut();
    match &mut *slot {
        Some(sum) => sum.add_scaled(T::one(), &gradient),
        None => {
            *slot = Some(gradient);
            Ok(())
        }
    }
}
// ANCHOR_END: backward
