//! Mistakes drawn from a grammar: an operation, what is wrong in it, and where. None of them is looked up
//! anywhere; the readings have to find each by its numbers, and say it with the words that belong to it.

use crate::support::{Random, Start, data};
use tensor::{Dump, Loss, TensorName};
use tensor_diff::{PatternKind, judge};

use TensorName::{A, B, BNext, Da, Db, Dw, Dz, P, W, WNext, X, Y, Z};

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

/// A product's operands by the indices of its result and of its terms, and what is added.
struct Product<'a> {
    rows: usize,
    columns: usize,
    terms: usize,
    names: [TensorName; 2],
    values: [&'a [f64]; 2],
    /// The shape of each as it is stored, and which index runs down its rows: 0 the result's row, 1 its
    /// column, 2 the term.
    shapes: [[usize; 2]; 2],
    by: [[usize; 2]; 2],
    base: Option<(TensorName, &'a [f64])>,
}

impl<'a> Product<'a> {
    fn of(start: &Start, dump: &'a Dump, name: TensorName) -> Self {
        let (n, batch) = (&start.sizes, start.batch);
        let fed = |l: usize| if l == 1 { X } else { A(l - 1) };
        let (rows, columns, terms, names, shapes, by) = match name {
            Z(l) => {
                let (i, o) = (n[l - 1], n[l]);
                (batch, o, i, [fed(l), W(l)], [[batch, i], [o, i]], [[0, 2], [1, 2]])
            }
            Dw(l) => {
                let (i, o) = (n[l - 1], n[l]);
                (o, i, batch, [Dz(l), fed(l)], [[batch, o], [batch, i]], [[2, 0], [2, 1]])
            }
            Da(l) => {
                let (i, o) = (n[l], n[l + 1]);
                (batch, i, o, [Dz(l + 1), W(l + 1)], [[batch, o], [o, i]], [[0, 2], [2, 1]])
            }
            _ => unreachable!("{name} is no product"),
        };
        let base = match name {
            Z(l) => Some((B(l), get(dump, B(l)))),
            _ => None,
        };
        let values = [get(dump, names[0]), get(dump, names[1])];
        Self { rows, columns, terms, names, values, shapes, by, base }
    }

    fn made(
        &self,
        index: impl Fn(usize, usize, usize) -> Option<usize>,
        term: impl Fn(usize, f64, f64) -> f64,
    ) -> Vec<f64> {
        let element = |i: usize| {
            let at = |k: usize| [i / self.columns, i % self.columns, k];
            let read = |which: usize, k: usize| {
                let [row, column] = self.by[which].map(|by| at(k)[by]);
                let flat = index(which, row, column);
                flat.and_then(|flat| self.values[which].get(flat)).copied().unwrap_or(0.0)
            };
            let sum: f64 = (0..self.terms).map(|k| term(k, read(0, k), read(1, k))).sum();
            sum + self.base.map_or(0.0, |(_, base)| base[i % self.columns])
        };
        (0..self.rows * self.columns).map(element).collect()
    }

    fn right(&self, which: usize, row: usize, column: usize) -> Option<usize> {
        Some(row * self.shapes[which][1] + column)
    }
}

/// Weights of the terms.
fn weighted(random: &mut Random, start: &Start, dump: &Dump, name: TensorName) -> Mistake {
    let product = Product::of(start, dump, name);
    let n = product.terms;
    let weight = [0.0, 2.0, -1.0, 0.5, 3.0][random.below(5)];
    let (which, words): (Box<dyn Fn(usize) -> bool>, &str) = match random.below(5) {
        0 => (Box::new(move |k| k + 1 == n), "the last"),
        1 => (Box::new(|k| k == 0), "the first"),
        2 => {
            let period = 2 + random.below(3);
            let from = random.below(period);
            (Box::new(move |k| k % period == from), "one in")
        }
        3 => {
            let from = 1 + random.below(n - 2);
            (Box::new(move |k| k >= from), "the last")
        }
        _ => {
            let at = 1 + random.below(n - 2);
            (Box::new(move |k| k == at), "number")
        }
    };
    let values = product.made(
        |w, row, column| product.right(w, row, column),
        |k, a, b| if which(k) { weight * a * b } else { a * b },
    );
    let mut said =
        vec![words.to_owned(), "of each".into(), "only".into(), "one in".into(), "count".into()];
    if weight == 0.0 {
        said.push("left out".into());
    }
    Mistake {
        what: format!("{words} of {n} terms count {weight} times"),
        tensor: name,
        values,
        words: said,
    }
}

/// An operand that is read elsewhere.
fn misread(random: &mut Random, start: &Start, dump: &Dump, name: TensorName) -> Mistake {
    let product = Product::of(start, dump, name);
    let which = random.below(2);
    let [rows, columns] = product.shapes[which];
    let axis = random.below(2);
    let n = product.shapes[which][axis];
    let by = 1 + random.below(n - 1);
    let kind = random.below(6);
    let index = |w: usize, row: usize, column: usize| {
        if w != which {
            return product.right(w, row, column);
        }
        let moved = |i: usize| match kind {
            0 => (i + by) % n,
            1 => by,
            2 => i.min(by),
            3 => i / 2,
            _ => n - 1 - i,
        };
        match (kind, axis) {
            (5, _) => Some(column * rows + row),
            (_, 0) => Some(moved(row) * columns + column),
            _ => Some(row * columns + moved(column)),
        }
    };
    let values = product.made(index, |_, a, b| a * b);
    let operand = product.names[which];
    let how = ["rotated", "fixed", "clamped", "halved", "reversed", "transposed"][kind];
    // Of both operands each term is the same pair in another order, and a sum of rows is a row of sums.
    let words = vec![
        operand.to_string(),
        "rows in another order".into(),
        product.names[1 - which].to_string(),
        "what row".into(),
        "row 0".into(),
        "column 0".into(),
        format!("{name} should be"),
        "column-major".into(),
        "stored".into(),
    ];
    Mistake { what: format!("{operand} {how} by {by} along {axis}"), tensor: name, values, words }
}

/// Whether a row and a column lie in a part.
type Inside = Box<dyn Fn(usize, usize) -> bool>;

fn part(random: &mut Random, start: &Start, dump: &Dump, name: TensorName) -> Mistake {
    let product = Product::of(start, dump, name);
    let right = get(dump, name);
    let columns = product.columns;
    let rows = product.rows;
    let from = 1 + random.below(rows - 2);
    let column = random.below(columns);
    let (inside, place): (Inside, &str) = match random.below(4) {
        0 => (Box::new(move |r, _| r >= from), "row"),
        1 => (Box::new(move |_, c| c == column), "column"),
        2 => (Box::new(|r, _| r % 2 == 1), "row"),
        _ => (Box::new(|r, c| r == c), "diagonal"),
    };
    let kind = random.below(4);
    let without = product.made(
        |w, r, c| product.right(w, r, c),
        |k, a, b| if k + 1 == product.terms { 0.0 } else { a * b },
    );
    let wrong = |i: usize| match kind {
        0 => -right[i],
        1 => 0.0,
        2 => 0.5 * right[i],
        _ => without[i],
    };
    let values = (0..right.len())
        .map(|i| if inside(i / columns, i % columns) { wrong(i) } else { right[i] });
    let words = [
        ["-1"].as_slice(),
        &["it is 0", "they are 0", "left out"],
        &["1/2", "0.5", "half"],
        &["the last of"],
    ][kind];
    Mistake {
        what: format!("mistake {kind} in one {place}"),
        tensor: name,
        values: values.collect(),
        words: words.iter().map(|&word| word.to_owned()).collect(),
    }
}

/// What is made of the elements of one or two tensors.
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

/// What softmax divides, and by what.
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
        // What changes nothing, or next to nothing, is no mistake.
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
