//! Buffers: the one file that knows which devices there are. Everything above asks for an
//! operation; here it is decided who computes it.

use std::sync::Arc;

use ndarray::ArrayViewD;

use crate::function::{Binary, Unary};
use crate::{Array, Device, Element, ErrorKind, Result};
use crate::{cpu, cuda};

// ANCHOR: buffer
/// Elements in the memory of a device. A clone shares them.
#[derive(Clone, Debug)]
pub(crate) enum Buffer<T> {
    /// In this computer's memory.
    Cpu(Arc<Vec<T>>),
    /// In a GPU's memory; `T` is `f32`.
    Cuda(cuda::Elements),
}

/// Elements and their layout, as the device's own library takes them.
enum View<'a, T> {
    Cpu(ArrayViewD<'a, T>),
    Cuda(cuda::View<'a>),
}

// ANCHOR_END: buffer

impl<T: Element> Buffer<T> {
    /// Brings elements to a device.
    pub(crate) fn new(elements: Vec<T>, device: &Device) -> Result<Self> {
        match device {
            Device::Cpu => Ok(Self::Cpu(Arc::new(elements))),
            Device::Cuda(cuda) => match T::into_singles(elements) {
                Some(elements) => cuda.upload(&elements).map(Self::Cuda),
                None => {
                    let reason = format!("its kernels compute in f32, and this is {}", T::NAME);
                    let device = device.to_string();
                    Err(ErrorKind::Device { operation: "to", device, reason }.into())
                }
            },
        }
    }

    /// Where the elements are.
    pub(crate) fn device(&self) -> Device {
        match self {
            Self::Cpu(_) => Device::Cpu,
            Self::Cuda(elements) => Device::Cuda(Arc::clone(&elements.cuda)),
        }
    }
}

fn view<T: Element>(x: &Array<T>) -> View<'_, T> {
    match &x.buffer {
        Buffer::Cpu(elements) => View::Cpu(cpu::view(elements, &x.layout)),
        Buffer::Cuda(elements) => View::Cuda(cuda::View { elements, layout: &x.layout }),
    }
}

/// Two operands that are not in one memory, which is known before an operation gets here.
fn apart<R>(operation: &'static str) -> Result<R> {
    let (left, right) = ("one device".into(), "another".into());
    Err(ErrorKind::Devices { operation, left, right }.into())
}

/// A function with its number in the precision of the GPU.
fn single<T: Element>(function: Unary<T>) -> Unary<f32> {
    let number = |number: T| number.to_f64() as f32;
    match function {
        Unary::Neg => Unary::Neg,
        Unary::Exp => Unary::Exp,
        Unary::Log => Unary::Log,
        Unary::Relu => Unary::Relu,
        Unary::Tanh => Unary::Tanh,
        Unary::Sigmoid => Unary::Sigmoid,
        Unary::Softplus => Unary::Softplus,
        Unary::Pow(exponent) => Unary::Pow(number(exponent)),
        Unary::Scale(factor) => Unary::Scale(number(factor)),
        Unary::Shift(term) => Unary::Shift(number(term)),
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
        View::Cuda(x) => cuda::to_vec(x).map(T::from_singles),
    }
}

/// The same elements, one after the other.
pub(crate) fn copy<T: Element>(x: &Array<T>) -> Result<Buffer<T>> {
    match view(x) {
        View::Cpu(x) => on_cpu(cpu::to_vec(&x)),
        View::Cuda(x) => cuda::copy(x).map(Buffer::Cuda),
    }
}

/// A function of each element.
pub(crate) fn map<T: Element>(function: Unary<T>, x: &Array<T>) -> Result<Buffer<T>> {
    match view(x) {
        View::Cpu(x) => on_cpu(cpu::map(function, &x)),
        View::Cuda(x) => cuda::map(single(function), x).map(Buffer::Cuda),
    }
}

// ANCHOR: zip
/// A function of each pair of elements of two arrays of the same shape.
pub(crate) fn zip<T: Element>(f: Binary, a: &Array<T>, b: &Array<T>) -> Result<Buffer<T>> {
    match (view(a), view(b)) {
        (View::Cpu(a), View::Cpu(b)) => on_cpu(cpu::zip(f, &a, &b)),
        (View::Cuda(a), View::Cuda(b)) => cuda::zip(f, a, b).map(Buffer::Cuda),
        _ => apart(f.name()),
    }
}

// ANCHOR_END: zip

/// `a · b` of the matrices `[m, k]` and `[k, n]`.
pub(crate) fn matmul<T: Element>(a: &Array<T>, b: &Array<T>) -> Result<Buffer<T>> {
    match (view(a), view(b)) {
        (View::Cpu(a), View::Cpu(b)) => on_cpu(cpu::matmul(&a, &b)),
        (View::Cuda(a), View::Cuda(b)) => cuda::matmul(a, b).map(Buffer::Cuda),
        _ => apart("matmul"),
    }
}

/// The sums over some axes.
pub(crate) fn sum<T: Element>(x: &Array<T>, axes: &[usize]) -> Result<Buffer<T>> {
    match view(x) {
        View::Cpu(x) => on_cpu(cpu::sum(&x, axes)),
        View::Cuda(x) => cuda::sum(x, axes).map(Buffer::Cuda),
    }
}

/// The largest elements along an axis, which is not empty.
pub(crate) fn max<T: Element>(x: &Array<T>, axis: usize) -> Result<Buffer<T>> {
    match view(x) {
        View::Cpu(x) => on_cpu(cpu::max(&x, axis)),
        View::Cuda(x) => cuda::max(x, axis).map(Buffer::Cuda),
    }
}

/// Zeros of a shape, with each part copied to where it begins along an axis.
pub(crate) fn assemble<T: Element>(
    shape: &[usize],
    axis: usize,
    parts: &[(usize, &Array<T>)],
) -> Result<Buffer<T>> {
    let (mut on_cpu_parts, mut on_cuda_parts) = (Vec::new(), Vec::new());
    for &(start, part) in parts {
        match view(part) {
            View::Cpu(part) => on_cpu_parts.push((start, part)),
            View::Cuda(part) => on_cuda_parts.push((start, part)),
        }
    }
    match on_cuda_parts.first() {
        None => on_cpu(cpu::assemble(shape, axis, &on_cpu_parts)),
        Some((_, first)) if on_cpu_parts.is_empty() => {
            let cuda = &first.elements.cuda;
            cuda::assemble(cuda, shape, axis, &on_cuda_parts).map(Buffer::Cuda)
        }
        Some(_) => apart("concat"),
    }
}

/// The rows of these numbers, one after the other.
pub(crate) fn rows<T: Element>(x: &Array<T>, rows: &[usize]) -> Result<Buffer<T>> {
    match view(x) {
        View::Cpu(x) => on_cpu(cpu::rows(&x, rows)),
        View::Cuda(x) => cuda::rows(x, rows).map(Buffer::Cuda),
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
        View::Cuda(x) => cuda::add_rows(x, rows, shape).map(Buffer::Cuda),
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
        (Buffer::Cuda(x), View::Cuda(y)) => cuda::add_scaled(x, factor.to_f64() as f32, y),
        _ => apart("add"),
    }
}
