//! The operations on the GPU. Each launches one kernel or two.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaView, LaunchConfig};
use gpu::launch;
use gpu::launch::{line, matrix};
use gpu::{Read, Write};

use super::{Cuda, Elements, SHARED};
use crate::function::{Binary, Unary};
use crate::layout::Layout;
use crate::{Element, ErrorKind, Result};

/// Elements and their layout.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) elements: &'a Elements,
    pub(crate) layout: &'a Layout,
}

/// A range of a buffer with contiguous elements.
struct Flat {
    buffer: Arc<CudaSlice<f32>>,
    offset: usize,
    len: usize,
}

impl Flat {
    fn view(&self) -> CudaView<'_, f32> {
        self.buffer.slice(self.offset..self.offset + self.len)
    }
}

/// A grid with a warp for each row.
fn warps(rows: usize) -> LaunchConfig {
    let blocks = u32::try_from(rows).unwrap_or(u32::MAX);
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 }
}

impl View<'_> {
    fn cuda(&self) -> &Arc<Cuda> {
        &self.elements.cuda
    }

    /// The elements in row-major order: in place if they are contiguous, otherwise a copy.
    fn flat(self) -> Result<Flat> {
        let len = self.layout.len();
        if self.layout.is_contiguous() {
            let buffer = Arc::clone(&self.elements.buffer);
            // Without elements, the offset may be outside the buffer.
            let offset = if len == 0 { 0 } else { self.layout.offset };
            return Ok(Flat { buffer, offset, len });
        }
        Ok(Flat { buffer: Arc::clone(&copy(self)?.buffer), offset: 0, len })
    }
}

/// Lengths and strides of the same elements with exactly four axes; `None` if more axes are needed. Two
/// neighbouring axes are merged if a step along the first equals all steps along the second.
fn four_axes(layout: &Layout) -> Option<[(usize, usize); 4]> {
    let mut axes: Vec<(usize, usize)> = Vec::new();
    for (&length, &stride) in layout.shape.iter().zip(&layout.strides) {
        match axes.last_mut() {
            _ if length == 1 => {}
            Some(last) if last.1 == length * stride => *last = (last.0 * length, stride),
            _ => axes.push((length, stride)),
        }
    }
    while axes.len() < 4 {
        axes.insert(0, (1, 0));
    }
    axes.try_into().ok()
}

/// The elements in row-major order, in host memory. Waits for the device.
pub(crate) fn to_vec(x: View<'_>) -> Result<Vec<f32>> {
    let (cuda, flat) = (x.cuda(), x.flat()?);
    if flat.len == 0 {
        return Ok(Vec::new());
    }
    let copied = cuda.stream.clone_dtoh(&flat.view());
    let copied = cuda.check("copy from the device", copied)?;
    cuda.check("wait", cuda.stream.synchronize())?;
    Ok(copied)
}

/// The parameters of `copy_strided`: the elements, the copy, four lengths and four strides.
type CopyStrided = (Read, Write, usize, usize, usize, usize, usize, usize, usize, usize);

/// A contiguous copy.
pub(crate) fn copy(x: View<'_>) -> Result<Elements> {
    let (cuda, elements) = (x.cuda(), x.layout.len());
    let mut y = cuda.allocate(elements)?;
    let Some([(n0, s0), (n1, s1), (n2, s2), (n3, s3)]) = four_axes(x.layout) else {
        let (operation, device) = ("copy", cuda.name().to_owned());
        let reason = format!(
            "the kernel supports views with up to four axes, and this one has the shape {:?} and the \
            strides {:?}; reshape it to fewer axes first",
            x.layout.shape, x.layout.strides
        );
        return Err(ErrorKind::Device { operation, device, reason }.into());
    };
    if elements > 0 {
        let reach = 1 + (n0 - 1) * s0 + (n1 - 1) * s1 + (n2 - 1) * s2 + (n3 - 1) * s3;
        let (from, to) = (&x.elements.buffer.slice(x.layout.offset..), &mut y);
        let on = cuda.kernel::<CopyStrided>("copy_strided")?;
        let copied = launch!(on.function, line(elements), flops[0], read from[reach],
            write to[elements], n0, n1, n2, n3, s0, s1, s2, s3);
        cuda.launched("copy_strided", copied)?;
    }
    Ok(cuda.holding(y))
}

/// Applies a function to each element.
pub(crate) fn map<T: Element>(function: Unary<T>, x: View<'_>) -> Result<Elements> {
    let zero = T::zero();
    let (kernel, number) = match function {
        Unary::Pow(exponent) if exponent == T::one() => return copy(x),
        // Exact; a power computed with logarithms is not.
        Unary::Pow(exponent) if exponent == T::one() + T::one() => return zip(Binary::Mul, x, x),
        Unary::Neg => ("neg", zero),
        Unary::Exp => ("exp_", zero),
        Unary::Log => ("log_", zero),
        Unary::Relu => ("relu", zero),
        Unary::Tanh => ("tanh_", zero),
        Unary::Sigmoid => ("sigmoid", zero),
        Unary::Softplus => ("softplus", zero),
        Unary::Pow(exponent) => ("pow_", exponent),
        Unary::Scale(factor) => ("scale", factor),
        Unary::Shift(term) => ("shift", term),
    };
    let (cuda, x, number) = (x.cuda(), x.flat()?, number.to_f64() as f32);
    let mut y = cuda.allocate(x.len)?;
    let (from, to, elements) = (&x.view(), &mut y, x.len);
    let mapped = if SHARED.contains(&kernel) {
        let on = cuda.kernel::<(Read, Write, usize)>(kernel)?;
        launch!(on.function, line(elements), flops[elements],
            read from[elements], write to[elements], elements)
    } else {
        // Unlike the levels' kernels, this crate's own kernels also take a number, such as the factor of `scale`.
        let on = cuda.kernel::<(Read, Write, f32, usize)>(kernel)?;
        launch!(on.function, line(elements), flops[elements],
            read from[elements], write to[elements], number, elements)
    };
    cuda.launched(kernel, mapped)?;
    Ok(cuda.holding(y))
}

/// Applies a function to each pair of elements of two views of the same shape.
pub(crate) fn zip(function: Binary, a: View<'_>, b: View<'_>) -> Result<Elements> {
    let kernel = match function {
        Binary::Div => "div_",
        other => other.name(),
    };
    let (cuda, a, b) = (a.cuda(), a.flat()?, b.flat()?);
    let mut y = cuda.allocate(a.len)?;
    let (left, right, to, elements) = (&a.view(), &b.view(), &mut y, a.len);
    let on = cuda.kernel::<(Read, Read, Write, usize)>(kernel)?;
    let zipped = launch!(on.function, line(elements), flops[elements],
        read left[elements], read right[elements], write to[elements], elements);
    cuda.launched(kernel, zipped)?;
    Ok(cuda.holding(y))
}

// ANCHOR: matmul
/// `a · b` of the matrices `[m, k]` and `[k, n]`. A factor that is the transpose of a row-major matrix
/// isn't copied, because there are kernels for transposed factors.
pub(crate) fn matmul(a: View<'_>, b: View<'_>) -> Result<Elements> {
    let (m, k, n) = (a.layout.shape[0], a.layout.shape[1], b.layout.shape[1]);
    let transposed = |x: View<'_>| {
        let original = x.layout.transposed();
        (!x.layout.is_contiguous() && original.is_contiguous()).then_some(original)
    };
    let (at, bt) = (transposed(a), transposed(b));
    let (kernel, a_layout, b_layout) = match (&at, &bt) {
        (Some(at), None) => ("matmul_at_b", at, b.layout),
        // If both are transposed, the first is copied.
        (_, Some(bt)) => ("matmul_a_bt", a.layout, bt),
        (None, None) => ("matmul_a_b", a.layout, b.layout),
    };
    let cuda = a.cuda();
    let a = View { layout: a_layout, ..a }.flat()?;
    let b = View { layout: b_layout, ..b }.flat()?;
    let mut product = cuda.allocate(m * n)?;
    let (a, b, c) = (&a.view(), &b.view(), &mut product);
    let on = cuda.kernel::<(Read, Read, Write, usize, usize, usize)>(kernel)?;
    // The factors hold m·k and k·n elements, transposed or not.
    let multiplied = launch!(on.function, matrix(m, n), flops[2 * m * n * k],
        read a[m * k], read b[k * n], write c[m * n], m, n, k);
    cuda.launched(kernel, multiplied)?;
    Ok(cuda.holding(product))
}
// ANCHOR_END: matmul

/// The layout with `axes` moved to the end, the number of elements along the other axes, and the number along `axes`.
fn axes_last(layout: &Layout, axes: &[usize]) -> (Layout, usize, usize) {
    let others = (0..layout.shape.len()).filter(|axis| !axes.contains(axis));
    let order: Vec<usize> = others.chain(axes.iter().copied()).collect();
    let lengths = |axes: &[usize]| axes.iter().map(|&axis| layout.shape[axis]).product();
    let (rows, columns) = (lengths(&order[..order.len() - axes.len()]), lengths(axes));
    let view = Layout {
        shape: order.iter().map(|&axis| layout.shape[axis]).collect(),
        strides: order.iter().map(|&axis| layout.strides[axis]).collect(),
        offset: layout.offset,
    };
    (view, rows, columns)
}

/// The sums over these axes.
pub(crate) fn sum(x: View<'_>, axes: &[usize]) -> Result<Elements> {
    let cuda = x.cuda();
    if axes == [0] && x.layout.is_contiguous() && x.layout.shape.len() > 1 {
        // A sum over the batch, by level 2's kernel: along the columns, without transposing the matrix.
        let (x, batch) = (x.flat()?, x.layout.shape[0]);
        let n = x.len / batch.max(1);
        let mut sums = cuda.zeros(n)?;
        let (from, to) = (&x.view(), &mut sums);
        let on = cuda.kernel::<(Read, Write, usize, usize)>("sum_batch")?;
        let summed = launch!(on.function, line(n), flops[batch * n],
            read from[batch * n], write to[n], batch, n);
        cuda.launched("sum_batch", summed)?;
        return Ok(cuda.holding(sums));
    }
    let (layout, rows, columns) = axes_last(x.layout, axes);
    by_rows("sum_rows", View { layout: &layout, ..x }, rows, columns)
}

/// The largest elements along an axis that isn't empty.
pub(crate) fn max(x: View<'_>, axis: usize) -> Result<Elements> {
    let (layout, rows, columns) = axes_last(x.layout, &[axis]);
    by_rows("max_rows", View { layout: &layout, ..x }, rows, columns)
}

fn by_rows(kernel: &'static str, x: View<'_>, rows: usize, columns: usize) -> Result<Elements> {
    let (cuda, x) = (x.cuda(), x.flat()?);
    let mut y = cuda.allocate(rows)?;
    let (from, to) = (&x.view(), &mut y);
    let on = cuda.kernel::<(Read, Write, usize)>(kernel)?;
    let reduced = launch!(on.function, warps(rows), flops[rows * columns],
        read from[rows * columns], write to[rows], columns);
    cuda.launched(kernel, reduced)?;
    Ok(cuda.holding(y))
}

/// The parameters of `place`: a part, the whole, and five sizes: the elements before the axis, the part's
/// length, the elements after the axis, the part's start, and the length of the axis.
type Place = (Read, Write, usize, usize, usize, usize, usize);

/// Zeros of a shape, with each part copied to the given start along an axis. All parts are on this device.
pub(crate) fn assemble(
    cuda: &Arc<Cuda>,
    shape: &[usize],
    axis: usize,
    parts: &[(usize, View<'_>)],
) -> Result<Elements> {
    let (outer, length): (usize, usize) = (shape[..axis].iter().product(), shape[axis]);
    let inner: usize = shape[axis + 1..].iter().product();
    let mut whole = cuda.zeros(outer * length * inner)?;
    for &(start, part) in parts {
        let (along, part) = (part.layout.shape[axis], part.flat()?);
        let (from, to) = (&part.view(), &mut whole);
        let on = cuda.kernel::<Place>("place")?;
        // The part ends before the axis does.
        let placed = launch!(on.function, line(part.len), flops[0], read from[outer * along * inner],
            write to[outer * length * inner], outer, along, inner, start, length);
        cuda.launched("place", placed)?;
    }
    Ok(cuda.holding(whole))
}

/// Copies row indices to the device.
fn upload_indices(cuda: &Cuda, rows: &[usize]) -> Result<CudaSlice<u64>> {
    let rows: Vec<u64> = rows.iter().map(|&row| row as u64).collect();
    if rows.is_empty() {
        return cuda.check("allocate", cuda.stream.alloc_zeros(1));
    }
    cuda.check("copy to the device", cuda.stream.clone_htod(&rows))
}

/// The rows with these indices, one after the other.
pub(crate) fn rows(x: View<'_>, rows: &[usize]) -> Result<Elements> {
    let (cuda, count) = (x.cuda(), rows.len());
    let n: usize = x.layout.shape[1..].iter().product();
    let (x, numbers) = (x.flat()?, upload_indices(cuda, rows)?);
    let mut gathered = cuda.allocate(count * n)?;
    let (from, rows, to, held) = (&x.view(), &numbers, &mut gathered, x.len);
    let on = cuda.kernel::<(Read, Read, Write, usize, usize)>("gather_rows")?;
    // Every index is that of a row of `x`.
    let done = launch!(on.function, matrix(count, n), flops[0],
        read from[held], read rows[count], write to[count * n], count, n);
    cuda.launched("gather_rows", done)?;
    Ok(cuda.holding(gathered))
}

/// Zeros of a shape, to which each row of `x` is added at the row with its index in `rows`.
pub(crate) fn add_rows(x: View<'_>, rows: &[usize], shape: &[usize]) -> Result<Elements> {
    let (cuda, count) = (x.cuda(), rows.len());
    let n: usize = shape[1..].iter().product();
    let (x, numbers) = (x.flat()?, upload_indices(cuda, rows)?);
    let all = shape.iter().product();
    let mut whole = cuda.zeros(all)?;
    let (from, rows, to) = (&x.view(), &numbers, &mut whole);
    let on = cuda.kernel::<(Read, Read, Write, usize, usize)>("add_rows")?;
    // Every index is that of a row of `whole`.
    let added = launch!(on.function, line(n), flops[count * n],
        read from[count * n], read rows[count], update to[all], count, n);
    cuda.launched("add_rows", added)?;
    Ok(cuda.holding(whole))
}

/// `x += factor · y`, in place if the elements of `x` aren't shared. This is the kernel of the levels'
/// update, `w −= learning_rate · dw`.
pub(crate) fn add_scaled(x: &mut Elements, factor: f32, y: View<'_>) -> Result<()> {
    let cuda = Arc::clone(&x.cuda);
    let y = y.flat()?;
    if Arc::get_mut(&mut x.buffer).is_none() {
        let own = cuda.check("copy", cuda.stream.clone_dtod(&*x.buffer))?;
        x.buffer = Arc::new(own);
    }
    let Some(own) = Arc::get_mut(&mut x.buffer) else { return Ok(()) };
    let (learning_rate, gradient, elements) = (-factor, &y.view(), y.len);
    let on = cuda.kernel::<(Write, Read, f32, usize)>("update")?;
    let updated = launch!(on.function, line(elements), flops[2 * elements],
        update own[elements], read gradient[elements], learning_rate, elements);
    cuda.launched("update", updated)
}
