//! Operations that change a tensor in place.

use std::panic::Location;

use crate::array::shapes_error;
use crate::{Array, Device, Element, Error, ErrorKind, Result, Tensor};

impl<T: Element> Tensor<T> {
    // ANCHOR: in_place
    /// `w −= learning_rate · gradient`, in place: the update of gradient descent. It is not
    /// recorded in the graph, and all clones of this tensor have the new values.
    ///
    /// # Errors
    /// [`ErrorKind::NotALeaf`] if this is a result; [`ErrorKind::NoGradient`] if it has no gradient; an error
    /// of the device.
    #[track_caller]
    pub fn update(&self, learning_rate: T) -> Result<()> {
        let at = Location::caller();
        let update = || {
            let node = self.node()?;
            let gradient = node.gradient.borrow().clone();
            let what = node.describe();
            self.change("update", |value| match gradient {
                Some(gradient) => value.add_scaled(-learning_rate, &gradient),
                None => Err(ErrorKind::NoGradient { what }.into()),
            })
        };
        update().map_err(|error: Error| error.at(at))
    }

    /// Replaces the values by others of the same shape, in place.
    ///
    /// # Errors
    /// [`ErrorKind::NotALeaf`] if this is a result; [`ErrorKind::Shapes`] or [`ErrorKind::Devices`] if the
    /// values have another shape or are on another device.
    #[track_caller]
    pub fn assign(&self, values: &Array<T>) -> Result<()> {
        let at = Location::caller();
        self.change("assign", |value| {
            value.same_device("assign", values)?;
            if value.shape() != values.shape() {
                return Err(shapes_error(
                    "assign",
                    value,
                    values,
                    "the shapes have to be the same",
                ));
            }
            *value = values.clone();
            Ok(())
        })
        .map_err(|error| error.at(at))
    }

    /// Changes a leaf, and increases its version, by which `backward` detects graphs that used the old values.
    fn change(
        &self,
        operation: &'static str,
        change: impl FnOnce(&mut Array<T>) -> Result<()>,
    ) -> Result<()> {
        let node = self.node()?;
        if node.origin.is_some() {
            return Err(ErrorKind::NotALeaf { operation, what: node.describe() }.into());
        }
        // The value is moved out of the node while it is changed, so that only old graphs and views can share its
        // elements.
        let empty = Array::full(&[], T::zero(), &Device::Cpu)?;
        let mut value = node.value.replace(empty);
        let outcome = change(&mut value);
        node.value.replace(value);
        node.version.set(node.version.get() + u64::from(outcome.is_ok()));
        outcome
    }
    // ANCHOR_END: in_place
}
