//! Each operation as a formula of operands that can be read elsewhere: `base + rest`, of which a factor
//! multiplies the rest.

use tensor::{Loss, TensorName};

use super::Scene;
use super::index::{At, Axis, Map, Operand};
use crate::chain::{count, fed};

/// What an operation makes of its operands.
pub(super) struct Formula<'a> {
    pub(super) operands: Vec<Operand<'a>>,
    kind: FormulaKind<'a>,
    columns: usize,
    /// What the rows, the columns and the terms are called.
    axes: [&'static str; 3],
    /// What the factor belongs to.
    pub(super) rest: String,
}

/// Of the operands that are read at one place, what is added and the rest.
type Elementwise<'a> = Box<dyn Fn(&[f64]) -> (f64, f64) + 'a>;

enum FormulaKind<'a> {
    /// The sum over this many terms of the product of the first two; the third is added.
    Sum(usize),
    Elementwise(Elementwise<'a>),
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

const ONE: [f64; 1] = [1.0];

impl<'a> Formula<'a> {
    /// The formula of the tensor, none where it has no operands.
    pub(super) fn of(scene: &'a Scene<'a>) -> Option<Self> {
        use Axis::{Column, Nothing, Row, Term};
        use TensorName::{A, B, BNext, Da, Db, Dw, Dz, P, W, WNext, Z};
        let chain = scene.chain;
        let (_, columns) = scene.rows_and_columns();
        let operand = |name: TensorName, by: [Axis; 2]| {
            let values = chain.get(name)?;
            let (rows, columns) = match *chain.shape(name)? {
                [rows, columns] => (rows, columns),
                [columns] => (1, columns),
                _ => return None,
            };
            Some(Operand { name: name.to_string(), values, rows, columns, by })
        };
        let own =
            [if matches!(scene.name, B(_) | BNext(_) | Db(_)) { Nothing } else { Row }, Column];
        let last = chain.layers();
        let batch = count(chain.batch());
        let elementwise = |operands, axes, of: Elementwise<'a>| {
            Some(Self {
                operands,
                kind: FormulaKind::Elementwise(of),
                columns,
                axes,
                rest: "it".into(),
            })
        };
        let units = ["the sample", "the unit", "the term"];
        match scene.name {
            Z(l) => Some(Self {
                operands: vec![
                    operand(fed(l), [Row, Term])?,
                    operand(W(l), [Column, Term])?,
                    operand(B(l), [Nothing, Column])?,
                ],
                kind: FormulaKind::Sum(*chain.sizes().get(l - 1)?),
                columns,
                axes: ["the sample", "the unit", "the input"],
                rest: "the product".into(),
            }),
            Dw(l) => Some(Self {
                operands: vec![operand(Dz(l), [Term, Row])?, operand(fed(l), [Term, Column])?],
                kind: FormulaKind::Sum(chain.batch()),
                columns,
                axes: ["the unit", "the input", "the sample"],
                rest: "it".into(),
            }),
            Db(l) => Some(Self {
                operands: vec![
                    operand(Dz(l), [Term, Column])?,
                    Operand {
                        name: "1".into(),
                        values: &ONE,
                        rows: 1,
                        columns: 1,
                        by: [Nothing; 2],
                    },
                ],
                kind: FormulaKind::Sum(chain.batch()),
                columns,
                axes: ["nothing", "the unit", "the sample"],
                rest: "it".into(),
            }),
            Da(l) => Some(Self {
                operands: vec![
                    operand(Dz(l + 1), [Row, Term])?,
                    operand(W(l + 1), [Term, Column])?,
                ],
                kind: FormulaKind::Sum(*chain.sizes().get(l + 1)?),
                columns,
                axes: ["the sample", "the unit", "the next layer's unit"],
                rest: "it".into(),
            }),
            A(l) => {
                elementwise(vec![operand(Z(l), own)?], units, Box::new(|v| (0.0, v[0].max(0.0))))
            }
            P if chain.losses() == [Loss::CrossEntropy] => Some(Self {
                operands: vec![operand(Z(last), own)?, operand(Z(last), [Row, Term])?],
                kind: FormulaKind::Softmax(columns),
                columns,
                axes: ["the sample", "the class", "the term"],
                rest: "it".into(),
            }),
            P => {
                let sigmoid = chain.losses() == [Loss::Bce];
                let of = move |v: &[f64]| {
                    (0.0, if sigmoid { 1.0 / (1.0 + (-v[0]).exp()) } else { v[0] })
                };
                elementwise(vec![operand(Z(last), own)?], units, Box::new(of))
            }
            Dz(l) if l == last => elementwise(
                vec![operand(P, own)?, operand(TensorName::Y, own)?],
                ["the sample", "the class", "the term"],
                Box::new(move |v| (0.0, (v[0] - v[1]) / batch)),
            ),
            Dz(l) => {
                let mut mask = operand(Z(l), own)?;
                mask.values = chain.mask(l)?;
                mask.name = format!("the mask {}", mask.name);
                elementwise(
                    vec![operand(Da(l), own)?, mask],
                    units,
                    Box::new(|v| (0.0, if v[1] > 0.0 { v[0] } else { 0.0 })),
                )
            }
            WNext(_) | BNext(_) => {
                let (parameter, gradient) = super::multiples::updated_from(scene.name)?;
                let rate = chain.learning_rate();
                let made = elementwise(
                    vec![operand(parameter, own)?, operand(gradient, own)?],
                    ["the unit", "the input", "the term"],
                    Box::new(move |v| (v[0], -rate * v[1])),
                )?;
                Some(Self { rest: "the step".into(), ..made })
            }
            _ => None,
        }
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
            kind: FormulaKind::Elementwise(Box::new(|v| (0.0, v[0]))),
            columns,
            axes: ["the row", "the column", "the term"],
            rest: "it".into(),
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
            FormulaKind::Sum(terms) => {
                let base = if self.operands.len() > 2 { read(2, 0) } else { 0.0 };
                (base, (0..*terms).map(|k| read(0, k) * read(1, k)).sum())
            }
            FormulaKind::Elementwise(of) => match self.operands.len() {
                1 => of(&[read(0, 0)]),
                _ => of(&[read(0, 0), read(1, 0)]),
            },
            FormulaKind::Softmax(classes) => {
                let own = read(0, 0);
                (0.0, 1.0 / (0..*classes).map(|c| (read(1, c) - own).exp()).sum::<f64>())
            }
        }
    }

    /// What a loop counts.
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
        matches!(self.kind, FormulaKind::Softmax(_)).then_some([0, 1])
    }
}
