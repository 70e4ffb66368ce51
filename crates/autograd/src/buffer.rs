//! Buffers, and the dispatch of operations to devices. This is the only file that distinguishes devices:
//! all other code calls an operation here, which passes it to the CPU or to CUDA.

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

/// Elements and their layout, in the type that the device's code takes.
enum View<'a, T> {
    Cpu(ArrayViewD<'a, T>),
    Cuda(cuda::View<'a>),
}

// ANCHOR_END: buffer

impl<T: Element> Buffer<T> {
    /// Copies elements to a device.
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

    /// The device that holds the elements.
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

/// The error for operands on different devices. [`Array`] checks that before, so no caller gets this error.
fn different_devices<R>(operation: &'static str) -> Result<R> {
    let (left, right) = ("one device".into(), "another".into());
    Err(ErrorKind::Devices { operation, left, right }.into())
}

fn on_cpu<T>(elements: Vec<T>) -> Result<Buffer<T>> {
    Ok(Buffer::Cpu(Arc::new(elements)))
}

// The operations that a device has to implement. Shapes have been checked, and all operands are on one
// device. The elements of a result are contiguous.

/// The elements in row-major order, in host memory.
pub(crate) fn to_vec<T: Element>(x: &Array<T>) -> Result<Vec<T>> {
    match view(x) {
        View::Cpu(x) => Ok(cpu::to_vec(&x)),
        View::Cuda(x) => cuda::to_vec(x).map(T::from_singles),
    }
}

/// A contiguous copy.
pub(crate) fn copy<T: Element>(x: &Array<T>) -> Result<Buffer<T>> {
    match view(x) {
        View::Cpu(x) => on_cpu(cpu::to_vec(&x)),
        View::Cuda(x) => cuda::copy(x).map(Buffer::Cuda),
    }
}

/// Applies a function to each element.
pub(crate) fn map<T: Element>(function: Unary<T>, x: &Array<T>) -> Result<Buffer<T>> {
    match view(x) {
        View::Cpu(x) => on_cpu(cpu::map(function, &x)),
        View::Cuda(x) => cuda::map(function, x).map(Buffer::Cuda),
    }
}

// ANCHOR: zip
/// Applies a function to each pair of elements of two arrays of the same shape.
pub(crate) fn zip<T: Element>(f: Binary, a: &Array<T>, b: &Array<T>) -> Result<Buffer<T>> {
    match (view(a), view(b)) {
        (View::Cpu(a), View::Cpu(b)) => on_cpu(cpu::zip(f, &a, &b)),
        (View::Cuda(a), View::Cuda(b)) => cuda::zip(f, a, b).map(Buffer::Cuda),
        _ => different_devices(f.name()),
    }
}

// ANCHOR_END: zip

/// `a · b` of the matrices `[m, k]` and `[k, n]`.
pub(crate) fn matmul<T: Element>(a: &Array<T>, b: &Array<T>) -> Result<Buffer<T>> {
    match (view(a), view(b)) {
        (View::Cpu(a), View::Cpu(b)) => on_cpu(cpu::matmul(&a, &b)),
        (View::Cuda(a), View::Cuda(b)) => cuda::matmul(a, b).map(Buffer::Cuda),
        _ => different_devices("matmul"),
    }
}

/// The sums over these axes.
pub(crate) fn sum<T: Element>(x: &Array<T>, axes: &[usize]) -> Result<Buffer<T>> {
    match view(x) {
        View::Cpu(x) => on_cpu(cpu::sum(&x, axes)),
        View::Cuda(x) => cuda::sum(x, axes).map(Buffer::Cuda),
    }
}

/// The largest elements along an axis that isn't empty.
pub(crate) fn max<T: Element>(x: &Array<T>, axis: usize) -> Result<Buffer<T>> {
    match view(x) {
        View::Cpu(x) => on_cpu(cpu::max(&x, axis)),
        View::Cuda(x) => cuda::max(x, axis).map(Buffer::Cuda),
    }
}

/// Zeros of a shape, with each part copied to the given start along an axis.
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
        Some(_) => different_devices("concat"),
    }
}

/// The rows with these indices, one after the other.
pub(crate) fn rows<T: Element>(x: &Array<T>, rows: &[usize]) -> Result<Buffer<T>> {
    match view(x) {
        View::Cpu(x) => on_cpu(cpu::rows(&x, rows)),
        View::Cuda(x) => cuda::rows(x, rows).map(Buffer::Cuda),
    }
}

/// Zeros of a shape, to which each row of `x` is added at the row with its index in `rows`.
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

/// `x += factor · y`, in place if the elements of `x` aren't shared. They are contiguous.
pub(crate) fn add_scaled<T: Element>(x: &mut Buffer<T>, factor: T, y: &Array<T>) -> Result<()> {
    match (x, view(y)) {
        (Buffer::Cpu(x), View::Cpu(y)) => {
            cpu::add_scaled(Arc::make_mut(x).as_mut_slice(), factor, &y);
            Ok(())
        }
        (Buffer::Cuda(x), View::Cuda(y)) => cuda::add_scaled(x, factor.to_f64() as f32, y),
        _ => different_devices("add"),
    }
}
