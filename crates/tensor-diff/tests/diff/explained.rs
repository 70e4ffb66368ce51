//! Tests with faults injected into honest float32 steps as a wrong kernel would make them: a dump that is checked
//! against itself names the tensor, with a reference or without, and the hypotheses describe the fault.

use crate::support::{Start, data, diff, explain};
use tensor::{Dump, Loss, TensorName};
use tensor_diff::{Verdict, judge, judge_run};

use TensorName::{A, B, Db, Dw, Dz, P, W, WNext, X, Y, Z};

fn get(dump: &Dump, name: TensorName) -> Vec<f64> {
    dump.get(name).unwrap().data.clone()
}

/// Replaces a tensor by the result of a wrong operation, rounded to float32. It has to be named with and without a
/// reference, and the explanation has to contain the words.
fn reads(start: &Start, name: TensorName, words: &str, wrong: impl Fn(&Dump) -> Vec<f64>) {
    let mut candidate = start.candidate();
    let wrong = wrong(&candidate).into_iter().map(|value| f64::from(value as f32)).collect();
    *data(&mut candidate, name) = wrong;
    let alone = judge(&candidate, 1.0);
    let fault = alone.first_fault.unwrap();
    assert_eq!(fault.tensor, name, "{}", fault.reading);
    let said = fault.pattern.map(|pattern| pattern.text).unwrap_or_default();
    assert!(said.contains(words), "{name}: {said:?} says nothing of {words:?}");
    let found = diff(&start.reference(), &candidate);
    let first = found.first_divergence.as_ref().unwrap();
    assert_eq!((first.tensor, found.is_own_fault(name)), (name, Some(true)), "{}", explain(&found));
}

fn start() -> Start {
    Start::new(&[45, 19, 7], 67, Loss::CrossEntropy, 3)
}

fn product(
    (rows, columns, length): (usize, usize, usize),
    term: impl Fn(usize, usize, usize) -> f64,
) -> Vec<f64> {
    let at = |i: usize| (0..length).map(|k| term(i / columns, i % columns, k)).sum();
    (0..rows * columns).map(at).collect()
}

#[test]
fn sums_that_leave_terms_out() {
    let start = start();
    let (n0, n1, batch) = (45, 19, 67);
    let z1 = |d: &Dump, keep: &dyn Fn(usize) -> f64| {
        let (x, w, b) = (get(d, X), get(d, W(1)), get(d, B(1)));
        let sum = product((batch, n1, n0), |i, j, k| keep(k) * x[i * n0 + k] * w[j * n0 + k]);
        sum.iter().enumerate().map(|(i, z)| z + b[i % n1]).collect::<Vec<f64>>()
    };
    let without =
        |out: &'static dyn Fn(usize) -> bool| move |k: usize| if out(k) { 0.0 } else { 1.0 };
    reads(&start, Z(1), "the last of the 45 inputs is left out", |d| z1(d, &without(&|k| k == 44)));
    reads(&start, Z(1), "the first of the 45 inputs is left out", |d| z1(d, &without(&|k| k == 0)));
    reads(&start, Z(1), "the last 13 of the 45 inputs are left out", |d| {
        z1(d, &without(&|k| k >= 32))
    });
    reads(&start, Z(1), "number 17 of the 45 inputs", |d| z1(d, &without(&|k| k == 17)));
    reads(&start, Z(1), "one in 4 of the 45 inputs is left out, from 3", |d| {
        z1(d, &without(&|k| k % 4 == 3))
    });
    reads(&start, Z(1), "from 9 to 20", |d| z1(d, &without(&|k| (9..21).contains(&k))));
    reads(&start, Z(1), "the last of the 45 inputs is added twice", |d| {
        z1(d, &|k| if k == 44 { 2.0 } else { 1.0 })
    });
    let db = |keep: &dyn Fn(usize) -> bool, d: &Dump| {
        let dz = get(d, Dz(1));
        (0..n1).map(|j| (0..batch).filter(|&i| keep(i)).map(|i| dz[i * n1 + j]).sum()).collect()
    };
    reads(&start, Db(1), "only the first 32 of the 67 samples count", |d| db(&|i| i < 32, d));
    reads(&start, Db(1), "the last 3 of the 67 samples are left out", |d| db(&|i| i < 64, d));
}

#[test]
fn operands_that_are_read_wrongly() {
    let start = start();
    let (n0, n1, n2, batch) = (45, 19, 7, 67);
    let z2 = |d: &Dump, bias: &[f64]| {
        let (a, w) = (get(d, A(1)), get(d, W(2)));
        let sum = product((batch, n2, n1), |i, j, k| a[i * n1 + k] * w[j * n1 + k]);
        sum.iter().enumerate().map(|(i, z)| z + bias[i % n2]).collect::<Vec<f64>>()
    };
    // A cursor through the parameters that isn't advanced.
    reads(&start, Z(2), "the beginning of b1 is read in place of b2", |d| z2(d, &get(d, B(1))));
    reads(&start, Z(2), "the beginning of w2 is read in place of b2", |d| z2(d, &get(d, W(2))));
    reads(&start, Z(2), "b2 is added twice", |d| {
        z2(d, &get(d, B(2)).iter().map(|b| 2.0 * b).collect::<Vec<f64>>())
    });
    reads(&start, Z(1), "x is read one row too early", |d| {
        let (x, w, b) = (get(d, X), get(d, W(1)), get(d, B(1)));
        // The memory before the buffer is unknown: here, a row of ones.
        let at = |i: usize, k: usize| if i == 0 { 1.0 } else { x[(i - 1) * n0 + k] };
        let sum = product((batch, n1, n0), |i, j, k| at(i, k) * w[j * n0 + k]);
        sum.iter().enumerate().map(|(i, z)| z + b[i % n1]).collect()
    });
    reads(&start, Dw(1), "dz1 is read as if it were stored transposed", |d| {
        let (dz, x) = (get(d, Dz(1)), get(d, X));
        product((n1, n0, batch), |j, k, i| dz[j * batch + i] * x[i * n0 + k])
    });
    reads(&start, Z(1), "w1 is read with rows of 48 elements, not of 45", |d| {
        let (x, w, b) = (get(d, X), get(d, W(1)), get(d, B(1)));
        let at = |at: usize| w.get(at).copied().unwrap_or(0.0);
        let sum = product((batch, n1, n0), |i, j, k| x[i * n0 + k] * at(j * 48 + k));
        sum.iter().enumerate().map(|(i, z)| z + b[i % n1]).collect()
    });
}

#[test]
fn functions_and_factors_in_place_of_others() {
    let start = start();
    let classes = 7;
    let softmax = |d: &Dump, power: fn(f64) -> f64, skip: usize| {
        let z = get(d, Z(2));
        let row = |i: usize| &z[i / classes * classes..][..classes];
        (0..z.len())
            .map(|i| power(z[i]) / row(i)[skip..].iter().map(|&z| power(z)).sum::<f64>())
            .collect::<Vec<f64>>()
    };
    reads(&start, P, "exp2 in place of exp", |d| softmax(d, f64::exp2, 0));
    reads(&start, P, "the first of the 7 classes of the sum below is left out", |d| {
        softmax(d, f64::exp, 1)
    });
    reads(&start, A(1), "it is leaky: 0.010000 times z", |d| {
        get(d, Z(1)).into_iter().map(|z| if z > 0.0 { z } else { 0.01 * z }).collect()
    });
    reads(&start, Dz(2), "it is 67/7 times", |d| {
        get(d, Dz(2)).into_iter().map(|dz| dz * 67.0 / 7.0).collect()
    });
    reads(&start, Dz(2), "y is read one row too early", |d| {
        let (p, y) = (get(d, P), get(d, Y));
        let above = |i: usize| if i < classes { y[i] } else { y[i - classes] };
        (0..p.len()).map(|i| (p[i] - above(i)) / 67.0).collect()
    });
    reads(&start, WNext(1), "weight decay by 1.0000e-2", |d| {
        let (next, w) = (get(d, WNext(1)), get(d, W(1)));
        next.iter().zip(&w).map(|(next, w)| next - 0.1 * 0.01 * w).collect()
    });
    reads(&start, Dw(1), "regularisation by 5.0000e-4", |d| {
        let (dw, w) = (get(d, Dw(1)), get(d, W(1)));
        dw.iter().zip(&w).map(|(dw, w)| dw + 5e-4 * w).collect()
    });
    // log2 in place of ln: one number, and a factor that has a name.
    reads(&start, TensorName::Loss, "it is 1.442695 (for example 1/ln 2) times", |d| {
        vec![get(d, TensorName::Loss)[0] * std::f64::consts::LOG2_E]
    });
}

/// Without an explanation, the location is reported.
#[test]
fn unexplained_faults_are_located() {
    let start = start();
    reads(&start, Z(1), "wrong in rows 10 to 12 of 67", |d| {
        let mut z = get(d, Z(1));
        for (i, z) in z.iter_mut().enumerate().take(13 * 19).skip(10 * 19) {
            *z += 0.37 * ((i * i) % 11) as f64 + 0.1;
        }
        z
    });
}

/// A fault after another one is found, and tensors with wrong inputs are not reported as faults.
#[test]
fn own_faults_are_distinguished_from_inherited_ones() {
    let start = start();
    let mut candidate = start.candidate();
    data(&mut candidate, Z(1))[5] += 0.25;
    data(&mut candidate, TensorName::Da(1))[3] += 0.25;
    let alone = judge(&candidate, 1.0);
    let wrong: Vec<TensorName> = alone
        .rows
        .iter()
        .filter(|row| row.verdict == Verdict::Differs)
        .map(|row| row.name)
        .collect();
    // Only dumped values were changed: what was made of the right ones is wrong for them.
    assert_eq!(wrong[0], Z(1));
    assert!(wrong.contains(&TensorName::Da(1)));
    assert!(!wrong.contains(&Dz(2)), "{wrong:?}");
}

/// Gradients that pile up from step to step: nothing in one step shows it, the run does.
#[test]
fn values_carried_over_from_the_step_before_are_found_in_a_run() {
    let first = start().candidate();
    let mut second = first.clone();
    second.header.step = 1;
    for l in [1, 2] {
        for (from, to) in [(WNext(l), W(l)), (TensorName::BNext(l), B(l))] {
            *data(&mut second, to) = get(&first, from);
        }
    }
    // The second step is inconsistent: its parameters moved, and the rest did not.
    let run = judge_run(&[first.clone(), second.clone()], 1.0);
    assert_eq!(run.first_faulty().unwrap().step, 1);
    let mut moved = second;
    data(&mut moved, W(1))[0] += 1e-3;
    let run = judge_run(&[first, moved], 1.0);
    let fault = run.first_faulty().unwrap().first_fault().unwrap();
    assert_eq!(fault.tensor, W(1));
    assert!(fault.reading.contains("not what step 0 left"), "{}", fault.reading);
}
