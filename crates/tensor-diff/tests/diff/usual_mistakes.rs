//! Tests of common mistakes: the explanation of each has to have certain words, and that of a similar mistake must not
//! have them.

use tensor::{Dump, Loss, TensorName};
use tensor_diff::{PatternKind, compare, judge, judge_run};

use crate::support::{Start, data};
use TensorName::{A, B, BNext, Da, Db, Dw, Dz, P, W, WNext, X, Y, Z};

fn values(dump: &Dump, name: TensorName) -> Vec<f64> {
    dump.get(name).unwrap().data.clone()
}

fn set(dump: &mut Dump, name: TensorName, made: impl IntoIterator<Item = f64>) {
    *data(dump, name) = made.into_iter().map(|value| f64::from(value as f32)).collect();
}

fn start(loss: Loss) -> Start {
    Start::new(&[36, 17, 10], 12, loss, 5)
}

/// The first wrong tensor of a dump that is judged by itself, and its explanation; empty if it is unexplained.
fn explanation(run: &[Dump]) -> (TensorName, String) {
    let found = judge_run(run, 1.0);
    let fault = found.steps[0].own.first_fault.as_ref().expect("a fault");
    let pattern = fault.pattern.as_ref().expect("an explanation, or `Unexplained`");
    let text = if pattern.kind == PatternKind::Unexplained { "" } else { &pattern.text };
    (fault.tensor, text.to_owned())
}

/// Replaces a tensor of a step by a wrong one; the reading has to contain the words.
fn reads(start: &Start, name: TensorName, words: &str, made: impl Fn(&Dump) -> Vec<f64>) {
    let mut dump = start.candidate();
    let wrong = made(&dump);
    set(&mut dump, name, wrong);
    let (tensor, text) = explanation(&[dump]);
    assert_eq!(tensor, name);
    assert!(!words.is_empty() && text.contains(words), "{name}: {text:?} has no {words:?}");
}

/// Replaces a tensor of a step by a wrong one; the reading must not contain the words.
fn is_not(start: &Start, name: TensorName, words: &str, made: impl Fn(&Dump) -> Vec<f64>) {
    let mut dump = start.candidate();
    let wrong = made(&dump);
    set(&mut dump, name, wrong);
    let (tensor, text) = explanation(&[dump]);
    assert_eq!(tensor, name);
    assert!(!text.contains(words), "{name}: {text:?} has {words:?}");
}

fn product(
    [rows, columns, length]: [usize; 3],
    term: impl Fn(usize, usize, usize) -> f64,
) -> Vec<f64> {
    let at = |i: usize| (0..length).map(|k| term(i / columns, i % columns, k)).sum();
    (0..rows * columns).map(at).collect()
}

/// Two steps whose updates follow a rule: a function of an element's gradients so far.
fn trained_by(rule: impl Fn(&[f64]) -> f64) -> Vec<Dump> {
    trained(|_, gradients| rule(gradients))
}

/// Two steps whose updates follow a rule: a function of an element and of its gradients so far.
fn trained(rule: impl Fn(f64, &[f64]) -> f64) -> Vec<Dump> {
    let mut run: Vec<Dump> = Vec::new();
    for step in 0..2 {
        let start = start(Loss::CrossEntropy);
        let mut dump = match run.last() {
            Some(before) => start.after(before).candidate(),
            None => start.candidate(),
        };
        dump.header.step = step;
        for (next, parameter, gradient) in
            [1, 2].into_iter().flat_map(|l| [(WNext(l), W(l), Dw(l)), (BNext(l), B(l), Db(l))])
        {
            let before: Vec<Vec<f64>> = run.iter().map(|dump| values(dump, gradient)).collect();
            let (w, dw) = (values(&dump, parameter), values(&dump, gradient));
            let all = |i: usize| before.iter().map(|dw| dw[i]).chain([dw[i]]).collect::<Vec<_>>();
            set(&mut dump, next, (0..w.len()).map(|i| w[i] - rule(w[i], &all(i))));
        }
        run.push(dump);
    }
    run
}

fn adam(rate: f64, epsilon: f64) -> impl Fn(&[f64]) -> f64 {
    move |gradients| {
        let (mut m, mut v) = (0.0, 0.0);
        for g in gradients {
            m = 0.9 * m + 0.1 * g;
            v = 0.999 * v + 0.001 * g * g;
        }
        let n = gradients.len() as i32;
        let (m, v) = (m / (1.0 - 0.9_f64.powi(n)), v / (1.0 - 0.999_f64.powi(n)));
        if m == 0.0 { 0.0 } else { rate * m / (v.sqrt() + epsilon) }
    }
}

#[test]
fn optimisers_other_than_gradient_descent() {
    let root = |kept: f64| {
        move |gradients: &[f64]| {
            let v = gradients.iter().fold(0.0, |v, g| kept * v + (1.0 - kept) * g * g);
            let g = gradients[gradients.len() - 1];
            if g == 0.0 { 0.0 } else { 0.001 * g / (v.sqrt() + 1e-8) }
        }
    };
    let adagrad = |gradients: &[f64]| {
        let v: f64 = gradients.iter().map(|g| g * g).sum();
        let g = gradients[gradients.len() - 1];
        if g == 0.0 { 0.0 } else { 0.1 * g / v.sqrt() }
    };
    let dampened = |gradients: &[f64]| 0.1 * gradients.iter().fold(0.0, |v, g| 0.9 * v + 0.1 * g);
    let nesterov = |gradients: &[f64]| {
        let v = gradients.iter().fold(0.0, |v, g| 0.9 * v + g);
        0.1 * (gradients[gradients.len() - 1] + 0.9 * v)
    };
    type Rule = Box<dyn Fn(&[f64]) -> f64>;
    let cases: [(&str, Rule); 7] = [
        (
            "Adam (with an epsilon of 1e-8) and a learning rate of 0.001, as two steps show",
            Box::new(adam(0.001, 1e-8)),
        ),
        ("Adam (with an epsilon of 1e-3)", Box::new(adam(0.1, 1e-3))),
        (
            "RMSprop with a decay of 0.9 (with an epsilon of 1e-8) and a learning rate of 0.001",
            Box::new(root(0.9)),
        ),
        ("RMSprop with a decay of 0.99 (with", Box::new(root(0.99))),
        ("Adagrad", Box::new(adagrad)),
        ("momentum of 0.9, dampened", Box::new(dampened)),
        ("momentum of 0.9, Nesterov's", Box::new(nesterov)),
    ];
    for (words, rule) in cases {
        let run = trained_by(rule);
        let (tensor, text) = explanation(&run);
        assert_eq!(tensor, WNext(1));
        assert!(text.contains(words), "{text:?} has no {words:?}");
    }
    // The usual momentum makes a right first step.
    let run = trained_by(|gradients| 0.1 * gradients.iter().fold(0.0, |v, g| 0.9 * v + g));
    let found = judge_run(&run, 1.0);
    let fault = found.first_faulty().unwrap().first_fault().unwrap();
    assert!(fault.pattern.as_ref().unwrap().text.contains("momentum of 0.9000"), "{fault:?}");
    // Weight decay that the optimiser's quotient doesn't divide.
    let decayed = trained(|w, gradients| adam(0.001, 1e-8)(gradients) + 0.001 * 0.05 * w);
    let words = "Adam (with an epsilon of 1e-8) and a learning rate of 0.001, and a weight decay of 0.05 next to it";
    assert!(explanation(&decayed).1.contains(words), "{:?}", explanation(&decayed));
    // A tenth of the rate in both steps isn't momentum, and the sign of the gradient isn't Adam.
    let (_, text) = explanation(&trained_by(|gradients| 0.01 * gradients[gradients.len() - 1]));
    assert!(!text.contains("momentum"), "{text}");
    let sign = |gradients: &[f64]| 0.1 * gradients[gradients.len() - 1].signum();
    let (_, text) = explanation(&trained_by(sign));
    assert!(text.contains("the sign of dw1"), "{text}");
}

#[test]
fn gradients_clipped_by_their_global_norm() {
    let start = start(Loss::CrossEntropy);
    let norm = |dump: &Dump| {
        let all = [Dw(1), Db(1), Dw(2), Db(2)].into_iter().flat_map(|name| values(dump, name));
        all.map(|g| g * g).sum::<f64>().sqrt()
    };
    let stepped = |dump: &Dump, factor: f64| {
        let (w, dw) = (values(dump, W(1)), values(dump, Dw(1)));
        w.iter().zip(dw).map(|(w, dw)| w - 0.1 * factor * dw).collect::<Vec<_>>()
    };
    let words = "they are clipped by their global norm";
    reads(&start, WNext(1), words, |dump| stepped(dump, 0.5 / norm(dump)));
    is_not(&start, WNext(1), words, |dump| stepped(dump, 0.517_37 / norm(dump)));
    let scaled = |dump: &Dump, factor: f64| -> Vec<f64> {
        values(dump, Dw(2)).iter().map(|dw| factor * dw).collect()
    };
    reads(&start, Dw(2), words, |dump| scaled(dump, 0.25 / norm(dump)));
    is_not(&start, Dw(2), words, |dump| scaled(dump, 0.261_93 / norm(dump)));
    let own = |dump: &Dump, name| values(dump, name).iter().map(|g| g * g).sum::<f64>().sqrt();
    let words = "over the norm of dw1";
    reads(&start, WNext(1), words, |dump| stepped(dump, 0.01 / own(dump, Dw(1))));
    is_not(&start, WNext(1), words, |dump| stepped(dump, 0.012_347 / own(dump, Dw(1))));
    reads(&start, Dw(2), "over the norm of dw2", |dump| scaled(dump, 0.05 / own(dump, Dw(2))));
}

/// Activations and slopes, each of whose operations rounds to float32.
#[test]
fn activations_in_single_precision() {
    let start = start(Loss::CrossEntropy).scaled(3.0);
    let sigmoid = |z: f32| 1.0 / (1.0 + (-z).exp());
    let gelu = |z: f32| 0.5 * z * (1.0 + (0.797_884_6 * (z + 0.044_715 * z * z * z)).tanh());
    let selu = |z: f32| 1.050_701 * if z > 0.0 { z } else { 1.673_263_2 * (z.exp() - 1.0) };
    type Single<'a> = &'a dyn Fn(f32) -> f32;
    let activations: [(&str, Single<'_>); 4] = [
        ("it is z1 times sigmoid(z1)", &|z| z * sigmoid(z)),
        ("it is gelu(z1) by its tanh formula", &gelu),
        ("it is selu(z1)", &selu),
        ("it is tanh(z1)", &f32::tanh),
    ];
    let single = |values: Vec<f64>| values.into_iter().map(|value| value as f32);
    for (words, of) in activations {
        let made = |dump: &Dump| single(values(dump, Z(1))).map(|z| f64::from(of(z))).collect();
        reads(&start, A(1), words, made);
    }
    let slopes: [(&str, Single<'_>); 3] = [
        ("it is da1 times tanh's slope at z1", &|z| 1.0 - z.tanh() * z.tanh()),
        ("it is da1 times sigmoid's slope at z1", &|z| sigmoid(z) * (1.0 - sigmoid(z))),
        ("it is da1 times the slope of z1 times sigmoid(z1)", &|z| {
            sigmoid(z) * (1.0 + z * (1.0 - sigmoid(z)))
        }),
    ];
    for (words, slope) in slopes {
        let made = |dump: &Dump| {
            let z = single(values(dump, Z(1)));
            let elements = single(values(dump, Da(1))).zip(z);
            elements.map(|(da, z)| f64::from(da * slope(z))).collect()
        };
        reads(&start, Dz(1), words, made);
    }
    let other = |dump: &Dump| values(dump, Z(1)).iter().map(|z| z * (0.3 * z).tanh()).collect();
    for words in ["gelu", "sigmoid", "selu"] {
        is_not(&start, A(1), words, other);
    }
}

#[test]
fn rows_that_are_normalised() {
    let start = start(Loss::CrossEntropy);
    let normalised = |values: Vec<f64>, epsilon: f64| -> Vec<f64> {
        let rows = values.chunks(17).flat_map(|row| {
            let mean = row.iter().sum::<f64>() / 17.0;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 17.0;
            row.iter().map(move |x| (x - mean) / (variance + epsilon).sqrt()).collect::<Vec<_>>()
        });
        rows.collect()
    };
    for name in [Z(1), A(1)] {
        let words = "each row is normalised";
        reads(&start, name, words, |dump| normalised(values(dump, name), 1e-5));
        is_not(&start, name, words, |dump| normalised(values(dump, name), 0.37));
    }
}

/// A limit so small that six decimals would print it as 0.
#[test]
fn tiny_limits_are_printed() {
    let small = |start: &Start| {
        values(&start.candidate(), P).iter().filter(|&&p| 1e-12 < p && p < 1e-8).count()
    };
    let scales = (4..60).map(|scale| start(Loss::CrossEntropy).scaled(scale as f32));
    let start = scales.into_iter().find(|start| small(start) > 5).unwrap();
    reads(&start, P, "nothing is below 0.0000001", |dump| {
        values(dump, P).iter().map(|p| p.max(1e-7)).collect()
    });
}

/// Softmax without its maximum makes NaN of large logits.
#[test]
fn exponentials_that_overflow() {
    let start = start(Loss::CrossEntropy).scaled(40.0);
    let mut dump = start.candidate();
    let z: Vec<f32> = values(&dump, Z(2)).iter().map(|&z| z as f32).collect();
    let row = |z: &[f32]| {
        let sum: f32 = z.iter().map(|z| z.exp()).sum();
        z.iter().map(|z| f64::from(z.exp() / sum)).collect::<Vec<_>>()
    };
    let p: Vec<f64> = z.chunks(10).flat_map(row).collect();
    assert!(p.iter().any(|p| p.is_nan()), "{z:?}");
    *data(&mut dump, P) = p.clone();
    let words = "exp(z) overflows there";
    assert!(explanation(&[dump.clone()]).1.contains(words), "{:?}", explanation(&[dump]));
    // NaN elsewhere has another cause.
    let other = p.iter().position(|p| !p.is_nan()).unwrap();
    data(&mut dump, P)[other] = f64::NAN;
    assert!(!explanation(&[dump.clone()]).1.contains(words), "{:?}", explanation(&[dump]));
}

/// With 10 outputs and a learning rate of 0.1, a factor of a tenth may be either.
#[test]
fn a_tenth_may_be_a_mean_or_the_learning_rate() {
    let start = start(Loss::CrossEntropy);
    for (name, factor, also) in [(Dz(2), 0.1, true), (Dz(2), 10.0, false)] {
        let mut dump = start.candidate();
        let wrong: Vec<f64> = values(&dump, name).iter().map(|dz| factor * dz).collect();
        set(&mut dump, name, wrong);
        let (_, text) = explanation(&[dump]);
        assert!(text.contains("there are 10 outputs"), "{text}");
        assert_eq!(text.contains("or the learning rate is applied once more"), also, "{text}");
    }
}

#[test]
fn gradients_with_respect_to_p_and_slopes_of_sigmoid() {
    for (loss, words, of) in [
        (
            Loss::Bce,
            "(p - y) / (p·(1 - p))",
            (|p, y| (p - y) / (p * (1.0 - p))) as fn(f64, f64) -> f64,
        ),
        (Loss::CrossEntropy, "-y / p", |p, y| -y / p),
        (Loss::Bce, "p·(1 - p)", |p, y| (p - y) * p * (1.0 - p)),
    ] {
        let start = start(loss);
        let made = |dump: &Dump, factor: f64| {
            let (p, y) = (values(dump, P), values(dump, Y));
            p.iter().zip(y).map(|(&p, y)| factor * of(p, y) / 12.0).collect::<Vec<_>>()
        };
        reads(&start, Dz(2), words, |dump| made(dump, 1.0));
        if !words.starts_with('p') {
            reads(
                &start,
                Dz(2),
                &format!("{words}, over B: the gradient with respect to p"),
                |dump| made(dump, 0.1),
            );
        }
    }
    let sigmoid = |dump: &Dump, slope: fn(f64) -> f64| -> Vec<f64> {
        values(dump, Da(1)).iter().zip(values(dump, A(1))).map(|(da, a)| da * slope(a)).collect()
    };
    let start = start(Loss::CrossEntropy);
    reads(&start, Dz(1), "a1·(1 - a1): sigmoid's slope", |dump| sigmoid(dump, |a| a * (1.0 - a)));
    is_not(&start, Dz(1), "sigmoid", |dump| sigmoid(dump, |a| a * (1.3 - a)));
}

/// Rounds to the nearest number with `digits` binary digits after the point.
fn short(value: f64, digits: i32) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let quantum = f64::from(value.abs().log2().floor() as i32 - digits).exp2();
    (value / quantum).round_ties_even() * quantum
}

fn softmax(z: &[f64]) -> Vec<f64> {
    let row = |z: &[f64]| {
        let sum: f64 = z.iter().map(|z| z.exp()).sum();
        z.iter().map(|z| z.exp() / sum).collect::<Vec<_>>()
    };
    z.chunks(10).flat_map(row).collect()
}

#[test]
fn logits_and_sums_with_the_digits_of_half() {
    let start = start(Loss::CrossEntropy);
    let rounded = |dump: &Dump, digits| -> Vec<f64> {
        values(dump, Z(2)).iter().map(|&z| short(z, digits)).collect()
    };
    reads(&start, P, "z2 is rounded to half", |dump| softmax(&rounded(dump, 10)));
    is_not(&start, P, "half", |dump| softmax(&rounded(dump, 8)));
    // This start has a batch of four samples.
    let start = Start::new(&[36, 17, 10], 4, Loss::CrossEntropy, 5);
    let summed = |dump: &Dump, digits| {
        let (dz, a) = (values(dump, Dz(2)), values(dump, A(1)));
        let of = |j: usize, k: usize| {
            (0..4).fold(0.0, |sum, i| short(sum + dz[i * 10 + j] * a[i * 17 + k], digits))
        };
        (0..170).map(|i| of(i / 17, i % 17)).collect::<Vec<_>>()
    };
    reads(&start, Dw(2), "the sum is kept in half", |dump| summed(dump, 10));
    is_not(&start, Dw(2), "half", |dump| summed(dump, 8));
}

/// Numbers of bfloat16 are also numbers of half, but no sum of half ends in them.
#[test]
fn results_with_the_digits_of_bfloat16() {
    let start = Start::new(&[36, 17, 10], 12, Loss::CrossEntropy, 5);
    for name in [Z(1), Z(2), Dw(2), Da(1), TensorName::Db(1)] {
        let rounded = |dump: &Dump| values(dump, name).iter().map(|&v| short(v, 7)).collect();
        reads(&start, name, "7 binary digits after the point, as bfloat16 has", rounded);
        is_not(&start, name, "half", rounded);
    }
}

/// Results in a shorter format, of which few or none are outside of their bounds, or that are divided by B afterwards.
#[test]
fn results_with_fewer_digits_within_their_bounds() {
    let long = Start::new(&[784, 17, 10], 12, Loss::CrossEntropy, 5);
    reads(&long, Z(1), "10 binary digits after the point", |dump| {
        values(dump, Z(1)).iter().map(|&z| short(z, 10)).collect()
    });
    for batch in [37, 67] {
        let start = Start::new(&[36, 17, 10], batch, Loss::CrossEntropy, 5);
        let scale = batch as f64;
        for (digits, words) in [
            (7, "7 binary digits after the point, as bfloat16 has before the division by B"),
            (10, " has before the division by B"),
        ] {
            reads(&start, Dz(1), words, |dump| {
                values(dump, Dz(1)).iter().map(|&dz| short(scale * dz, digits) / scale).collect()
            });
            is_not(&start, Dz(1), "digits after the point", |dump| {
                values(dump, Dz(1)).iter().map(|&dz| short(dz, digits + 3)).collect()
            });
        }
    }
}

/// A step that is much too small is not a step by rounded operands.
#[test]
fn a_tiny_update_is_not_one_by_whole_numbers() {
    let start = start(Loss::CrossEntropy);
    for size in [1e-4, 1e-3] {
        is_not(&start, TensorName::WNext(1), "whole numbers", |dump| {
            let updates = values(dump, W(1)).into_iter().zip(values(dump, Dw(1)));
            updates.map(|(w, dw)| w - size * (100.0 * dw).tanh()).collect()
        });
    }
}

#[test]
fn losses_with_smoothed_labels_or_an_epsilon() {
    for loss in [Loss::CrossEntropy, Loss::Bce] {
        let bce = loss == Loss::Bce;
        let start = start(loss).scaled(4.0);
        let mut honest = vec![start.candidate()];
        for step in 1..4 {
            let mut next = start.clone().after(&honest[step - 1]).candidate();
            next.header.step = step as u64;
            honest.push(next);
        }
        let told = |steps: usize, term: &dyn Fn(f64, f64) -> f64| {
            let mut run = honest[..steps].to_vec();
            for dump in &mut run {
                let z = values(dump, Z(2));
                let sigmoid = || z.iter().map(|z| 1.0 / (1.0 + (-z).exp())).collect();
                let p = if bce { sigmoid() } else { softmax(&z) };
                let sum: f64 = p.into_iter().zip(values(dump, Y)).map(|(p, y)| term(p, y)).sum();
                set(dump, TensorName::Loss, [sum / if bce { 120.0 } else { 12.0 }]);
            }
            let (name, text) = explanation(&run);
            assert_eq!(name, TensorName::Loss);
            text
        };
        let smooth = |e: f64| {
            move |p: f64, y: f64| {
                let q = (1.0 - e) * y + e / 10.0;
                -q * p.ln() - if bce { (1.0 - q) * (1.0 - p).ln() } else { 0.0 }
            }
        };
        let kept = |e: f64| {
            move |p: f64, y: f64| {
                -y * (p + e).ln() - if bce { (1.0 - y) * (1.0 - p + e).ln() } else { 0.0 }
            }
        };
        let mut rounded = honest.clone();
        for dump in &mut rounded {
            let z = values(dump, Z(2)).into_iter().map(|z| short(z, 7));
            let term = |(z, y): (f64, f64)| match loss {
                Loss::Bce => z.max(0.0) - z * y + (-z.abs()).exp().ln_1p(),
                _ => -z * y,
            };
            let z: Vec<f64> = z.collect();
            let sum: f64 = z.iter().copied().zip(values(dump, Y)).map(term).sum();
            let logs = z.chunks(10).map(|z| z.iter().map(|z| z.exp()).sum::<f64>().ln());
            let logs = if bce { 0.0 } else { logs.sum() };
            set(dump, TensorName::Loss, [(sum + logs) / if bce { 120.0 } else { 12.0 }]);
        }
        assert!(
            explanation(&rounded).1.contains("z2 is rounded to bfloat16"),
            "{:?}",
            explanation(&rounded)
        );
        // Smoothing by 0.1 is so common that one wrong loss is enough to report it, if the loss differs enough; with
        // binary cross-entropy it takes four.
        for steps in [if bce { 4 } else { 1 }, 4] {
            let text = told(steps, &smooth(0.1));
            assert!(
                text.contains("smoothed by e = 0.1 only in the loss"),
                "{loss} {steps}: {text:?}"
            );
        }
        let text = told(4, &kept(1e-3));
        assert!(text.contains("1e-3 is added to p inside the logarithm"), "{text:?}");
        for term in [&smooth(0.137) as &dyn Fn(f64, f64) -> f64, &kept(1.37e-3)] {
            let text = told(4, term);
            assert!(!text.contains("smoothed") && !text.contains("added to p"), "{text:?}");
        }
    }
}

/// A penalty hardly changes from step to step, and so do many other numbers.
#[test]
fn a_nearly_constant_penalty_is_not_taken_for_another_number() {
    let mut run = vec![start(Loss::CrossEntropy).candidate()];
    for step in 1..4 {
        let mut next = start(Loss::CrossEntropy).after(&run[step - 1]).candidate();
        next.header.step = step as u64;
        run.push(next);
    }
    for dump in &mut run {
        let size: f64 = [W(1), W(2), B(2)]
            .iter()
            .map(|&w| values(dump, w).iter().map(|w| w.abs().powf(1.5)).sum::<f64>())
            .sum();
        let loss = values(dump, TensorName::Loss)[0];
        set(dump, TensorName::Loss, [loss + 1e-3 * size]);
    }
    let (_, text) = explanation(&run);
    assert!(text.is_empty() || text.contains("nearly the same in each step"), "{text}");
}

#[test]
fn an_unexplained_loss_is_reported_as_such() {
    let mut dump = start(Loss::CrossEntropy).candidate();
    let loss = values(&dump, TensorName::Loss)[0];
    set(&mut dump, TensorName::Loss, [loss.sin() + 0.314_159]);
    let pattern = judge(&dump, 1.0).first_fault.unwrap().pattern.unwrap();
    assert_eq!(pattern.kind, PatternKind::Unexplained, "{}", pattern.text);
    assert!(pattern.text.contains("is right"), "{}", pattern.text);
}

#[test]
fn one_term_of_four_with_its_neighbours_weight() {
    let start = start(Loss::CrossEntropy);
    let z = |dump: &Dump, other: &dyn Fn(usize) -> usize| {
        let (x, w, b) = (values(dump, X), values(dump, W(1)), values(dump, B(1)));
        let sum = product([12, 17, 36], |i, j, k| x[i * 36 + k] * w[j * 36 + other(k)]);
        sum.iter().enumerate().map(|(i, z)| z + b[i % 17]).collect::<Vec<_>>()
    };
    reads(&start, Z(1), "one column in 4 of w1, from 2 on, is read one column too far", |dump| {
        z(dump, &|k| if k % 4 == 2 { k + 1 } else { k })
    });
    is_not(&start, Z(1), "one column in", |dump| {
        z(dump, &|k| if k % 7 == 2 { (k + 5) % 36 } else { k })
    });
}

#[test]
fn images_that_are_misread() {
    let start = start(Loss::CrossEntropy).of_bytes();
    let byte = |x: f64| 255.0 * (x * 0.3081 + 0.1307);
    let signed = |x: f64| {
        let byte = byte(x).round();
        ((if byte > 127.0 { byte - 256.0 } else { byte }) / 255.0 - 0.1307) / 0.3081
    };
    let turned = |x: &[f64]| -> Vec<f64> {
        (0..x.len()).map(|i| x[i / 36 * 36 + i % 6 * 6 + i % 36 / 6]).collect()
    };
    let each = |x: &[f64], of: &dyn Fn(f64) -> f64| x.iter().map(|&x| of(x)).collect::<Vec<_>>();
    type Made<'a> = Box<dyn Fn(&[f64]) -> Vec<f64> + 'a>;
    let cases: [(&str, Made<'_>); 4] = [
        ("is read transposed", Box::new(turned)),
        ("normalised twice", Box::new(|x| each(x, &|x| (x - 0.1307) / 0.3081))),
        ("read as signed bytes", Box::new(|x| each(x, &signed))),
        ("divided by 255 nor normalised", Box::new(|x| each(x, &byte))),
    ];
    let reference = start.reference();
    for (words, made) in &cases {
        // Once in a kernel that normalises the images itself, and once in the dump's `x`.
        reads(&start, Z(1), words, |dump| {
            let (x, w, b) = (made(&values(dump, X)), values(dump, W(1)), values(dump, B(1)));
            let sum = product([12, 17, 36], |i, j, k| x[i * 36 + k] * w[j * 36 + k]);
            sum.iter().enumerate().map(|(i, z)| z + b[i % 17]).collect()
        });
        let mut dump = start.candidate();
        let x = made(&values(&dump, X));
        set(&mut dump, X, x);
        let first = compare(&reference, &dump, 1.0).first_divergence.unwrap();
        let text = first.pattern.map(|pattern| pattern.text).unwrap_or_default();
        assert!(first.tensor == X && text.contains(words), "{text:?} has no {words:?}");
    }
    for (of, words) in [
        ((|x| 0.7 * x + 0.3) as fn(f64) -> f64, "it is 0.7 times what it should be + 0.3"),
        (|x: f64| 0.7 * x.sin() + 0.3, ""),
    ] {
        let mut dump = start.candidate();
        let x = each(&values(&dump, X), &of);
        set(&mut dump, X, x);
        let pattern = compare(&reference, &dump, 1.0).first_divergence.unwrap().pattern.unwrap();
        assert!(pattern.text.contains(words), "{}", pattern.text);
        assert_eq!(pattern.kind == PatternKind::Unexplained, words.is_empty(), "{}", pattern.text);
    }
}

/// Subtracting the batch's largest logit, instead of each row's, changes nothing until exp underflows.
#[test]
fn the_largest_of_the_batch_is_subtracted() {
    // The logits are so far apart that, after this subtraction, a row's small logits have exponentials that underflow
    // in float32, but the row's largest logit has not.
    let ends = |z: &[f64]| z.iter().copied().fold(f64::MIN, f64::max);
    let reaches = |start: &Start| {
        let z = values(&start.candidate(), Z(2));
        ends(&z) - z.chunks(10).map(ends).fold(f64::MAX, f64::min)
    };
    let scales = (10..60).map(|scale| start(Loss::CrossEntropy).scaled(0.5 * scale as f32));
    let start = scales.into_iter().find(|start| (78.0..86.0).contains(&reaches(start))).unwrap();
    let made = |dump: &Dump, single: &dyn Fn(f64) -> f64| {
        let z = values(dump, Z(2));
        let most = z.iter().copied().fold(f64::MIN, f64::max);
        let row = |z: &[f64]| {
            let e: Vec<f64> = z.iter().map(|z| single((z - most).exp())).collect();
            let sum: f64 = e.iter().sum();
            e.iter().map(|e| e / sum).collect::<Vec<_>>()
        };
        z.chunks(10).flat_map(row).collect::<Vec<_>>()
    };
    assert!(judge(&start.candidate(), 1.0).is_clean());
    reads(&start, P, "the largest z of the whole batch is subtracted", |dump| {
        made(dump, &|e| f64::from(e as f32))
    });
}

fn single(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}

fn double(values: impl IntoIterator<Item = f32>) -> Vec<f64> {
    values.into_iter().map(f64::from).collect()
}

/// A fixture at an edge of arithmetic, as an honest level dumps it in single precision.
fn fixture(name: &str) -> Dump {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("../../reference/dumps").join(format!("{name}.json"));
    let dump = Start::of(&Dump::read(&path).unwrap()).candidate();
    assert!(judge(&dump, 1.0).is_clean(), "{name}: {:?}", judge(&dump, 1.0).first_fault);
    dump
}

/// Replaces a tensor of a fixture by a wrong one; the reading has to contain the words.
fn reads_fixture(fixture: &str, name: TensorName, words: &str, made: impl Fn(&Dump) -> Vec<f64>) {
    let mut dump = self::fixture(fixture);
    let wrong = made(&dump);
    *data(&mut dump, name) = double(single(&wrong));
    let (tensor, text) = explanation(&[dump]);
    assert_eq!(tensor, name);
    assert!(text.contains(words), "{fixture}, {name}: {text:?} has no {words:?}");
}

/// Subnormal numbers become 0 if the hardware or a compiler's fast arithmetic flushes them.
#[test]
fn subnormal_numbers_that_are_flushed() {
    let flush = |x: f64| if x.abs() < f64::from(f32::MIN_POSITIVE) { 0.0 } else { x };
    // `dw` is left out, because its terms may be summed by atomic additions, which flush subnormal numbers.
    for name in [Z(1), A(1)] {
        reads_fixture("subnormal", name, "subnormal results are flushed to 0 (FTZ)", |dump| {
            values(dump, name).into_iter().map(flush).collect()
        });
    }
    // Weights that are read as 0, next to biases that aren't.
    reads_fixture("subnormal", Z(1), "subnormal elements of w1 are read as 0 (DAZ)", |dump| {
        let (x, w, b) = (values(dump, X), values(dump, W(1)), values(dump, B(1)));
        let sum = product([8, 24, 64], |i, j, k| x[i * 64 + k] * flush(w[j * 64 + k]));
        sum.iter().enumerate().map(|(i, z)| z + b[i % 24]).collect()
    });
    reads_fixture("large-logits", Dz(2), "subnormal results are flushed to 0 (FTZ)", |dump| {
        values(dump, Dz(2)).into_iter().map(flush).collect()
    });
}

/// NaN and infinity, by the operation that made the first of them.
#[test]
fn the_operation_that_made_a_nan_is_named() {
    use tensor::TensorName::Loss as L;
    let rows = |dump: &Dump| single(&values(dump, Z(2)));
    let softmax = |z: &[f32], less: &dyn Fn(&[f32]) -> f32| {
        let row = |row: &[f32]| {
            let e: Vec<f32> = row.iter().map(|z| (z - less(row)).exp()).collect();
            let sum: f32 = e.iter().sum();
            e.into_iter().map(move |e| e / sum).collect::<Vec<_>>()
        };
        z.chunks(10).flat_map(row).collect::<Vec<f32>>()
    };
    let most = |z: &[f32]| z.iter().copied().fold(f32::MIN, f32::max);
    let large = "large-logits";
    reads_fixture(
        large,
        P,
        "overflows there, and infinity over infinity is NaN: max z is not",
        |dump| double(softmax(&rows(dump), &|_| 0.0)),
    );
    reads_fixture(
        large,
        P,
        "underflows to 0 for all classes of a row, and 0 over 0 is NaN: the largest z of the whole batch",
        |dump| {
            let z = rows(dump);
            let all = most(&z);
            double(softmax(&z, &|_| all))
        },
    );
    reads_fixture(large, P, "the first z of the row is subtracted", |dump| {
        double(softmax(&rows(dump), &|row| row[0]))
    });
    reads_fixture(large, Dz(2), "in its own p, exp(z) overflows there", |dump| {
        let p = softmax(&rows(dump), &|_| 0.0);
        p.iter().zip(values(dump, Y)).map(|(&p, y)| (f64::from(p) - y) / 8.0).collect()
    });
    let entropy = |dump: &Dump, p: &[f64]| {
        let terms = p.iter().zip(values(dump, Y)).map(|(p, y)| -y * p.ln());
        vec![terms.sum::<f64>() / 8.0]
    };
    reads_fixture(large, L, "of 80 elements: ln 0 = -infinity, and 0 times infinity", |dump| {
        entropy(dump, &values(dump, P))
    });
    reads_fixture(large, L, "p of a sample's own class is 0: ln 0 = -infinity", |dump| {
        let own = values(dump, P).into_iter().zip(values(dump, Y)).filter(|(_, y)| *y == 1.0);
        vec![own.map(|(p, _)| -p.ln()).sum::<f64>() / 8.0]
    });
    reads_fixture("saturated", L, "of 80 elements: ln 0 = -infinity, and 0 times it", |dump| {
        let p = values(dump, P).into_iter().zip(values(dump, Y));
        vec![p.map(|(p, y)| -y * p.ln() - (1.0 - y) * (1.0 - p).ln()).sum::<f64>() / 80.0]
    });
    // One number may have several causes: all of them are listed.
    let softplus = |z: f32| (1.0 + z.exp()).ln();
    let of_p = "p is 0 in 8 and 1 in 36 of 80 elements: ln 0 = -infinity";
    let of_exp = "exp overflows to infinity, and 0 times it is NaN: y·ln(1 + exp(-z))";
    for words in
        [&format!("{of_p}; or exp(z) overflows to infinity: ln(1"), "; or exp(-z) overflows"]
    {
        reads_fixture("saturated", L, words, |dump| {
            let p = single(&values(dump, P)).into_iter().zip(values(dump, Y));
            let terms = p.map(|(p, y)| -(if y > 0.0 { p } else { 1.0 - p }).ln());
            vec![f64::from(terms.sum::<f32>()) / 80.0]
        });
    }
    for words in
        [&format!("{of_p}, and 0 times it is NaN; or {of_exp}"), "; or exp(z) overflows, and"]
    {
        reads_fixture("saturated", L, words, |dump| {
            let z = rows(dump).into_iter().zip(single(&values(dump, Y)));
            let terms = z.map(|(z, y)| y * softplus(-z) + (1.0 - y) * softplus(z));
            vec![f64::from(terms.sum::<f32>()) / 80.0]
        });
    }
    reads_fixture("saturated", Dz(2), "p·(1 - p) is 0 there: 0 / 0 and", |dump| {
        let p = single(&values(dump, P)).into_iter().zip(single(&values(dump, Y)));
        double(p.map(|(p, y)| (p - y) / (p * (1.0 - p)) * p * (1.0 - p) / 8.0))
    });
    reads_fixture("saturated", Dz(2), "p·(1 - p) is 0 there", |dump| {
        let p = single(&values(dump, P)).into_iter().zip(single(&values(dump, Y)));
        double(p.map(|(p, y)| (p - y) / (p * (1.0 - p)) / 8.0))
    });
    reads_fixture(
        "zero-gradient",
        WNext(1),
        "0 over 0 is NaN: it is divided by the norm of all",
        |dump| {
            let step = values(dump, Dw(1)).into_iter().map(|g| 0.1 * g / 0.0);
            values(dump, W(1)).into_iter().zip(step).map(|(w, step)| w - step).collect()
        },
    );
    // A NaN in one element, which nothing explains.
    let mut dump = fixture(large);
    data(&mut dump, Z(1))[5] = f64::NAN;
    let (_, text) = explanation(&[dump]);
    assert_eq!(text, "the candidate holds NaN only at [0, 5]");
}

/// A number is no ratio of sizes that happen to make it: 30/10 is 3.
#[test]
fn simple_factors_are_printed_as_numbers() {
    let start = Start::new(&[36, 30, 10], 12, Loss::Bce, 5);
    for (factor, words) in [
        (3.0, "it is 3 times what it should be, where y is 1"),
        (0.25, "it is 0.25 times what it should be, where y is 1"),
        (17.5, "it is 17.5 times what it should be, where y is 1"),
        (5.0 / 3.0, "it is 5/3 times what it should be, where y is 1"),
    ] {
        reads(&start, Dz(2), words, |dump| {
            let elements = values(dump, Dz(2)).into_iter().zip(values(dump, Y));
            elements.map(|(dz, y)| if y == 1.0 { factor * dz } else { dz }).collect()
        });
        let scaled = |dump: &Dump| values(dump, Dw(1)).iter().map(|x| factor * x).collect();
        for words in ["n1", "lr", "B", "C"] {
            is_not(&start, Dw(1), words, scaled);
        }
    }
    let start = Start::new(&[36, 30, 10], 67, Loss::CrossEntropy, 5);
    reads(&start, Dw(1), "0.955224 (for example 64/B) times", |dump| {
        values(dump, Dw(1)).iter().map(|x| 64.0 / 67.0 * x).collect()
    });
}

#[test]
fn output_gradients_through_another_function_of_p() {
    let start = Start::new(&[36, 17, 10], 12, Loss::CrossEntropy, 5).scaled(3.0);
    type OfRows<'a> = &'a dyn Fn(&[f64], &[f64]) -> Vec<f64>;
    let rows = |dump: &Dump, of: OfRows<'_>| {
        let (p, y) = (values(dump, P), values(dump, Y));
        let rows = p.chunks(10).zip(y.chunks(10));
        rows.flat_map(|(p, y)| of(p, y)).map(|dz| dz / 12.0).collect::<Vec<f64>>()
    };
    reads(&start, Dz(2), "softmax's Jacobian is applied to p - y, which has it already", |dump| {
        rows(dump, &|p, y| {
            let sum: f64 = p.iter().zip(y).map(|(p, y)| p * (p - y)).sum();
            p.iter().zip(y).map(|(p, y)| p * (p - y - sum)).collect()
        })
    });
    reads(&start, Dz(2), "softmax is applied twice", |dump| {
        rows(dump, &|p, y| softmax(p).iter().zip(y).map(|(q, y)| q - y).collect())
    });
    reads(&start, Dz(2), "only the diagonal of softmax's Jacobian", |dump| {
        rows(dump, &|p, y| p.iter().zip(y).map(|(p, y)| -y * (1.0 - p)).collect())
    });
    reads(&start, Dz(2), "the labels are smoothed by e = 0.1, e/C for each class", |dump| {
        rows(dump, &|p, y| p.iter().zip(y).map(|(p, y)| p - 0.9 * y - 0.01).collect())
    });
    reads(&start, Dz(2), "p is kept at 1e-2 or more", |dump| {
        rows(dump, &|p, y| p.iter().zip(y).map(|(p, y)| p.max(0.01) - y).collect())
    });
    reads(&start, Dz(2), "made of another p: it is softmax of 0.500000 times z", |dump| {
        let halves: Vec<f64> = values(dump, Z(2)).iter().map(|z| 0.5 * z).collect();
        let p = softmax(&halves).into_iter().zip(values(dump, Y));
        p.map(|(p, y)| (p - y) / 12.0).collect()
    });
}

/// With weights of 0 a `z` is exactly 0, and the slope there is a choice.
#[test]
fn the_slope_at_exactly_zero() {
    for (at_zero, words) in [
        (1.0, "the mask is z >= 0: the slope at exactly 0 is 1"),
        (0.5, "the slope at exactly 0 is 1/2"),
    ] {
        reads_fixture("kink", Dz(1), words, |dump| {
            let elements = values(dump, Da(1)).into_iter().zip(values(dump, Z(1)));
            let slope = |z: f64| if z == 0.0 { at_zero } else { f64::from(u8::from(z > 0.0)) };
            elements.map(|(da, z)| slope(z) * da).collect()
        });
    }
}

/// The bound of a loss allows more than many mistakes change: its usual error is far smaller.
#[test]
fn losses_of_one_step_of_a_large_batch() {
    for (sizes, batch) in [(&[36, 17, 10][..], 67), (&[36, 20, 17, 10], 40)] {
        let start = Start::new(sizes, batch, Loss::CrossEntropy, 5).scaled(2.0);
        let last = sizes.len() - 1;
        let told = |term: &dyn Fn(f64, f64) -> f64| {
            let mut dump = start.candidate();
            let p = softmax(&values(&dump, Z(last))).into_iter().zip(values(&dump, Y));
            let sum: f64 = p.map(|(p, y)| term(p, y)).sum();
            set(&mut dump, TensorName::Loss, [sum / batch as f64]);
            explanation(&[dump]).1
        };
        let text = told(&|p, y| -(0.9 * y + 0.01) * p.ln());
        assert!(text.contains("smoothed by e = 0.1 only in the loss: e/C"), "{text}");
        let text = told(&|p, y| -y * 0.9 * p.ln());
        assert!(text.contains("it is 0.9 times"), "{text}");
        let text = told(&|p, y| -y * (1.0 - p).powi(2) * p.ln());
        assert!(text.contains("the mean of (1 - p)² times the loss"), "{text}");
    }
    // If each p is 0 or far above 1e-7, adding 1e-7 to p and clamping p to 1e-7 give the same loss.
    reads_fixture(
        "large-logits",
        TensorName::Loss,
        "inside the logarithm or p is kept between",
        |dump| {
            let p = values(dump, P).into_iter().zip(values(dump, Y));
            vec![p.map(|(p, y)| -y * p.max(1e-7).ln()).sum::<f64>() / 8.0]
        },
    );
}

#[test]
fn gradients_and_images_that_are_clipped() {
    let start = start(Loss::CrossEntropy);
    reads(&start, WNext(1), "the elements of dw1 are clipped to ±0.05", |dump| {
        let updates = values(dump, W(1)).into_iter().zip(values(dump, Dw(1)));
        updates.map(|(w, dw)| w - 0.1 * dw.clamp(-0.05, 0.05)).collect()
    });
    reads(&start, Z(1), "the pixels of x are less their image's mean", |dump| {
        let (x, w, b) = (values(dump, X), values(dump, W(1)), values(dump, B(1)));
        let mean = |i: usize| x[i * 36..][..36].iter().sum::<f64>() / 36.0;
        let sum = product([12, 17, 36], |i, j, k| (x[i * 36 + k] - mean(i)) * w[j * 36 + k]);
        sum.iter().enumerate().map(|(i, z)| z + b[i % 17]).collect()
    });
}

/// Scattered wrong elements are not "everywhere".
#[test]
fn the_place_of_unexplained_elements_is_exact() {
    let start = start(Loss::CrossEntropy);
    for (is_wrong, words) in [
        (Box::new(|z: f64| z > 0.0) as Box<dyn Fn(f64) -> bool>, "wrong just where z1 is above 0"),
        (Box::new(|_| true), "wrong everywhere"),
    ] {
        let mut dump = start.candidate();
        let z = values(&dump, Z(1));
        let a = values(&dump, A(1)).into_iter().zip(z).enumerate();
        let made = a.map(
            |(i, (a, z))| if is_wrong(z) { a + 0.3 + 0.1 * ((i * i) as f64).sin() } else { a },
        );
        let made: Vec<f64> = made.collect();
        set(&mut dump, A(1), made);
        let pattern = judge(&dump, 1.0).first_fault.unwrap().pattern.unwrap();
        assert!(pattern.text.contains(words), "{}", pattern.text);
    }
}
