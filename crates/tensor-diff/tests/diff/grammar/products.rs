//! The part of the grammar for mistakes in matrix products: terms with other weights, misread operands, and wrong parts of the
//! result.

use tensor::{Dump, TensorName};

use super::{Mistake, get};
use crate::support::{Random, Start};

use TensorName::{A, B, Da, Dw, Dz, W, X, Z};

/// A product: its operands, their loop indices, and the bias.
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
    fn new(start: &Start, dump: &'a Dump, name: TensorName) -> Self {
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

/// Makes a product whose terms have wrong weights.
pub(super) fn weighted(
    random: &mut Random,
    start: &Start,
    dump: &Dump,
    name: TensorName,
) -> Mistake {
    let product = Product::new(start, dump, name);
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

/// Makes a product with a misread operand.
pub(super) fn misread(
    random: &mut Random,
    start: &Start,
    dump: &Dump,
    name: TensorName,
) -> Mistake {
    let product = Product::new(start, dump, name);
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
    // Several descriptions are right: misreading the other operand may pair the same factors, and a sum of rows is a
    // row of sums.
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

/// A function of row and column: whether that element is in the wrong part of the tensor.
type Inside = Box<dyn Fn(usize, usize) -> bool>;

pub(super) fn part(random: &mut Random, start: &Start, dump: &Dump, name: TensorName) -> Mistake {
    let product = Product::new(start, dump, name);
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
