//! Faults that are planted by code instead of by replaced text, under their names in `faults.toml`: products
//! that are described wrongly to cuBLAS, and tensors of the plain network that are computed wrongly.

use level3_cublas::column_major::{Matmul, Operand};
use level3_cublas::library::Problem;
use tensor::TensorName::{A, B, Da, Db, Dw, Dz, Loss, P, W, X, Y, Z};

use super::network::{Between, Make, product};

/// Finds the row with this name.
pub(crate) fn find<T: Copy>(rows: &[(&str, T)], name: &str) -> Option<T> {
    rows.iter().find(|(row, _)| *row == name).map(|(_, code)| *code)
}

/// A function that changes the description of a product for cuBLAS.
type Mistake = fn(&mut Problem);

/// Wrong products that level 3 requests from cuBLAS.
pub(crate) const PRODUCT_MISTAKES: &[(&str, Mistake)] = &[
    ("dw-beta-1", |p| p.beta = if p.matmul == Matmul::AtB { 1.0 } else { 0.0 }),
    ("da-beta-half", |p| p.beta = if p.matmul == Matmul::AB { 0.5 } else { 0.0 }),
    ("z-beta-1", |p| p.beta = if p.matmul == Matmul::ABt { 1.0 } else { 0.0 }),
    ("x-transposed", |Problem { matmul, shape: [m, _, k], call, .. }| {
        if *matmul == Matmul::ABt {
            call.second = Operand { transposed: true, rows: *m, columns: *k, ld: *m };
        }
    }),
    ("dz-transposed", |Problem { matmul, shape: [m, _, k], call, .. }| {
        if *matmul == Matmul::AtB {
            call.second = Operand { transposed: false, rows: *k, columns: *m, ld: *k };
        }
    }),
    ("inputs-multiple-of-8", |Problem { matmul, call, .. }| {
        if *matmul == Matmul::AtB {
            call.first.rows &= !7;
            call.result.rows &= !7;
        }
    }),
    ("w-transposed", |Problem { matmul, shape: [_, n, k], call, .. }| {
        if *matmul == Matmul::AB {
            call.first = Operand { transposed: true, rows: *k, columns: *n, ld: *k };
        }
    }),
];

/// Tensors that are computed wrongly. All later tensors are computed from the wrong ones.
pub(crate) const COMPUTATION_MISTAKES: &[(&str, Make)] = &[
    ("momentum", |s| {
        let last = s.before(Dw(1));
        let next = s.right().into_iter().enumerate();
        next.map(|(i, w)| w - 0.1 * 0.9 * last.map_or(0.0, |last| last[i])).collect()
    }),
    ("l2", |s| s.right().iter().zip(s.get(W(1))).map(|(dw, w)| dw + 0.01 * w).collect()),
    ("stale-mask", |s| {
        let z = s.before(Z(1)).unwrap_or_else(|| s.get(Z(1)));
        s.get(Da(1)).iter().zip(z).map(|(&da, &z)| if z > 0.0 { da } else { 0.0 }).collect()
    }),
    ("early-update", |s| {
        let step = |(w, dw): (&f32, &f32)| w - 0.1 * dw;
        let w: Vec<f32> = s.get(W(2)).iter().zip(s.get(Dw(2))).map(step).collect();
        let dz = s.get(Dz(2));
        product([s.batch, 16, 10], |i, j, k| dz[i * 10 + k] * w[k * 16 + j])
    }),
    ("db-without-last-sample", |s| {
        let dz = s.get(Dz(1));
        product([1, 16, s.batch - 1], |_, j, i| dz[i * 16 + j])
    }),
    ("dw-of-every-second-sample", |s| {
        let (dz, x) = (s.get(Dz(1)), s.get(X));
        let keep = |i: usize| if i.is_multiple_of(2) { 1.0 } else { 0.0 };
        product([16, 196, s.batch], |j, k, i| keep(i) * dz[i * 16 + j] * x[i * 196 + k])
    }),
    ("db-of-da", |s| {
        let da = s.get(Da(1));
        product([1, 16, s.batch], |_, j, i| da[i * 16 + j])
    }),
    ("z-without-last-pixels", |s| {
        let (x, w, b) = (s.get(X), s.get(W(1)), s.get(B(1)));
        let sum = product([s.batch, 16, 192], |i, j, k| x[i * 196 + k] * w[j * 196 + k]);
        sum.iter().enumerate().map(|(i, z)| z + b[i % 16]).collect()
    }),
    ("z2-with-b1", |s| {
        let b = (s.get(B(1)), s.get(B(2)));
        s.right().iter().enumerate().map(|(i, z)| z - b.1[i % 10] + b.0[i % 10]).collect()
    }),
    ("stale-labels", |s| {
        let y = s.before(Y).unwrap_or_else(|| s.get(Y));
        s.get(P).iter().zip(y).map(|(p, y)| (p - y) / s.batch as f32).collect()
    }),
    ("sigmoid-slope", |s| {
        s.right().iter().zip(s.get(P)).map(|(dz, p)| dz * p * (1.0 - p)).collect()
    }),
    ("stale-row", |s| {
        let mut a = s.right();
        let last = a.len() - 16;
        if let Some(before) = s.before(A(1)) {
            let end = a.len();
            a[last..].copy_from_slice(&before[last..end]);
        }
        a
    }),
    ("softmax-without-last-class", |s| {
        let z = s.get(Z(2));
        let sum = |row: &[f32]| row[..9].iter().map(|z| z.exp()).sum::<f32>();
        (0..z.len()).map(|i| z[i].exp() / sum(&z[i / 10 * 10..][..10])).collect()
    }),
    ("first-loss-twice", |s| {
        let (p, y) = (s.get(P), s.get(Y));
        let of = |i: usize| (0..10).map(|c| -y[i * 10 + c] * p[i * 10 + c].ln()).sum::<f32>();
        vec![((0..s.batch).map(of).sum::<f32>() + of(0)) / s.batch as f32]
    }),
    ("stale-db", |s| {
        let db = s.before(Db(1)).unwrap_or_else(|| s.get(Db(1)));
        s.get(B(1)).iter().zip(db).map(|(b, db)| b - 0.1 * db).collect()
    }),
    ("pixels-divided-twice", |s| {
        let (x, w, b) = (s.get(X), s.get(W(1)), s.get(B(1)));
        let x = |i| x[i] / 255.0;
        let sum = product([s.batch, 16, 196], |i, j, k| x(i * 196 + k) * w[j * 196 + k]);
        sum.iter().enumerate().map(|(i, z)| z + b[i % 16]).collect()
    }),
    ("p-without-bias", |s| {
        let (z, b) = (s.get(Z(2)), s.get(B(2)));
        z.iter().enumerate().map(|(i, z)| z - b[i % 10]).collect()
    }),
    ("softmax-sum-kept", |s| {
        let mut sum = 0.0;
        let row = |z: &[f32]| {
            sum += z.iter().map(|z| z.exp()).sum::<f32>();
            z.iter().map(|z| z.exp() / sum).collect::<Vec<_>>()
        };
        s.get(Z(2)).chunks(10).flat_map(row).collect()
    }),
    ("smoothed-loss", |s| {
        let loss = s.right()[0];
        vec![s.before(Loss).map_or(loss, |before| 0.5 * (loss + before[0]))]
    }),
    ("stale-x", |s| {
        let (dz, x) = (s.get(Dz(1)), s.before(X).unwrap_or_else(|| s.get(X)));
        product([16, 196, s.batch], |j, k, i| dz[i * 16 + j] * x[i * 196 + k])
    }),
    ("db-other-axis", |s| {
        let mut db: Vec<f32> = s.get(Dz(2)).chunks(10).map(|dz| dz.iter().sum()).collect();
        db.resize(10, 0.0);
        db
    }),
    ("averaged-db", |s| {
        let right = s.right();
        let Some(before) = s.before(Db(1)) else { return right };
        right.iter().zip(before).map(|(db, before)| 0.9 * before + 0.1 * db).collect()
    }),
    ("stale-w", |s| {
        let Some(last) = s.before(Dw(2)) else { return s.right() };
        let (dz, w) = (s.get(Dz(2)), s.get(W(2)));
        let w = |i: usize| w[i] + 0.1 * last[i];
        product([s.batch, 16, 10], |i, j, k| dz[i * 10 + k] * w(k * 16 + j))
    }),
    ("decaying-rate", |s| {
        let rate = if s.before(W(2)).is_some() { 0.09 } else { 0.1 };
        s.get(W(2)).iter().zip(s.get(Dw(2))).map(|(w, dw)| w - rate * dw).collect()
    }),
    ("older-w-updated", |s| {
        let right = s.right();
        let Some(last) = s.before(Dw(1)) else { return right };
        right.iter().zip(last).map(|(w, last)| w + 0.1 * last).collect()
    }),
];

/// Changes of a parameter that happen after an update and before the next step.
pub(crate) const UPDATE_MISTAKES: &[(&str, Between)] = &[
    ("nothing", |_| {}),
    ("clip", |w| w.iter_mut().for_each(|w| *w = w.clamp(-0.06, 0.06))),
    ("bfloat16", |w| {
        for w in w {
            let bits = w.to_bits();
            let bits = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
            *w = f32::from_bits(bits & 0xffff_0000);
        }
    }),
];
