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
    pub(super) columns: usize,
    /// The number of terms of a sum of products, `out[r, c] = base[c] + Σ_k left(r, c, k)·right(r, c, k)`; otherwise 0.
    pub(super) length: usize,
    /// The noun of these terms, in the plural.
    pub(super) over: &'static str,
    /// The names of the rows, the columns and the terms.
    axes: [&'static str; 3],
    /// The words for `rest`, which the factor multiplies.
    pub(super) rest: &'static str,
}

/// A function that computes the base and the rest of an element from the operands' elements.
type Function<'a> = Box<dyn Fn(&[f64]) -> (f64, f64) + 'a>;

enum Kind<'a> {
    /// The sum of the products of the first two operands, plus the third.
    Sum,
    Elementwise(Function<'a>),
    /// The exponential of the first operand, divided by the sum of the exponentials of the second.
    Softmax(usize),
}

/// A hypothesis that other values take the place of an operand's values, and how they are read.
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
        let columns = scene.rows_and_columns().1.max(1);
        let own = [if scene.shape.len() == 2 { Axis::Row } else { Axis::Nothing }, Axis::Column];
        let (mut length, mut over) = (0, "");
        let (operands, kind) = match operation.rule {
            Rule::Sum(sum) => {
                let left = operand(scene, operation.inputs[0], sum.left)?;
                length = if sum.left[0] == Axis::Term { left.rows } else { left.columns };
                over = sum.over;
                let (name, by) = ("1".to_owned(), [Axis::Nothing; 2]);
                let one = Operand { name, values: &ONE, rows: 1, columns: 1, by };
                let right = sum.right.map(|by| operand(scene, operation.inputs[1], by));
                let base = operation.inputs.get(2);
                let base = base.map(|&base| operand(scene, base, [Axis::Nothing, Axis::Column]));
                let operands = [Some(left), right.unwrap_or(Some(one))].into_iter().chain(base);
                (operands.collect::<Option<_>>()?, Kind::Sum)
            }
            Rule::Output if chain.losses() == [Loss::CrossEntropy] => {
                let z = |by| operand(scene, operation.inputs[0], by);
                (vec![z(own)?, z([Axis::Row, Axis::Term])?], Kind::Softmax(columns))
            }
            Rule::Output => {
                let sigmoids = chain.losses() == [Loss::Bce];
                let of = move |v: &[f64]| (0.0, if sigmoids { sigmoid(v[0]) } else { v[0] });
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
        Some(Self { operands, kind, columns, length, over, axes: operation.axes, rest })
    }

    /// The sum that makes the tensor.
    pub(super) fn sum(scene: &'a Scene<'a>) -> Option<Self> {
        Self::new(scene).filter(Self::is_sum)
    }

    fn is_sum(&self) -> bool {
        matches!(self.kind, Kind::Sum)
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
            length: 0,
            over: "",
            axes: ["the row", "the column", "the term"],
            rest: "it",
        }
    }

    /// The base and the rest of an element, with some operands exchanged.
    pub(super) fn made(&self, i: usize, swaps: &[Swap<'_>]) -> (f64, f64) {
        let at = self.at(i, 0);
        let reader = |place: usize| {
            let operand = &self.operands[place];
            let swap = swaps.iter().find(|swap| swap.place == place);
            let (values, map) = swap.map_or((operand.values, Map::Right), |s| (s.values, s.map));
            move |term: usize| operand.read(values, map, At { term, ..at })
        };
        let read = |place: usize, term: usize| reader(place)(term);
        let optional = |place| if self.operands.len() > place { read(place, 0) } else { 0.0 };
        match &self.kind {
            Kind::Sum => {
                let (left, right) = (reader(0), reader(1));
                (optional(2), (0..self.length).map(|k| left(k) * right(k)).sum())
            }
            Kind::Elementwise(of) => {
                let inputs = [read(0, 0), optional(1)];
                // A comparison would hide a NaN.
                if inputs.iter().any(|x| x.is_nan()) { (f64::NAN, f64::NAN) } else { of(&inputs) }
            }
            Kind::Softmax(classes) => {
                let own = read(0, 0);
                (0.0, 1.0 / (0..*classes).map(|c| (read(1, c) - own).exp()).sum::<f64>())
            }
        }
    }

    fn at(&self, i: usize, term: usize) -> At {
        At { row: i / self.columns, column: i % self.columns, term }
    }

    /// An element with some operands exchanged.
    pub(super) fn total(&self, i: usize, swaps: &[Swap<'_>]) -> f64 {
        let (base, rest) = self.made(i, swaps);
        base + rest
    }

    /// The words for a mistake: the operands at `places` are read as `map` describes.
    pub(super) fn words(&self, places: &[usize], map: Map) -> String {
        let [row, column, term] = self.axes;
        self.operands[places[0]].words(map, &|axis| match axis {
            Axis::Row => row,
            Axis::Column => column,
            Axis::Term => term,
            Axis::Nothing => "nothing",
        })
    }

    /// The map that leaves an operand out of a product, if it is a factor of one.
    pub(super) fn left_out(&self, places: &[usize]) -> Option<Map> {
        (places[0] < self.factors()).then_some(Map::LeftOut)
    }

    /// The sets of operands that may be misread: first the operands that are the same tensor, together, and then each
    /// operand by itself.
    pub(super) fn places(&self) -> Vec<Vec<usize>> {
        let together = matches!(self.kind, Kind::Softmax(_)).then(|| vec![0, 1]);
        let places = 0..self.operands.len();
        let each = places.filter(|&place| self.operands[place].values.len() > 1);
        together.into_iter().chain(each.map(|place| vec![place])).collect()
    }

    /// The number of operands that are factors of a sum's terms.
    pub(super) fn factors(&self) -> usize {
        let of_sum = self.operands.iter().take(if self.is_sum() { 2 } else { 0 });
        of_sum.filter(|one| one.values.len() > 1).count()
    }

    /// Whether the terms of a sum have two factors.
    pub(super) fn is_product(&self) -> bool {
        self.is_sum() && self.operands[1].name != "1"
    }

    /// The name of the bias that a sum starts with.
    pub(super) fn bias(&self) -> Option<&str> {
        self.operands.get(2).map(|bias| &bias.name[..])
    }

    /// The element of the bias that is added to element `i`.
    pub(super) fn base_of(&self, i: usize) -> f64 {
        self.operands.get(2).map_or(0.0, |bias| bias.values[i % self.columns])
    }

    /// The factor of term `k` of element `i`, read from `values`, which are stored like the operand at `place`.
    pub(super) fn factor(&self, place: usize, values: &[f64], i: usize, k: usize) -> f64 {
        self.operands[place].read(values, Map::Right, self.at(i, k))
    }

    /// The two factors of a term.
    pub(super) fn pair(&self, i: usize, k: usize) -> [f64; 2] {
        [0, 1].map(|place| self.factor(place, self.operands[place].values, i, k))
    }

    pub(super) fn term(&self, i: usize, k: usize) -> f64 {
        let [left, right] = self.pair(i, k);
        left * right
    }

    /// All terms of an element.
    pub(super) fn terms(&self, i: usize) -> impl Iterator<Item = f64> {
        (0..self.length).map(move |k| self.term(i, k))
    }
}
