//! Buffers: the one file that knows which devices there are. Everything above asks for an
//! operation; here it is decided who computes it.

use std::sync::Arc;

use ndarray::ArrayViewD;

use crate::cpu;
use crate::function::{Binary, Unary};
use crate::{Array, Device, Element, Result};

/// Elements in the memory of a device. A clone shares them.
#[derive(Clone, Debug)]
pub(crate) enum Buffer<T> {
    /// In this computer's memory.
    Cpu(Arc<Vec<T>>),
}

/// Elements and their layout, as the device's own library takes them.
enum View<'a, T> {
    Cpu(ArrayViewD<'a, T>),
}

impl<T: Element> Buffer<T> {
    /// Brings elements to a device.
    pub(crate) fn new(elements: Vec<T>, device: &Device) -> Result<Self> {
        match device {
            Device::Cpu => Ok(Self::Cpu(Arc::new(elements))),
        }
    }

    /// Where the elements are.
    pub(crate) const fn device(&self) -> Device {
        match self {
            Self::Cpu(_) => Device::Cpu,
        }
    }
}

fn view<T: Element>(x: &Array<T>) -> View<'_, T> {
    match &x.buffer {
        Buffer::Cpu(elements) => View::Cpu(cpu::view(elements, &x.layout)),
    }
}

fn on_cpu<T>(elements: Vec<T>) -> Result<Buffer<T>> {
    Ok(Buffer::Cpu(Arc::new(elements)))
}

// What follows is all that a device has to be able to do. Shapes have been checked, and operands
// are on one device; the elements of a result lie one after the other.

/// The elements in this computer's memory, one after the other.
pub(crate) fn to_vec<T: Element>(x: &Array<T>) -> Result<Vec<T>> {
    match view(x) {
        View::Cpu(x) => Ok(cpu::to_vec(&x)),
    }
}

/// The same elements, one after the other.
pub(crate) fn copy<T: Element>(x: &Array<T>) -> Result<Buffer<T>> {
    match view(x) {
        View::Cpu(x) => on_cpu(cpu::to_vec(&x)),
    }
}

/// A function of each element.
pub(crate) fn map<T: Element>(function: Unary<T>, x: &Array<T>) -> Result<Buffer<T>> {
    match view(x) {
        View::Cpu(x) => on_cpu(cpu::map(function, &x)),
    }
}

/// A function of each pair of elements of two arrays of the same shape.
pub(crate) fn zip<T: Element>(f: Binary, a: &Array<T>, b: &Array<T>) -> Result<Buffer<T>> {
    match (view(a), view(b)) {
        (View::Cpu(a), View::Cpu(b)) => on_cpu(cpu::zip(f, &a, &b)),
    }
}

/// `a · b` of the matrices `[m, k]` and `[k, n]`.
pub(crate) fn matmul<T: Element>(a: &Array<T>, b: &Array<T>) -> Result<Buffer<T>> {
    match (view(a), view(b)) {
        (View::Cpu(a), View::Cpu(b)) => on_cpu(cpu::matmul(&a, &b)),
    }
}

/// The sums over some axes.
pub(crate) fn sum<T: Element>(x: &Array<T>, axes: &[usize]) -> Result<Buffer<T>> {
    match view(x) {
        View::Cpu(x) => on_cpu(cpu::sum(&x, axes)),
    }
}

/// The largest elements along an axis, which is not empty.
pub(crate) fn max<T: Element>(x: &Array<T>, axis: usize) -> Result<Buffer<T>> {
    match view(x) {
        View::Cpu(x) => on_cpu(cpu::max(&x, axis)),
    }
}

/// Zeros of a shape, with each part copied to where it begins along an axis.
pub(crate) fn assemble<T: Element>(
    shape: &[usize],
    axis: usize,
    parts: &[(usize, &Array<T>)],
) -> Result<Buffer<T>> {
    let views = parts.iter().map(|&(start, part)| match view(part) {
        View::Cpu(part) => (start, part),
    });
    on_cpu(cpu::assemble(shape, axis, &views.collect::<Vec<_>>()))
}

/// The rows of these numbers, one after the other.
pub(crate) fn rows<T: Element>(x: &Array<T>, rows: &[usize]) -> Result<Buffer<T>> {
    match view(x) {
        View::Cpu(x) => on_cpu(cpu::rows(&x, rows)),
    }
}

/// Zeros of a shape, with each row of `x` added to the row of its number.
pub(crate) fn add_rows<T: Element>(
    x: &Array<T>,
    rows: &[usize],
    shape: &[usize],
) -> Result<Buffer<T>> {
    match view(x) {
        View::Cpu(x) => on_cpu(cpu::add_rows(&x, rows, shape)),
    }
}

/// `x += factor · y`, in place where nobody else shares the elements of `x`, which lie one after
/// the other.
pub(crate) fn add_scaled<T: Element>(x: &mut Buffer<T>, factor: T, y: &Array<T>) -> Result<()> {
    match (x, view(y)) {
        (Buffer::Cpu(x), View::Cpu(y)) => {
            cpu::add_scaled(Arc::make_mut(x).as_mut_slice(), factor, &y);
            Ok(())
        }
    }
}
