//! The first step of backpropagation: compares `(p − y) / B` with the measured slope of the loss that a level prints.

use std::f64::consts::LN_2;

use host::println;

/// Two samples, three outputs.
const B: usize = 2;
const C: usize = 3;
const Y: [[f64; C]; B] = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]];

type Output = [[f64; C]; B];

// ANCHOR: softmax
/// Softmax and its cross-entropy, averaged over the batch. Subtracting the largest `z` first
/// doesn't change the result, and keeps `exp` from overflowing.
fn cross_entropy(z: &Output) -> (Output, f64) {
    let (mut p, mut loss) = ([[0.0; C]; B], 0.0);
    for i in 0..B {
        let largest = z[i].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = z[i].iter().map(|z| (z - largest).exp()).sum();
        for c in 0..C {
            p[i][c] = (z[i][c] - largest).exp() / sum;
            loss -= Y[i][c] * (z[i][c] - largest - sum.ln()) / B as f64;
        }
    }
    (p, loss)
}
// ANCHOR_END: softmax

// ANCHOR: sigmoid
/// Sigmoid and its binary cross-entropy, averaged over the batch *and* the outputs.
fn bce(z: &Output) -> (Output, f64) {
    let (mut p, mut loss) = ([[0.0; C]; B], 0.0);
    for i in 0..B {
        for c in 0..C {
            let (z, y) = (z[i][c], Y[i][c]);
            p[i][c] = 1.0 / (1.0 + (-z).exp());
            let term = z.max(0.0) - y * z + (-z.abs()).exp().ln_1p();
            loss += term / (B * C) as f64;
        }
    }
    (p, loss)
}
// ANCHOR_END: sigmoid

// ANCHOR: squared
/// No activation. The loss is half the squared distance, averaged over the batch.
fn squared_error(z: &Output) -> (Output, f64) {
    let mut loss = 0.0;
    for i in 0..B {
        for c in 0..C {
            loss += 0.5 * (z[i][c] - Y[i][c]).powi(2) / B as f64;
        }
    }
    (*z, loss)
}
// ANCHOR_END: squared

fn main() {
    let z = [[0.2, -1.0, 0.7], [1.5, 0.3, -0.4]];
    let h = 1e-5;
    println!("loss            element   (p - y) / B   measured slope   (p - y) / B : slope");
    type Loss = fn(&Output) -> (Output, f64);
    let losses: [(&str, Loss); 3] =
        [("cross-entropy", cross_entropy), ("bce", bce), ("squared-error", squared_error)];
    for (name, loss) in losses {
        let (p, _) = loss(&z);
        for (i, c) in [(0, 0), (0, 1), (1, 2)] {
            let (mut above, mut below) = (z, z);
            above[i][c] += h;
            below[i][c] -= h;
            let measured = (loss(&above).1 - loss(&below).1) / (2.0 * h);
            let by_hand = (p[i][c] - Y[i][c]) / B as f64;
            let ratio = by_hand / measured;
            println!("{name:<15} z[{i}, {c}]   {by_hand:11.6}   {measured:14.6}   {ratio:19.4}");
        }
    }
    let (_, untrained) = bce(&[[0.0; C]; B]);
    println!("bce of a network that outputs z = 0: {untrained:.4} (ln 2 = {LN_2:.4})");
}
