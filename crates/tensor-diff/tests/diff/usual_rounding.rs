//! Tests of how far rounding usually gets: a tensor that is within its bound but far further off than usual gets a
//! warning, and correct arithmetic never does.

use tensor::{Dtype, Dump, Loss, TensorName};
use tensor_diff::{Verdict, compare, judge};

use crate::support::{Arithmetic, Order, Start, data};
use TensorName::{A, B, W, X, Z};

const INPUTS: usize = 1600;
const UNITS: usize = 20;

fn start() -> Start {
    Start::new(&[INPUTS, UNITS, 10], 6, Loss::CrossEntropy, 11)
}

fn warnings(dump: &Dump) -> Vec<String> {
    judge(dump, 1.0).warnings
}

/// A dump whose `z1` is summed like this.
fn with_sums(sum: impl Fn(&[(f64, f64)], f64) -> f64) -> Dump {
    let mut dump = start().candidate();
    let get = |name| dump.get(name).unwrap().data.clone();
    let (x, w, b) = (get(X), get(W(1)), get(B(1)));
    let element = |i: usize| {
        let (row, unit) = (i / UNITS, i % UNITS);
        let terms = (0..INPUTS).map(|k| (x[row * INPUTS + k], w[unit * INPUTS + k]));
        let terms: Vec<_> = terms.collect();
        f64::from(sum(&terms, b[unit]) as f32)
    };
    let z: Vec<f64> = (0..6 * UNITS).map(element).collect();
    *data(&mut dump, A(1)) = z.iter().map(|z| z.max(0.0)).collect();
    *data(&mut dump, Z(1)) = z;
    dump
}

#[test]
fn honest_arithmetic_is_not_warned_about() {
    for order in [Order::Forward, Order::Backward, Order::Pairwise, Order::Lanes] {
        for (fused, factors) in
            [(false, None), (true, None), (false, Some(Dtype::Tf32)), (false, Some(Dtype::Bf16))]
        {
            let dump = start().candidate_by(Arithmetic { order, fused, factors });
            assert_eq!(warnings(&dump), [""; 0], "{order:?} {fused} {factors:?}");
            assert!(compare(&start().reference(), &dump, 1.0).warnings.is_empty());
        }
    }
    for seed in 0..40 {
        let sizes = [1 + seed as usize * 7 % 90, 1 + seed as usize % 13, 10];
        for loss in Loss::ALL {
            let start = Start::new(&sizes, 1 + seed as usize % 9, loss, seed);
            assert_eq!(warnings(&start.candidate()), [""; 0], "{start:?}");
        }
    }
    assert_eq!(warnings(&start().reference()), [""; 0]);
}

/// Rounds to `digits` binary digits after the point, to nearest or towards 0.
fn short(value: f64, digits: i32, nearest: bool) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let steps = value / f64::from(value.abs().log2().floor() as i32 - digits).exp2();
    let steps = if nearest { steps.round_ties_even() } else { steps.trunc() };
    steps * f64::from(value.abs().log2().floor() as i32 - digits).exp2()
}

#[test]
fn an_unusually_large_error_within_its_bound_gets_a_warning() {
    let dot = |terms: &[(f64, f64)], b: f64, of: &dyn Fn(f64) -> f64| {
        terms.iter().map(|(x, w)| of(*x) * of(*w)).sum::<f64>() + b
    };
    let cases: [(&str, Dump); 3] = [
        ("x and w1 are rounded to", with_sums(|terms, b| dot(terms, b, &|v| short(v, 10, true)))),
        (
            "w1 is rounded to",
            with_sums(|terms, b| {
                terms.iter().map(|(x, w)| x * short(*w, 10, true)).sum::<f64>() + b
            }),
        ),
        (
            "",
            with_sums(|terms, b| {
                terms.iter().fold(short(b, 23, false), |sum, (x, w)| {
                    short(sum + short(x * w, 23, false), 23, false)
                })
            }),
        ),
    ];
    for (words, dump) in cases {
        let found = judge(&dump, 1.0);
        let row = found.rows.get(Z(1)).unwrap();
        assert_eq!(row.verdict, Verdict::Ok, "{words}: {row:?}");
        let text = found.warnings.concat();
        assert!(text.contains("z1 is within its bound, but ") && text.contains(words), "{text}");
        // The same mistake in a kernel that doesn't store z1.
        let mut fused = dump.clone();
        fused.tensors.retain(|tensor| tensor.name != Z(1));
        fused.header.not_materialised = vec![Z(1)];
        let text = compare(&start().reference(), &fused, 1.0).warnings.concat();
        assert!(text.contains("a1 is within its bound, but "), "{text}");
    }
}
