//! The operations, each on flat row-major buffers. The kernels of the lower levels have the same names.
//!
//! A buffer is a plain slice, and its shape is passed as numbers, as in C and in CUDA: matrix
//! `a` of shape `[m, k]` has its element `[i, j]` at `a[i * k + j]`. The products use `ndarray`'s views of
//! the slices, which copy nothing; a transpose is a view with its strides exchanged.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};

/// A view of a flat buffer as a `[rows, cols]` matrix.
pub fn matrix(buffer: &[f32], rows: usize, cols: usize) -> ArrayView2<'_, f32> {
    ArrayView2::from_shape((rows, cols), buffer).expect("the buffer holds rows * cols elements")
}

/// A mutable view of a flat buffer as a `[rows, cols]` matrix.
pub fn matrix_mut(buffer: &mut [f32], rows: usize, cols: usize) -> ArrayViewMut2<'_, f32> {
    ArrayViewMut2::from_shape((rows, cols), buffer).expect("the buffer holds rows * cols elements")
}

// ANCHOR: matmul
/// `c = a · bᵀ`, where `a` is `[m, k]`, `b` is `[n, k]` and `c` is `[m, n]`.
pub fn matmul_a_bt(a: &[f32], b: &[f32], c: &mut [f32], m: usize, n: usize, k: usize) {
    general_mat_mul(1.0, &matrix(a, m, k), &matrix(b, n, k).t(), 0.0, &mut matrix_mut(c, m, n));
}

/// `c = aᵀ · b`, where `a` is `[k, m]`, `b` is `[k, n]` and `c` is `[m, n]`.
pub fn matmul_at_b(a: &[f32], b: &[f32], c: &mut [f32], m: usize, n: usize, k: usize) {
    general_mat_mul(1.0, &matrix(a, k, m).t(), &matrix(b, k, n), 0.0, &mut matrix_mut(c, m, n));
}

/// `c = a · b`, where `a` is `[m, k]`, `b` is `[k, n]` and `c` is `[m, n]`.
pub fn matmul_a_b(a: &[f32], b: &[f32], c: &mut [f32], m: usize, n: usize, k: usize) {
    general_mat_mul(1.0, &matrix(a, m, k), &matrix(b, k, n), 0.0, &mut matrix_mut(c, m, n));
}
// ANCHOR_END: matmul

// ANCHOR: add_bias
/// `z[i, j] += b[j]`, where `z` is `[B, n]` and `b` is `[n]`.
pub fn add_bias(z: &mut [f32], b: &[f32]) {
    for row in z.chunks_exact_mut(b.len()) {
        for (z, b) in row.iter_mut().zip(b) {
            *z += b;
        }
    }
}
// ANCHOR_END: add_bias

// ANCHOR: relu
/// `a = max(z, 0)`, element by element. NaN stays NaN: `f32::max` would turn it into 0 and hide it.
pub fn relu(z: &[f32], a: &mut [f32]) {
    for (a, z) in a.iter_mut().zip(z) {
        *a = if *z < 0.0 { 0.0 } else { *z };
    }
}

// ANCHOR: relu_backward
/// `dz = da` where `z > 0`, and 0 elsewhere: the slope of ReLU is 1 or 0, and 0 at the kink.
pub fn relu_backward(da: &[f32], z: &[f32], dz: &mut [f32]) {
    for ((dz, da), z) in dz.iter_mut().zip(da).zip(z) {
        *dz = if *z > 0.0 { *da } else { 0.0 };
    }
}
// ANCHOR_END: relu_backward
// ANCHOR_END: relu

// ANCHOR: softmax
/// `p[i, j] = exp(z[i, j]) / Σ_c exp(z[i, c])` for each of the rows of `z`, `[B, C]`.
///
/// The largest `z` of the row is subtracted first. This cancels, and keeps `exp` from overflowing.
pub fn softmax(z: &[f32], p: &mut [f32], classes: usize) {
    for (z, p) in z.chunks_exact(classes).zip(p.chunks_exact_mut(classes)) {
        let largest = z.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut sum = 0.0;
        for (p, z) in p.iter_mut().zip(z) {
            *p = libm::expf(z - largest);
            sum += *p;
        }
        for p in p {
            *p /= sum;
        }
    }
}
// ANCHOR_END: softmax

// ANCHOR: sigmoid
/// `p = 1 / (1 + exp(−z))`, element by element.
pub fn sigmoid(z: &[f32], p: &mut [f32]) {
    for (p, z) in p.iter_mut().zip(z) {
        *p = 1.0 / (1.0 + libm::expf(-z));
    }
}
// ANCHOR_END: sigmoid

// ANCHOR: losses
/// `−Σ_c y·ln softmax(z)`, mean over the batch, from the logits `z` `[B, C]`: the logarithm of the
/// softmax is `z − ln Σ exp z`, so no logarithm is taken of a probability that has underflowed to 0.
pub fn cross_entropy(z: &[f32], y: &[f32], classes: usize) -> f32 {
    let mut sum = 0.0;
    for (z, y) in z.chunks_exact(classes).zip(y.chunks_exact(classes)) {
        let largest = z.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let exponentials: f32 = z.iter().map(|z| libm::expf(z - largest)).sum();
        let log_sum = largest + libm::logf(exponentials);
        for (z, y) in z.iter().zip(y) {
            sum += y * (log_sum - z);
        }
    }
    sum / batch_of(z, classes)
}

/// `−(y·ln p + (1−y)·ln(1−p))` with `p = sigmoid(z)`, mean over the batch *and* the outputs, from
/// the logits: it equals `max(z, 0) − z·y + ln(1 + exp(−|z|))`, in which nothing overflows.
pub fn bce(z: &[f32], y: &[f32], classes: usize) -> f32 {
    let mut sum = 0.0;
    for (z, y) in z.iter().zip(y) {
        let positive = if *z < 0.0 { 0.0 } else { *z };
        sum += positive - z * y + libm::log1pf(libm::expf(-z.abs()));
    }
    sum / (batch_of(z, classes) * classes as f32)
}

/// `½·Σ_c (z − y)²`, mean over the batch.
pub fn squared_error(z: &[f32], y: &[f32], classes: usize) -> f32 {
    let mut sum = 0.0;
    for (z, y) in z.iter().zip(y) {
        sum += 0.5 * (z - y) * (z - y);
    }
    sum / batch_of(z, classes)
}
// ANCHOR_END: losses

// ANCHOR: output_gradient
/// `dz = (p − y) / B`, the gradient at the last layer, which is the same for all three losses.
pub fn output_gradient(p: &[f32], y: &[f32], dz: &mut [f32], classes: usize) {
    let batch = batch_of(p, classes);
    for ((dz, p), y) in dz.iter_mut().zip(p).zip(y) {
        *dz = (p - y) / batch;
    }
}
// ANCHOR_END: output_gradient

// ANCHOR: sum_batch
/// `db[j] = Σ_i dz[i, j]`, where `dz` is `[B, n]` and `db` is `[n]`.
pub fn sum_batch(dz: &[f32], db: &mut [f32]) {
    db.fill(0.0);
    for row in dz.chunks_exact(db.len()) {
        for (db, dz) in db.iter_mut().zip(row) {
            *db += dz;
        }
    }
}
// ANCHOR_END: sum_batch

// ANCHOR: update
/// `w -= learning_rate · dw`, element by element; `w` is a weight matrix or a bias vector.
pub fn update(w: &mut [f32], dw: &[f32], learning_rate: f32) {
    for (w, dw) in w.iter_mut().zip(dw) {
        *w -= learning_rate * dw;
    }
}
// ANCHOR_END: update

/// `B`, from a buffer `[B, classes]`.
const fn batch_of(buffer: &[f32], classes: usize) -> f32 {
    (buffer.len() / classes) as f32
}
