//! An operation as a formula of operands that can be exchanged or misread: `base + factor · rest`.

use tensor::{Loss, TensorName};

use super::Scene;
use super::index::{At, Map, Operand};
use crate::chain::operation::{Axis, Elementwise, Rule};
use crate::numeric::sigmoid;

/// An operation and its operands.
pub(super) struct Formula<'a> {
    pub(super) operands: Vec<Operand<'a>>,
    kind: Kind<'a>,
    columns: usize,
    /// The names of the rows, the columns and the terms.
    axes: [&'static str; 3],
    /// The words for `rest`, which the factor multiplies.
    pub(super) rest: &'static str,
}

/// The base and the rest of an element, from the operands' elements.
type Function<'a> = Box<dyn Fn(&[f64]) -> (f64, f64) + 'a>;

enum Kind<'a> {
    /// The sum, over a number of terms, of the product of the first two operands; the third is added.
    Sum(usize),
    Elementwise(Function<'a>),
    /// The first operand's exponential over the sum of the second's.
    Softmax(usize),
}

/// Other values in the place of an operand's, and how they are read.
#[derive(Clone, Copy)]
pub(super) struct Swap<'a> {
    /// The index of the operand.
    pub(super) place: usize,
    pub(super) values: &'a [f64],
    pub(super) map: Map,
}

/// The factor of a sum's terms if the operation has no second factor.
const ONE: [f64; 1] = [1.0];

/// A tensor that an operation reads.
fn operand<'a>(scene: &'a Scene<'a>, name: TensorName, by: [Axis; 2]) -> Option<Operand<'a>> {
    let (rows, columns) = scene.chain.rows_and_columns(name)?;
    Some(Operand { name: name.to_string(), values: scene.chain.get(name)?, rows, columns, by })
}

impl<'a> Formula<'a> {
    /// The formula of the tensor; `None` if it has no operands.
    pub(super) fn new(scene: &'a Scene<'a>) -> Option<Self> {
        let chain = scene.chain;
        let operation = chain.operation(scene.name)?;
        let (_, columns) = scene.rows_and_columns();
        let own = [if scene.shape.len() == 2 { Axis::Row } else { Axis::Nothing }, Axis::Column];
        let (operands, kind) = match operation.rule {
            Rule::Sum(_) => {
                let sum = Sum::new(scene)?;
                let base = operation.inputs.get(2);
                let base = base.map(|&base| operand(scene, base, [Axis::Nothing, Axis::Column]));
                let operands = [Some(sum.left), Some(sum.right)].into_iter().chain(base);
                (operands.collect::<Option<_>>()?, Kind::Sum(sum.length))
            }
            Rule::Output if chain.losses() == [Loss::CrossEntropy] => {
                let all = [own, [Axis::Row, Axis::Term]]
                    .map(|by| operand(scene, operation.inputs[0], by));
                (all.into_iter().collect::<Option<_>>()?, Kind::Softmax(columns))
            }
            Rule::Output => {
                let of: fn(&[f64]) -> (f64, f64) = match chain.losses()[..] {
                    [Loss::Bce] => |v| (0.0, sigmoid(v[0])),
                    _ => |v| (0.0, v[0]),
                };
                (vec![operand(scene, operation.inputs[0], own)?], Kind::Elementwise(Box::new(of)))
            }
            Rule::Elementwise(Elementwise { of, .. }) => {
                let each = operation.inputs.iter().map(|&input| {
                    let mut operand = operand(scene, input, own)?;
                    operand.values = chain.read(&operation, input)?;
                    if matches!((scene.name, input), (TensorName::Dz(_), TensorName::Z(_))) {
                        operand.name = format!("the mask {}", operand.name);
                    }
                    Some(operand)
                });
                let settings = chain.settings();
                let of = move |v: &[f64]| of(v, settings);
                (each.collect::<Option<_>>()?, Kind::Elementwise(Box::new(of)))
            }
            Rule::Loss => return None,
        };
        let rest = match scene.name {
            TensorName::Z(_) => "the product",
            TensorName::WNext(_) | TensorName::BNext(_) => "the step",
            _ => "it",
        };
        Some(Self { operands, kind, columns, axes: operation.axes, rest })
    }

    /// The tensor itself, written to the wrong place.
    pub(super) fn same(scene: &'a Scene<'a>) -> Self {
        let (rows, columns) = scene.rows_and_columns();
        let down = if rows > 1 { Axis::Row } else { Axis::Nothing };
        let operand = Operand {
            name: format!("what {} should be", scene.name),
            values: scene.expected,
            rows,
            columns,
            by: [down, Axis::Column],
        };
        Self {
            operands: vec![operand],
            kind: Kind::Elementwise(Box::new(|v| (0.0, v[0]))),
            columns,
            axes: ["the row", "the column", "the term"],
            rest: "it",
        }
    }

    /// The base and the rest of an element, with some operands exchanged.
    pub(super) fn made(&self, i: usize, swaps: &[Swap<'_>]) -> (f64, f64) {
        let at = |term| At { row: i / self.columns, column: i % self.columns, term };
        let read = |place: usize, term: usize| {
            let operand = &self.operands[place];
            match swaps.iter().find(|swap| swap.place == place) {
                Some(swap) => operand.read(swap.values, swap.map, at(term)),
                None => operand.read(operand.values, Map::Right, at(term)),
            }
        };
        match &self.kind {
            Kind::Sum(terms) => {
                let base = if self.operands.len() > 2 { read(2, 0) } else { 0.0 };
                (base, (0..*terms).map(|k| read(0, k) * read(1, k)).sum())
            }
            Kind::Elementwise(of) => {
                let inputs = [read(0, 0), if self.operands.len() > 1 { read(1, 0) } else { 0.0 }];
                // A comparison would hide a NaN.
                if inputs.iter().any(|x| x.is_nan()) { (f64::NAN, f64::NAN) } else { of(&inputs) }
            }
            Kind::Softmax(classes) => {
                let own = read(0, 0);
                (0.0, 1.0 / (0..*classes).map(|c| (read(1, c) - own).exp()).sum::<f64>())
            }
        }
    }

    /// An element with some operands exchanged.
    pub(super) fn total(&self, i: usize, swaps: &[Swap<'_>]) -> f64 {
        let (base, rest) = self.made(i, swaps);
        base + rest
    }

    /// The name of a loop's index.
    pub(super) fn axis_name(&self, axis: Axis) -> &'static str {
        match axis {
            Axis::Row => self.axes[0],
            Axis::Column => self.axes[1],
            Axis::Term => self.axes[2],
            Axis::Nothing => "nothing",
        }
    }

    /// The operands that may be misread: each by itself, but first all that are one and the same tensor together.
    pub(super) fn places(&self) -> Vec<Vec<usize>> {
        let together = matches!(self.kind, Kind::Softmax(_)).then(|| vec![0, 1]);
        let places = 0..self.operands.len();
        let each = places.filter(|&place| self.operands[place].values.len() > 1);
        together.into_iter().chain(each.map(|place| vec![place])).collect()
    }

    /// The number of operands that are factors of a sum's terms.
    pub(super) fn factors(&self) -> usize {
        match self.kind {
            Kind::Sum(_) => self.operands[..2].iter().filter(|one| one.values.len() > 1).count(),
            _ => 0,
        }
    }

    /// The swaps that read these operands from their own values by a map.
    pub(super) fn misread(&self, places: &[usize], map: Map) -> Vec<Swap<'_>> {
        let swap = |&place: &usize| Swap { place, values: self.operands[place].values, map };
        places.iter().map(swap).collect()
    }
}

/// A sum whose terms can be changed:
/// `out[r, c] = base[c] + Σ_k left(r, c, k)·right(r, c, k)`.
pub(super) struct Sum<'a> {
    pub(super) columns: usize,
    pub(super) length: usize,
    pub(super) left: Operand<'a>,
    pub(super) right: Operand<'a>,
    pub(super) base: Option<&'a [f64]>,
    /// The names of `left`, `right` and the base; `None` for a factor of 1.
    pub(super) names: [Option<TensorName>; 3],
    /// The noun of the terms, in the plural.
    pub(super) over: &'static str,
}

impl<'a> Sum<'a> {
    /// The sum that makes the tensor.
    pub(super) fn new(scene: &'a Scene<'a>) -> Option<Self> {
        let operation = scene.chain.operation(scene.name)?;
        let Rule::Sum(sum) = operation.rule else { return None };
        let input = |at: usize| operation.inputs.get(at).copied();
        let left = operand(scene, input(0)?, sum.left)?;
        let right = match sum.right {
            Some(by) => operand(scene, input(1)?, by)?,
            None => {
                let by = [Axis::Nothing; 2];
                Operand { name: "1".into(), values: &ONE, rows: 1, columns: 1, by }
            }
        };
        let bias = input(2);
        Some(Self {
            columns: scene.rows_and_columns().1.max(1),
            length: if sum.left[0] == Axis::Term { left.rows } else { left.columns },
            base: bias.and_then(|bias| scene.chain.get(bias)),
            names: [input(0), input(1), bias],
            over: sum.over,
            left,
            right,
        })
    }

    /// The factor of term `k` of element `i` from an operand, or from other values that are stored like it.
    pub(super) fn factor(&self, operand: &Operand<'_>, values: &[f64], i: usize, k: usize) -> f64 {
        let at = At { row: i / self.columns, column: i % self.columns, term: k };
        operand.read(values, Map::Right, at)
    }

    pub(super) fn base_of(&self, i: usize) -> f64 {
        self.base.map_or(0.0, |base| base[i % self.columns])
    }

    /// The two factors of a term.
    pub(super) fn factors(&self, i: usize, k: usize) -> (f64, f64) {
        let [left, right] = [&self.left, &self.right];
        (self.factor(left, left.values, i, k), self.factor(right, right.values, i, k))
    }

    pub(super) fn term(&self, i: usize, k: usize) -> f64 {
        let (left, right) = self.factors(i, k);
        left * right
    }

    /// All terms of an element.
    pub(super) fn terms(&self, i: usize) -> impl Iterator<Item = f64> {
        (0..self.length).map(move |k| self.term(i, k))
    }
}
