//! Tests with random mistakes from a grammar: an operation, its mistake, and the part of the tensor that has it.
//! `tensor-diff` has to find each mistake by its numbers, and describe it in the right words.

mod products;

use tensor::{Dump, Loss, TensorName};
use tensor_diff::{PatternKind, judge};

use crate::support::{Random, Start, data};

use TensorName::{A, B, BNext, Da, Db, Dw, Dz, P, W, WNext, Y, Z};

use products::{misread, part, weighted};

/// A wrong tensor, and words of which the reading has to have one.
struct Mistake {
    what: String,
    tensor: TensorName,
    values: Vec<f64>,
    words: Vec<String>,
}

fn get(dump: &Dump, name: TensorName) -> &[f64] {
    &dump.get(name).unwrap().data
}

/// Mistakes in elementwise operations.
fn elementwise(random: &mut Random, start: &Start, dump: &Dump) -> Mistake {
    let mut value = |choices: &[f64]| choices[random.below(choices.len())];
    let alpha = value(&[0.02, 0.1, 0.3]);
    let beta = value(&[0.9, 0.5, 1.5]);
    let kind = random.below(20);
    let (z1, da, p, y) = (get(dump, Z(1)), get(dump, Da(1)), get(dump, P), get(dump, Y));
    let last = start.sizes.len() - 1;
    let batch = start.batch as f64;
    let rate = f64::from(start.learning_rate);
    let (w, dw) = (get(dump, W(1)), get(dump, Dw(1)));
    let (n, c) = (start.sizes[1], start.sizes[last]);
    let each = |of: &dyn Fn(usize) -> f64, len: usize| (0..len).map(of).collect::<Vec<f64>>();
    let (what, tensor, values, words): (&str, _, _, Vec<&str>) = match kind {
        0 => (
            "leaky",
            A(1),
            each(&|i| z1[i].max(alpha * z1[i]), z1.len()),
            vec!["leaky", "times z1"],
        ),
        1 => (
            "square below 0",
            A(1),
            each(&|i| if z1[i] < 0.0 { z1[i] * z1[i] } else { z1[i] }, z1.len()),
            vec!["z1²"],
        ),
        2 => ("capped", A(1), each(&|i| z1[i].max(0.0).min(alpha), z1.len()), vec!["above"]),
        3 => (
            "shifted",
            A(1),
            each(&|i| (z1[i] - alpha).max(0.0), z1.len()),
            vec!["z1 - ", "should be -"],
        ),
        4 => (
            "threshold",
            A(1),
            each(&|i| if z1[i] > alpha { z1[i] } else { 0.0 }, z1.len()),
            vec!["above", "up to"],
        ),
        5 => (
            "mask by magnitude",
            Dz(1),
            each(&|i| if z1[i].abs() > alpha { da[i] } else { 0.0 }, da.len()),
            vec!["magnitude of z1"],
        ),
        6 => (
            "mask times factor",
            Dz(1),
            each(&|i| if z1[i] > 0.0 { beta * da[i] } else { 0.0 }, da.len()),
            vec!["times", "half"],
        ),
        7 => (
            "mask of the other row",
            Dz(1),
            each(&|i| if z1[(i + n) % z1.len()] > 0.0 { da[i] } else { 0.0 }, da.len()),
            vec!["mask", "row"],
        ),
        8 => (
            "combination",
            Dz(last),
            each(&|i| (beta * p[i] - y[i] + alpha) / batch, p.len()),
            vec!["times p", "0.9", "p + ", "p - "],
        ),
        9 => (
            "labels moved",
            Dz(last),
            each(&|i| (p[i] - y[i / c * c + (i + 2) % c]) / batch, p.len()),
            vec!["y is read"],
        ),
        10 => (
            "squared p",
            Dz(last),
            each(&|i| (p[i] * p[i] - y[i]) / batch, p.len()),
            vec!["p²", "square"],
        ),
        11 => (
            "decay",
            WNext(1),
            each(&|i| (1.0 - alpha * rate) * w[i] - rate * dw[i], w.len()),
            vec!["decay", "times w1"],
        ),
        12 => (
            "rate",
            WNext(1),
            each(&|i| w[i] - beta * rate * dw[i], w.len()),
            vec!["step", "times dw1"],
        ),
        13 => {
            let b = get(dump, B(last));
            let db = get(dump, Db(last));
            (
                "other update",
                BNext(last),
                each(&|i| b[i] - rate * db[(i + 1) % db.len()], b.len()),
                vec![db_words(last)],
            )
        }
        14 => (
            "clipped step",
            WNext(1),
            each(&|i| w[i] - rate * dw[i].clamp(-2e-4, 2e-4), w.len()),
            vec!["clipped", "0.0002", "2e-5", "lr"],
        ),
        15 => (
            "factor on a moved operand",
            Dz(1),
            each(&|i| if z1[i] > 0.0 { beta * da[(i + n) % da.len()] } else { 0.0 }, da.len()),
            vec!["da1 is read one row too far"],
        ),
        16 => (
            "sum of squares",
            Db(1),
            each(&|j| get(dump, Dz(1)).iter().skip(j).step_by(n).map(|v| v * v).sum(), n),
            vec!["square of dz1"],
        ),
        17 => (
            "sum of magnitudes",
            Db(1),
            each(
                &|j| {
                    beta * get(dump, Dz(1)).iter().skip(j).step_by(n).map(|v| v.abs()).sum::<f64>()
                },
                n,
            ),
            vec!["magnitude of dz1"],
        ),
        18 => (
            "magnitude of the gradient",
            WNext(1),
            each(&|i| w[i] - rate * beta * dw[i].abs(), w.len()),
            vec!["|dw1|", "magnitude of dw1"],
        ),
        _ => (
            "class alone",
            Dz(last),
            each(&|i| if y[i] == 1.0 { (p[i] - y[i]) / batch } else { 0.0 }, p.len()),
            vec!["y", "0"],
        ),
    };
    Mistake {
        what: format!("{what} ({alpha}, {beta})"),
        tensor,
        values,
        words: words.into_iter().map(str::to_owned).collect(),
    }
}

const fn db_words(last: usize) -> &'static str {
    if last == 2 { "db2" } else { "db3" }
}

/// Mistakes in softmax.
fn rows_of_p(random: &mut Random, start: &Start, dump: &Dump) -> Mistake {
    let (z, c) = (get(dump, Z(start.sizes.len() - 1)), start.sizes[start.sizes.len() - 1]);
    let kind = random.below(8);
    let e = |z: f64| z.exp();
    let made = |i: usize| {
        let row = &z[i / c * c..][..c];
        let sum: f64 = row.iter().map(|&z| e(z)).sum();
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match kind {
            0 => e(z[i]) / (sum + 0.25),
            1 => e(z[i]) / (sum + 2.0 * e(row[c - 1])),
            2 => e(z[i]) / (sum - e(z[i])),
            3 => e(z[i]) / row.iter().map(|&z| e(z).powi(2)).sum::<f64>().sqrt(),
            4 => e(z[i] - largest),
            5 => 10_f64.powf(z[i]) / row.iter().map(|&z| 10_f64.powf(z)).sum::<f64>(),
            6 => e(z[i]) / (sum - e(row[2]) - e(row[3])),
            _ => z[i] * z[i] / row.iter().map(|z| z * z).sum::<f64>(),
        }
    };
    let words = [
        "0.25 is added",
        "the last of the 7 classes of the sum below counts 3",
        "left out of its sum",
        "root of the sum of its squares",
        "not divided",
        "10^z",
        "2 of the 7 classes of the sum below are left out, from 2 to 3",
        "z²",
    ];
    Mistake {
        what: format!("softmax {kind}"),
        tensor: P,
        values: (0..z.len()).map(made).collect(),
        words: vec![words[kind].to_owned(), "2.302585 times z".into()],
    }
}

#[test]
fn mistakes_drawn_from_a_grammar_are_read() {
    let mut random = Random::new(20);
    let starts = [
        Start::new(&[45, 19, 7], 8, Loss::CrossEntropy, 1),
        Start::new(&[45, 19, 7], 67, Loss::CrossEntropy, 2),
        Start::new(&[23, 12, 9, 10], 37, Loss::Bce, 3),
        Start::new(&[196, 16, 10], 8, Loss::SquaredError, 4),
    ];
    let dumps: Vec<Dump> = starts.iter().map(Start::candidate).collect();
    let (mut drawn, mut misread_ones) = (0, Vec::new());
    for _ in 0..600 {
        let at = random.below(starts.len());
        let (start, dump) = (&starts[at], &dumps[at]);
        let layer = 1 + random.below(start.sizes.len() - 1);
        let name = match random.below(3) {
            0 => Z(layer),
            1 => Dw(layer),
            _ => Da(1 + random.below(start.sizes.len() - 2)),
        };
        let mistake = match random.below(5) {
            4 if start.loss == Loss::CrossEntropy => rows_of_p(&mut random, start, dump),
            0 => weighted(&mut random, start, dump, name),
            1 => misread(&mut random, start, dump, name),
            2 => part(&mut random, start, dump, name),
            _ => elementwise(&mut random, start, dump),
        };
        let mut candidate = dump.clone();
        let wrong = mistake.values.iter().map(|&value| f64::from(value as f32)).collect();
        *data(&mut candidate, mistake.tensor) = wrong;
        // A mistake that changes hardly anything doesn't count.
        let alone = judge(&candidate, 1.0);
        let Some(fault) = alone.first_fault.filter(|fault| fault.tensor == mistake.tensor) else {
            continue;
        };
        let outside = alone.rows.iter().find(|row| row.name == mistake.tensor);
        let outside = outside.and_then(|row| row.deviation.as_ref()).map_or(0, |d| d.outside);
        if outside < 4 {
            continue;
        }
        drawn += 1;
        let pattern = fault.pattern.filter(|pattern| pattern.kind != PatternKind::Unexplained);
        let said = pattern.map(|pattern| pattern.text).unwrap_or_default();
        if !mistake.words.iter().any(|words| said.contains(words)) {
            misread_ones.push(format!(
                "{} in {} of {:?}, batch {}, {outside} wrong: {said:?}",
                mistake.what, mistake.tensor, start.sizes, start.batch
            ));
        }
    }
    println!("{drawn} drawn, {} not read:\n{}", misread_ones.len(), misread_ones.join("\n"));
    assert!(drawn > 250, "{drawn}");
    assert!(10 * misread_ones.len() <= drawn, "{}", misread_ones.join("\n"));
}
