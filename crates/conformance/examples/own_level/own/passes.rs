//! The forward pass, the loss, the backward pass and the update, in plain loops.

use tensor::Loss;

use super::buffers::{Buffers, Layer};

// ANCHOR: forward
/// `z = a_prev wᵀ + b` and `a = relu(z)`, layer after layer; then `p` of the last `z`.
pub(super) fn forward(buffers: &mut Buffers, loss: Loss) {
    let Buffers { batch, x, p, layers, .. } = buffers;
    for l in 0..layers.len() {
        let (before, rest) = layers.split_at_mut(l);
        let a_prev = before.last().map_or(&*x, |layer| &layer.a);
        let Layer { m, n, w, b, z, a, .. } = &mut rest[0];
        for s in 0..*batch {
            for j in 0..*n {
                let mut sum = 0.0;
                for i in 0..*m {
                    sum += a_prev[s * *m + i] * w[j * *m + i];
                }
                z[s * *n + j] = sum + b[j];
                // Not `max`, which would turn NaN into 0 and hide it.
                a[s * *n + j] = if z[s * *n + j] < 0.0 { 0.0 } else { z[s * *n + j] };
            }
        }
    }
    let Some(last) = layers.last() else { return };
    for (z, p) in last.z.chunks_exact(last.n).zip(p.chunks_exact_mut(last.n)) {
        match loss {
            Loss::CrossEntropy => {
                let largest = z.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                p.iter_mut().zip(z).for_each(|(p, z)| *p = libm::expf(z - largest));
                let sum: f32 = p.iter().sum();
                p.iter_mut().for_each(|p| *p /= sum);
            }
            Loss::Bce => {
                p.iter_mut().zip(z).for_each(|(p, z)| *p = 1.0 / (1.0 + libm::expf(-z)));
            }
            Loss::SquaredError => p.copy_from_slice(z),
        }
    }
}
// ANCHOR_END: forward

// ANCHOR: loss
/// The loss that is printed, computed from the logits.
pub(super) fn loss(buffers: &Buffers, loss: Loss) -> f32 {
    let Some(last) = buffers.layers.last() else { return 0.0 };
    let mut sum = 0.0;
    for (z, y) in last.z.chunks_exact(last.n).zip(buffers.y.chunks_exact(last.n)) {
        let pairs = z.iter().zip(y);
        sum += match loss {
            Loss::CrossEntropy => {
                let largest = z.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let all: f32 = z.iter().map(|z| libm::expf(z - largest)).sum();
                let log_sum = largest + libm::logf(all);
                pairs.map(|(z, y)| y * (log_sum - z)).sum::<f32>()
            }
            Loss::Bce => {
                let one = |(z, y): (&f32, &f32)| {
                    let positive = if *z < 0.0 { 0.0 } else { *z };
                    positive - z * y + libm::log1pf(libm::expf(-z.abs()))
                };
                // This preset's loss is a mean over the outputs too.
                pairs.map(one).sum::<f32>() / last.n as f32
            }
            Loss::SquaredError => pairs.map(|(z, y)| 0.5 * (z - y) * (z - y)).sum::<f32>(),
        };
    }
    sum / buffers.batch as f32
}
// ANCHOR_END: loss

// ANCHOR: backward
/// `dz = (p - y) / batch` at the last layer, for every loss. Then, from the last layer to the
/// first, `dw = dzᵀ a_prev` and `db = Σ dz`, and for the layer before it `da = dz w`, and `dz = da`
/// where `z > 0`.
pub(super) fn backward(buffers: &mut Buffers) {
    let Buffers { batch, x, y, p, layers } = buffers;
    if let Some(last) = layers.last_mut() {
        for ((dz, p), y) in last.dz.iter_mut().zip(&*p).zip(&*y) {
            *dz = (p - y) / *batch as f32;
        }
    }
    for l in (0..layers.len()).rev() {
        let (before, rest) = layers.split_at_mut(l);
        let Layer { m, n, w, dz, dw, db, .. } = &mut rest[0];
        let a_prev = before.last().map_or(&*x, |layer| &layer.a);
        dw.fill(0.0);
        db.fill(0.0);
        for s in 0..*batch {
            for j in 0..*n {
                let gradient = dz[s * *n + j];
                db[j] += gradient;
                for i in 0..*m {
                    dw[j * *m + i] += gradient * a_prev[s * *m + i];
                }
            }
        }
        let Some(previous) = before.last_mut() else { continue };
        previous.da.fill(0.0);
        for s in 0..*batch {
            for j in 0..*n {
                for i in 0..*m {
                    previous.da[s * *m + i] += dz[s * *n + j] * w[j * *m + i];
                }
            }
        }
        for ((dz, da), z) in previous.dz.iter_mut().zip(&previous.da).zip(&previous.z) {
            *dz = if *z > 0.0 { *da } else { 0.0 };
        }
    }
}
// ANCHOR_END: backward

// ANCHOR: update
/// `w -= learning_rate dw`, and the same for `b`.
pub(super) fn update(buffers: &mut Buffers, learning_rate: f32) {
    for layer in &mut buffers.layers {
        for (w, dw) in layer.w.iter_mut().zip(&layer.dw) {
            *w -= learning_rate * dw;
        }
        for (b, db) in layer.b.iter_mut().zip(&layer.db) {
            *b -= learning_rate * db;
        }
    }
}
// ANCHOR_END: update
