//! Faults in Rust: a tensor of the network in plain loops is made wrongly.

use tensor::TensorName;
use tensor::TensorName::{A, BNext, Da, Db, Dw, Dz, Loss, P, W, WNext, X, Y, Z};

use crate::faults::{Fault, Planted};
use crate::network::{Step, product};

/// The reference of all.
const CE: &str = "softmax-steps";

const fn rust(
    what: &'static str,
    says: &'static str,
    tensor: TensorName,
    step: u64,
    make: fn(&Step<'_>) -> Vec<f32>,
) -> Fault {
    Fault { what, says, planted: Planted::Rust(make), on: CE, step, tensor }
}

/// All of them.
pub(crate) fn faults() -> Vec<Fault> {
    vec![
        rust("momentum of 0.9 that nobody asked for", "momentum of 0.9000", WNext(1), 1, |s| {
            let last = s.before(Dw(1));
            let next = s.right().into_iter().enumerate();
            next.map(|(i, w)| w - 0.1 * 0.9 * last.map_or(0.0, |last| last[i])).collect()
        }),
        rust("L2 regularisation in the gradient", "regularisation by 1.0000e-2", Dw(1), 0, |s| {
            s.right().iter().zip(s.get(W(1))).map(|(dw, w)| dw + 0.01 * w).collect()
        }),
        rust(
            "the mask of the step before",
            "the mask is taken from z1 of the step before",
            Dz(1),
            1,
            |s| {
                let z = s.before(Z(1)).unwrap_or_else(|| s.get(Z(1)));
                s.get(Da(1)).iter().zip(z).map(|(&da, &z)| if z > 0.0 { da } else { 0.0 }).collect()
            },
        ),
        rust(
            "the weights are updated before da is passed on",
            "the update ran before",
            Da(1),
            0,
            |s| {
                let step = |(w, dw): (&f32, &f32)| w - 0.1 * dw;
                let w: Vec<f32> = s.get(W(2)).iter().zip(s.get(Dw(2))).map(step).collect();
                let dz = s.get(Dz(2));
                product([s.batch, 16, 10], |i, j, k| dz[i * 10 + k] * w[k * 16 + j])
            },
        ),
        rust(
            "the last sample is left out of the biases' gradient",
            "the last of the 8 samples is left out",
            Db(1),
            0,
            |s| {
                let dz = s.get(Dz(1));
                product([1, 16, s.batch - 1], |_, j, i| dz[i * 16 + j])
            },
        ),
        rust(
            "every second sample is left out of the gradient",
            "one in 2 of the 8 samples is left out",
            Dw(1),
            0,
            |s| {
                let (dz, x) = (s.get(Dz(1)), s.get(X));
                let keep = |i: usize| if i.is_multiple_of(2) { 1.0 } else { 0.0 };
                product([16, 196, s.batch], |j, k, i| keep(i) * dz[i * 16 + j] * x[i * 196 + k])
            },
        ),
        rust(
            "the biases' gradient is summed of da",
            "da1 is read in place of dz1",
            Db(1),
            0,
            |s| {
                let da = s.get(Da(1));
                product([1, 16, s.batch], |_, j, i| da[i * 16 + j])
            },
        ),
        rust(
            "the last 4 of 196 pixels are left out",
            "the last 4 of the 196 inputs are left out",
            Z(1),
            0,
            |s| {
                let (x, w, b) = (s.get(X), s.get(W(1)), s.get(TensorName::B(1)));
                let sum = product([s.batch, 16, 192], |i, j, k| x[i * 196 + k] * w[j * 196 + k]);
                sum.iter().enumerate().map(|(i, z)| z + b[i % 16]).collect()
            },
        ),
        rust(
            "the biases of the first layer in the second",
            "b1 is added in place of b2",
            Z(2),
            0,
            |s| {
                let b = (s.get(TensorName::B(1)), s.get(TensorName::B(2)));
                s.right().iter().enumerate().map(|(i, z)| z - b.1[i % 10] + b.0[i % 10]).collect()
            },
        ),
        rust(
            "the labels of the step before",
            "y of the step before is read in place of y",
            Dz(2),
            1,
            |s| {
                let y = s.before(Y).unwrap_or_else(|| s.get(Y));
                s.get(P).iter().zip(y).map(|(p, y)| (p - y) / s.batch as f32).collect()
            },
        ),
        rust("sigmoid's slope at the output", "p·(1 - p)", Dz(2), 0, |s| {
            s.right().iter().zip(s.get(P)).map(|(dz, p)| dz * p * (1.0 - p)).collect()
        }),
        rust(
            "the last row is left over from the step before",
            "still a1 of the step before",
            A(1),
            1,
            |s| {
                let mut a = s.right();
                let last = a.len() - 16;
                if let Some(before) = s.before(A(1)) {
                    let end = a.len();
                    a[last..].copy_from_slice(&before[last..end]);
                }
                a
            },
        ),
        rust(
            "softmax leaves the last class out of its sum",
            "the last of the 10 classes",
            P,
            0,
            |s| {
                let z = s.get(Z(2));
                let sum = |row: &[f32]| row[..9].iter().map(|z| z.exp()).sum::<f32>();
                (0..z.len()).map(|i| z[i].exp() / sum(&z[i / 10 * 10..][..10])).collect()
            },
        ),
        rust(
            "the loss of the first sample counts twice",
            "the first of the 8 samples is added twice",
            Loss,
            0,
            |s| {
                let (p, y) = (s.get(P), s.get(Y));
                let of =
                    |i: usize| (0..10).map(|c| -y[i * 10 + c] * p[i * 10 + c].ln()).sum::<f32>();
                vec![((0..s.batch).map(of).sum::<f32>() + of(0)) / s.batch as f32]
            },
        ),
        rust(
            "biases are updated by the gradient of the step before",
            "db1 of the step before is read in place of db1",
            BNext(1),
            1,
            |s| {
                let db = s.before(Db(1)).unwrap_or_else(|| s.get(Db(1)));
                s.get(TensorName::B(1)).iter().zip(db).map(|(b, db)| b - 0.1 * db).collect()
            },
        ),
        Fault {
            what: "the weights are clipped between the steps",
            says: "0.06",
            planted: Planted::Between(|w| w.iter_mut().for_each(|w| *w = w.clamp(-0.06, 0.06))),
            on: CE,
            step: 1,
            tensor: W(1),
        },
    ]
}
