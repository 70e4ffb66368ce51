//! The operations on the CPU, with `ndarray`. Each takes arrays of any layout, and returns the
//! elements of its result in row-major order.

use ndarray::linalg::general_mat_mul;
use ndarray::{
    Array2, ArrayD, ArrayView2, ArrayViewD, ArrayViewMutD, Axis, IxDyn, ShapeBuilder, Slice, Zip,
};

use crate::Element;
use crate::function::{Binary, Unary};
use crate::layout::Layout;

/// A view of a buffer with a given layout.
pub(crate) fn view<'a, T>(buffer: &'a [T], layout: &Layout) -> ArrayViewD<'a, T> {
    let inside = "a layout stays within its buffer";
    if layout.len() == 0 {
        return ArrayViewD::from_shape(IxDyn(&layout.shape), &[]).expect(inside);
    }
    let shape = IxDyn(&layout.shape).strides(IxDyn(&layout.strides));
    ArrayViewD::from_shape(shape, &buffer[layout.offset..]).expect(inside)
}

/// A new buffer of this shape that `write` fills; at first it contains zeros.
fn filled<T: Element>(shape: &[usize], write: impl FnOnce(ArrayViewMutD<'_, T>)) -> Vec<T> {
    let mut buffer = vec![T::zero(); shape.iter().product()];
    write(ArrayViewMutD::from_shape(IxDyn(shape), &mut buffer).expect("a buffer of this size"));
    buffer
}

/// The elements in row-major order.
pub(crate) fn to_vec<T: Element>(x: &ArrayViewD<'_, T>) -> Vec<T> {
    each(x, |x| x)
}

/// Applies a function to each element.
pub(crate) fn map<T: Element>(function: Unary<T>, x: &ArrayViewD<'_, T>) -> Vec<T> {
    match function {
        Unary::Neg => each(x, |x| -x),
        Unary::Exp => each(x, Element::exp),
        Unary::Log => each(x, Element::ln),
        Unary::Relu => each(x, Element::relu),
        Unary::Tanh => each(x, Element::tanh),
        Unary::Sigmoid => each(x, Element::sigmoid),
        Unary::Softplus => each(x, Element::softplus),
        Unary::Pow(exponent) if exponent == T::one() => to_vec(x),
        Unary::Pow(exponent) if exponent == T::one() + T::one() => each(x, |x| x * x),
        Unary::Pow(exponent) => each(x, |x| x.powf(exponent)),
        Unary::Scale(factor) => each(x, |x| x * factor),
        Unary::Shift(term) => each(x, |x| x + term),
    }
}

fn each<T: Element>(x: &ArrayViewD<'_, T>, f: impl Fn(T) -> T) -> Vec<T> {
    match x.as_slice() {
        Some(x) => x.iter().map(|&x| f(x)).collect(),
        None => filled(x.shape(), |result| {
            Zip::from(result).and(x).for_each(|result, &x| *result = f(x));
        }),
    }
}

/// Applies a function to each pair of elements; both arrays have the same shape.
pub(crate) fn zip<T: Element>(
    function: Binary,
    a: &ArrayViewD<'_, T>,
    b: &ArrayViewD<'_, T>,
) -> Vec<T> {
    let (zero, one) = (T::zero(), T::one());
    match function {
        Binary::Add => pairs(a, b, |a, b| a + b),
        Binary::Sub => pairs(a, b, |a, b| a - b),
        Binary::Mul => pairs(a, b, |a, b| a * b),
        Binary::Div => pairs(a, b, |a, b| a / b),
        Binary::Equal => pairs(a, b, |a, b| if a == b { one } else { zero }),
        Binary::ReluBackward => pairs(a, b, |dy, x| if x > zero { dy } else { zero }),
        Binary::TanhBackward => pairs(a, b, |dy, y| dy * (one - y * y)),
        Binary::SigmoidBackward => pairs(a, b, |dy, y| dy * (y * (one - y))),
    }
}

fn pairs<T: Element>(
    a: &ArrayViewD<'_, T>,
    b: &ArrayViewD<'_, T>,
    f: impl Fn(T, T) -> T,
) -> Vec<T> {
    match (a.as_slice(), b.as_slice()) {
        (Some(a), Some(b)) => a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect(),
        _ => filled(a.shape(), |result| {
            Zip::from(result).and(a).and(b).for_each(|result, &a, &b| *result = f(a, b));
        }),
    }
}

/// `a · b` of the matrices `[m, k]` and `[k, n]`.
pub(crate) fn matmul<T: Element>(a: &ArrayViewD<'_, T>, b: &ArrayViewD<'_, T>) -> Vec<T> {
    let (a, b) = (matrix(a), matrix(b));
    // The result is row-major, whatever the layout of the factors.
    let mut c = Array2::zeros((a.nrows(), b.ncols()));
    general_mat_mul(T::one(), &a, &b, T::zero(), &mut c);
    c.into_raw_vec_and_offset().0
}

fn matrix<'a, T>(x: &ArrayViewD<'a, T>) -> ArrayView2<'a, T> {
    x.clone().into_dimensionality().expect("its shape has been checked")
}

/// The sums over these axes.
pub(crate) fn sum<T: Element>(x: &ArrayViewD<'_, T>, axes: &[usize]) -> Vec<T> {
    if axes.len() == x.ndim() {
        return vec![x.sum()];
    }
    let mut axes = axes.to_vec();
    axes.sort_unstable();
    // From the last axis to the first, so that the indices of the remaining axes stay valid.
    let mut sums: Option<ArrayD<T>> = None;
    for axis in axes.into_iter().rev() {
        sums = Some(match sums {
            Some(sums) => sums.sum_axis(Axis(axis)),
            None => x.sum_axis(Axis(axis)),
        });
    }
    sums.map_or_else(|| to_vec(x), |sums| to_vec(&sums.view()))
}

/// The largest elements along an axis; NaN if one of them is NaN.
pub(crate) fn max<T: Element>(x: &ArrayViewD<'_, T>, axis: usize) -> Vec<T> {
    let larger = |&a: &T, &b: &T| if b > a || b.partial_cmp(&b).is_none() { b } else { a };
    let first = x.index_axis(Axis(axis), 0).to_owned();
    let rest = x.slice_axis(Axis(axis), Slice::from(1..));
    let largest = rest.axis_iter(Axis(axis)).fold(first, |mut largest, next| {
        largest.zip_mut_with(&next, |a, b| *a = larger(a, b));
        largest
    });
    to_vec(&largest.view())
}

/// Zeros of a shape, with each part copied to the given start along an axis.
pub(crate) fn assemble<T: Element>(
    shape: &[usize],
    axis: usize,
    parts: &[(usize, ArrayViewD<'_, T>)],
) -> Vec<T> {
    filled(shape, |mut whole| {
        for (start, part) in parts {
            let place = Slice::from(*start..start + part.shape()[axis]);
            whole.slice_axis_mut(Axis(axis), place).assign(part);
        }
    })
}

/// The rows with these indices, one after the other.
pub(crate) fn rows<T: Element>(x: &ArrayViewD<'_, T>, rows: &[usize]) -> Vec<T> {
    to_vec(&x.select(Axis(0), rows).view())
}

/// Zeros of a shape, to which each row of `x` is added at the row with its index in `rows`.
pub(crate) fn add_rows<T: Element>(
    x: &ArrayViewD<'_, T>,
    rows: &[usize],
    shape: &[usize],
) -> Vec<T> {
    filled(shape, |mut whole| {
        for (&row, values) in rows.iter().zip(x.axis_iter(Axis(0))) {
            let mut place = whole.index_axis_mut(Axis(0), row);
            place.zip_mut_with(&values, |sum, &value| *sum = *sum + value);
        }
    })
}

/// `x += factor · y`, in place; the elements of `x` are contiguous.
pub(crate) fn add_scaled<T: Element>(x: &mut [T], factor: T, y: &ArrayViewD<'_, T>) {
    let add = |x: &mut T, y: &T| *x = *x + factor * *y;
    match y.as_slice() {
        Some(y) => x.iter_mut().zip(y).for_each(|(x, y)| add(x, y)),
        None => {
            let x = ArrayViewMutD::from_shape(y.shape(), &mut x[..y.len()]);
            let x = x.expect("a buffer of this size");
            Zip::from(x).and(y).for_each(add);
        }
    }
}
