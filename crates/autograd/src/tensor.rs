//! Tensors: values with the graph of operations that computed them.

use std::cell::{Cell, Ref, RefCell};
use std::fmt;
use std::panic::Location;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::no_grad::recording;
use crate::{Array, Device, Element, Error, ErrorKind, Result};

/// A value, and the operations that computed it. A clone is the same tensor. It can't be sent to another thread.
///
/// An operation that fails also returns a tensor: one that holds the [`Error`] instead of a value, and
/// passes it on to every result computed from it, like NaN among numbers. So formulas can be written
/// without `?`. The first call that returns a [`Result`] returns the error, with the line of the operation:
/// [`into_result`](Self::into_result), [`item`](Self::item), [`shape`](Self::shape), [`backward`](Self::backward), ….
// ANCHOR: tensor
#[derive(Clone)]
#[must_use = "an operation only returns a result, which may hold an error that has to be checked"]
pub struct Tensor<T: Element>(Result<Rc<Node<T>>>);

/// One node of the graph.
pub(crate) struct Node<T: Element> {
    /// The node's number in the order of creation: a node's operands have smaller numbers.
    pub(crate) id: u64,
    pub(crate) value: RefCell<Array<T>>,
    /// The gradient; only stored for parameters, and after `retain_grad`.
    pub(crate) gradient: RefCell<Option<Array<T>>>,
    /// Whether gradients flow to here.
    pub(crate) requires_grad: bool,
    pub(crate) retain_grad: Cell<bool>,
    /// The operation that computed the value; `None` in a *leaf*, which the program created.
    pub(crate) origin: Option<Origin<T>>,
    /// The number of changes to the value in place.
    pub(crate) version: Cell<u64>,
    pub(crate) name: RefCell<Option<String>>,
}

/// The operation that computed a node.
pub(crate) struct Origin<T: Element> {
    pub(crate) operation: &'static str,
    pub(crate) at: &'static Location<'static>,
    pub(crate) operands: Vec<Operand<T>>,
}

/// An operand of the operation that computed a node.
pub(crate) struct Operand<T: Element> {
    pub(crate) node: Rc<Node<T>>,
    /// The operand's version when it was used.
    pub(crate) version: u64,
    /// Computes this operand's gradient from the result's; `None` if no gradient is needed.
    pub(crate) pullback: Option<Pullback<T>>,
}

/// A rule for a gradient: from `dy`, which has the shape of the result, to `dx`, which has the
/// shape of the operand.
pub(crate) type Pullback<T> = Box<dyn Fn(&Array<T>) -> Result<Array<T>>>;
// ANCHOR_END: tensor

/// The id of the next node.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

impl<T: Element> Node<T> {
    fn new(value: Array<T>, requires_grad: bool, origin: Option<Origin<T>>) -> Self {
        Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            value: RefCell::new(value),
            gradient: RefCell::new(None),
            requires_grad,
            retain_grad: Cell::new(false),
            origin,
            version: Cell::new(0),
            name: RefCell::new(None),
        }
    }

    /// A description for error messages.
    pub(crate) fn describe(&self) -> String {
        let shape = self.value.borrow().shape().to_vec();
        match (&*self.name.borrow(), &self.origin) {
            (Some(name), _) => format!("the tensor {name} of the shape {shape:?}"),
            (None, Some(origin)) => {
                format!("the result of {} of the shape {shape:?}", origin.operation)
            }
            (None, None) => format!("a tensor of the shape {shape:?}"),
        }
    }
}

// ANCHOR: drop
/// Dropping a node drops its operands, and so on down the graph. As a recursion, that would overflow the
/// stack for a graph of a million nodes, so here nodes without owners are collected in a list and
/// dropped one after the other.
impl<T: Element> Drop for Node<T> {
    fn drop(&mut self) {
        let take = |node: &mut Self| node.origin.take().map(|origin| origin.operands);
        let mut orphans = take(self).unwrap_or_default();
        while let Some(operand) = orphans.pop() {
            if let Some(mut node) = Rc::into_inner(operand.node) {
                orphans.extend(take(&mut node).unwrap_or_default());
            }
        }
    }
}
// ANCHOR_END: drop

impl<T: Element> Tensor<T> {
    /// A tensor of this shape with these elements, row-major, on the CPU. No gradient flows to it
    /// before [`requires_grad`](Self::requires_grad) is called.
    #[track_caller]
    pub fn new(shape: impl AsRef<[usize]>, elements: Vec<T>) -> Self {
        Self::leaf(Location::caller(), Array::new(shape.as_ref(), elements), false)
    }

    /// A single number, of the shape `[]`.
    #[track_caller]
    pub fn scalar(value: T) -> Self {
        Self::new([], vec![value])
    }

    /// Zeros.
    #[track_caller]
    pub fn zeros(shape: impl AsRef<[usize]>) -> Self {
        Self::full(shape, T::zero())
    }

    /// A tensor filled with one number.
    #[track_caller]
    pub fn full(shape: impl AsRef<[usize]>, value: T) -> Self {
        Self::leaf(Location::caller(), Array::full(shape.as_ref(), value, &Device::Cpu), false)
    }

    fn leaf(at: &'static Location<'static>, value: Result<Array<T>>, requires_grad: bool) -> Self {
        let node = value.map(|value| Rc::new(Node::new(value, requires_grad, None)));
        Self(node.map_err(|error| error.at(at)))
    }

    pub(crate) fn node(&self) -> Result<&Rc<Node<T>>> {
        self.0.as_ref().map_err(Clone::clone)
    }

    /// A parameter: a new leaf with the same values, to which gradients flow.
    #[track_caller]
    pub fn requires_grad(&self) -> Self {
        self.new_leaf(Location::caller(), true)
    }

    /// A new leaf with the same values and without their graph, so that no gradient flows through it. The
    /// values are not copied.
    #[track_caller]
    pub fn detach(&self) -> Self {
        self.new_leaf(Location::caller(), false)
    }

    /// Sets a name for error messages and drawings.
    pub fn named(self, name: impl Into<String>) -> Self {
        if let Ok(node) = &self.0 {
            *node.name.borrow_mut() = Some(name.into());
        }
        self
    }

    /// A leaf with the same values and name.
    fn new_leaf(&self, at: &'static Location<'static>, requires_grad: bool) -> Self {
        let leaf = Self::leaf(at, self.value(), requires_grad);
        match self.0.as_ref().ok().and_then(|node| node.name.borrow().clone()) {
            Some(name) => leaf.named(name),
            None => leaf,
        }
    }

    /// The tensor itself, or the error that it holds.
    ///
    /// # Errors
    /// The error that it holds.
    pub fn into_result(self) -> Result<Self> {
        self.node()?;
        Ok(self)
    }

    /// The length of each axis.
    ///
    /// # Errors
    /// The error that it holds.
    pub fn shape(&self) -> Result<Vec<usize>> {
        Ok(self.array()?.shape().to_vec())
    }

    /// The device that it is on.
    ///
    /// # Errors
    /// The error that it holds.
    pub fn device(&self) -> Result<Device> {
        Ok(self.array()?.device())
    }

    /// The values of the tensor, shared and not copied.
    ///
    /// # Errors
    /// The error that it holds.
    pub fn value(&self) -> Result<Array<T>> {
        Ok(self.array()?.clone())
    }

    pub(crate) fn array(&self) -> Result<Ref<'_, Array<T>>> {
        Ok(self.node()?.value.borrow())
    }

    /// The elements of the tensor in row-major order, copied to the CPU.
    ///
    /// # Errors
    /// The error that it holds, or an error of the device.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.array()?.to_vec()
    }

    /// The number in a tensor of one element.
    ///
    /// # Errors
    /// The error that it holds; [`ErrorKind::Shape`] if the number of elements is not 1.
    #[track_caller]
    pub fn item(&self) -> Result<T> {
        let at = Location::caller();
        match self.to_vec()?[..] {
            [value] => Ok(value),
            _ => {
                let reason = "it has to have exactly one element".into();
                let shape = self.shape()?;
                Err(Error::from(ErrorKind::Shape { operation: "item", shape, reason }).at(at))
            }
        }
    }

    /// The gradient of the tensor: the sum over all calls of [`backward`](Self::backward) since the last
    /// [`zero_grad`](Self::zero_grad). `None` before the first call, and for a tensor that is neither a parameter nor
    /// was asked to [`retain_grad`](Self::retain_grad).
    ///
    /// # Errors
    /// The error that it holds.
    pub fn grad(&self) -> Result<Option<Array<T>>> {
        Ok(self.node()?.gradient.borrow().clone())
    }

    /// Removes its gradient.
    ///
    /// # Errors
    /// The error that it holds.
    pub fn zero_grad(&self) -> Result<()> {
        *self.node()?.gradient.borrow_mut() = None;
        Ok(())
    }

    /// Keeps the gradient of a tensor that isn't a parameter. Otherwise it is dropped as soon as the
    /// gradients of its operands have been computed.
    ///
    /// # Errors
    /// The error that it holds.
    pub fn retain_grad(&self) -> Result<()> {
        self.node()?.retain_grad.set(true);
        Ok(())
    }

    // ANCHOR: record
    /// The result of an operation: its value and, if any of the operands needs a gradient, the rules for the
    /// operands' gradients.
    pub(crate) fn record(
        operation: &'static str,
        at: &'static Location<'static>,
        operands: &[&Self],
        compute: impl FnOnce(&[Array<T>]) -> Result<(Array<T>, Vec<Pullback<T>>)>,
    ) -> Self {
        let run = || {
            let nodes: Vec<&Rc<Node<T>>> =
                operands.iter().map(|tensor| tensor.node()).collect::<Result<_>>()?;
            let values: Vec<Array<T>> =
                nodes.iter().map(|node| node.value.borrow().clone()).collect();
            let (value, pullbacks) = compute(&values)?;

            if !recording() || !nodes.iter().any(|node| node.requires_grad) {
                return Ok(Node::new(value, false, None));
            }
            let operand = |(node, pullback): (&Rc<Node<T>>, Pullback<T>)| Operand {
                node: Rc::clone(node),
                version: node.version.get(),
                pullback: node.requires_grad.then_some(pullback),
            };
            let operands = nodes.into_iter().zip(pullbacks).map(operand).collect();
            Ok(Node::new(value, true, Some(Origin { operation, at, operands })))
        };
        Self(run().map(Rc::new).map_err(|error: Error| error.at(at)))
    }
    // ANCHOR_END: record
}

impl<T: Element> From<Array<T>> for Tensor<T> {
    #[track_caller]
    fn from(value: Array<T>) -> Self {
        Self::leaf(Location::caller(), Ok(value), false)
    }
}

impl<T: Element> From<Error> for Tensor<T> {
    fn from(error: Error) -> Self {
        Self(Err(error))
    }
}

impl<T: Element> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node().and_then(|node| Ok((node, self.to_vec()?))) {
            Ok((node, elements)) => {
                write!(f, "{}, {}: {elements:?}", node.describe(), T::NAME)
            }
            Err(error) => write!(f, "Tensor({error})"),
        }
    }
}
