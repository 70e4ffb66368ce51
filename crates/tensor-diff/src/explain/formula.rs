//! An operation's row as a formula of operands that can be read elsewhere: `base + factor · rest`.

use tensor::{Loss, TensorName};

use super::Scene;
use super::index::{At, Map, Operand};
use crate::chain::operation::{Axis, Elementwise, Rule, Settings};

/// What an operation makes of its operands.
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
    /// Of the first operand, over the sum of the second.
    Softmax(usize),
}

/// An operand in the place of one of a formula's, and how it is read.
#[derive(Clone, Copy)]
pub(super) struct Swap<'a> {
    pub(super) place: usize,
    pub(super) operand: &'a Operand<'a>,
    pub(super) map: Map,
}

/// The factor of a sum's terms if the operation has no second factor.
const ONE: [f64; 1] = [1.0];

fn one<'a>() -> Operand<'a> {
    Operand { name: "1".into(), values: &ONE, rows: 1, columns: 1, by: [Axis::Nothing; 2] }
}

/// A tensor that an operation reads.
fn operand<'a>(scene: &'a Scene<'a>, name: TensorName, by: [Axis; 2]) -> Option<Operand<'a>> {
    let (rows, columns) = scene.chain.rows_and_columns(name)?;
    Some(Operand { name: name.to_string(), values: scene.chain.get(name)?, rows, columns, by })
}

impl<'a> Formula<'a> {
    /// The formula of the tensor, none where it has no operands.
    pub(super) fn of(scene: &'a Scene<'a>) -> Option<Self> {
        let chain = scene.chain;
        let operation = chain.operation(scene.name)?;
        let (_, columns) = scene.rows_and_columns();
        let own = [if scene.shape.len() == 2 { Axis::Row } else { Axis::Nothing }, Axis::Column];
        let axes = operation.axes;
        let softmax = chain.losses() == [Loss::CrossEntropy];
        let (operands, kind) = match operation.rule {
            Rule::Sum(_) => {
                let sum = Sum::of(scene)?;
                let base = operation.inputs.get(2).copied();
                let base = base.map(|base| operand(scene, base, [Axis::Nothing, Axis::Column]));
                let operands = [Some(sum.left), Some(sum.right)].into_iter().chain(base);
                (operands.collect::<Option<_>>()?, Kind::Sum(sum.length))
            }
            Rule::Output if softmax => {
                let all = [own, [Axis::Row, Axis::Term]]
                    .map(|by| operand(scene, operation.inputs[0], by));
                (all.into_iter().collect::<Option<_>>()?, Kind::Softmax(columns))
            }
            Rule::Output => {
                let sigmoid = chain.losses() == [Loss::Bce];
                let of = move |v: &[f64]| {
                    (0.0, if sigmoid { 1.0 / (1.0 + (-v[0]).exp()) } else { v[0] })
                };
                (vec![operand(scene, operation.inputs[0], own)?], Kind::Elementwise(Box::new(of)))
            }
            Rule::Elementwise(Elementwise { of, .. }) => {
                let each = operation.inputs.iter().map(|&input| {
                    let mut operand = operand(scene, input, own)?;
                    let values = chain.read(&operation, input)?;
                    if matches!((scene.name, input), (TensorName::Dz(_), TensorName::Z(_))) {
                        operand.name = format!("the mask {}", operand.name);
                    }
                    operand.values = values;
                    Some(operand)
                });
                let settings: Settings = chain.settings();
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
        Some(Self { operands, kind, columns, axes, rest })
    }

    /// The tensor itself, written elsewhere than it should be.
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

    /// Base and rest of an element, with one operand, or two, read elsewhere.
    pub(super) fn made(&self, i: usize, swaps: &[Swap<'_>]) -> (f64, f64) {
        let at = |term| At { row: i / self.columns, column: i % self.columns, term };
        let read = |place: usize, term: usize| match swaps.iter().find(|swap| swap.place == place) {
            Some(swap) => swap.operand.read(swap.map, at(term)),
            None => self.operands[place].read(Map::Right, at(term)),
        };
        match &self.kind {
            Kind::Sum(terms) => {
                let base = if self.operands.len() > 2 { read(2, 0) } else { 0.0 };
                (base, (0..*terms).map(|k| read(0, k) * read(1, k)).sum())
            }
            Kind::Elementwise(of) => match self.operands.len() {
                1 => of(&[read(0, 0)]),
                _ => of(&[read(0, 0), read(1, 0)]),
            },
            Kind::Softmax(classes) => {
                let own = read(0, 0);
                (0.0, 1.0 / (0..*classes).map(|c| (read(1, c) - own).exp()).sum::<f64>())
            }
        }
    }

    /// The name of a loop's index.
    pub(super) fn counts(&self, axis: Axis) -> &'static str {
        match axis {
            Axis::Row => self.axes[0],
            Axis::Column => self.axes[1],
            Axis::Term => self.axes[2],
            Axis::Nothing => "nothing",
        }
    }

    /// The operands that may be read wrongly together, since they are one and the same.
    pub(super) fn together(&self) -> Option<[usize; 2]> {
        matches!(self.kind, Kind::Softmax(_)).then_some([0, 1])
    }
}

/// A sum that can be recomputed with changed operands:
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
    pub(super) fn of(scene: &'a Scene<'a>) -> Option<Self> {
        let operation = scene.chain.operation(scene.name)?;
        let Rule::Sum(sum) = operation.rule else { return None };
        let input = |at: usize| operation.inputs.get(at).copied();
        let left = operand(scene, input(0)?, sum.left)?;
        let right = match sum.right {
            Some(by) => operand(scene, input(1)?, by)?,
            None => one(),
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

    /// A factor of term `k` of element `i`.
    pub(super) fn factor(&self, of: &Operand<'_>, i: usize, k: usize) -> f64 {
        of.read(Map::Right, self.at(i, k))
    }

    fn at(&self, i: usize, term: usize) -> At {
        At { row: i / self.columns, column: i % self.columns, term }
    }

    pub(super) fn base_of(&self, i: usize) -> f64 {
        self.base.map_or(0.0, |base| base[i % self.columns])
    }

    pub(super) fn term(&self, i: usize, k: usize) -> f64 {
        self.factor(&self.left, i, k) * self.factor(&self.right, i, k)
    }

    /// The sum with other factors.
    pub(super) fn with(&self, i: usize, left: &Operand<'_>, right: &Operand<'_>) -> f64 {
        self.read(i, (left, Map::Right), (right, Map::Right))
    }

    /// The sum with other factors, read elsewhere.
    pub(super) fn read(
        &self,
        i: usize,
        left: (&Operand<'_>, Map),
        right: (&Operand<'_>, Map),
    ) -> f64 {
        let at = |k| self.at(i, k);
        let terms =
            (0..self.length).map(|k| left.0.read(left.1, at(k)) * right.0.read(right.1, at(k)));
        self.base_of(i) + terms.sum::<f64>()
    }
}
