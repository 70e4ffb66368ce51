//! The tensors that are sums: `out[r, c] = base[c] + Σ_k left(r, k)·right(c, k)`.

use tensor::TensorName;

use super::Scene;

/// A buffer and how it is read.
#[derive(Clone)]
pub(super) struct View<'a> {
    pub(super) values: &'a [f64],
    pub(super) offset: isize,
    /// The distance from one row of the result (or column) to the next.
    pub(super) outer: isize,
    /// The distance along the sum.
    pub(super) inner: isize,
    /// How the two indices are mistaken first.
    pub(super) fold: Fold,
}

/// A mistaken index, along the sum or across it.
#[derive(Clone, Copy)]
pub(super) enum Fold {
    /// It is right.
    Right,
    /// A tile's cursor stays at the first tile.
    FirstTile { along: bool, tile: usize },
    /// Within each tile it stays at the first.
    StartOfTile { along: bool, tile: usize },
    /// From the end of this many.
    Reversed { along: bool, of: usize },
    /// Each and its neighbour are exchanged.
    Paired { along: bool },
    /// One further, and the first again behind the last of this many.
    Rotated { along: bool, by: usize, of: usize },
}

impl Fold {
    fn apply(self, outer: usize, k: usize) -> (usize, usize) {
        let (along, index): (bool, &dyn Fn(usize) -> usize) = match self {
            Self::Right => return (outer, k),
            Self::FirstTile { along, tile } => (along, &move |i| i % tile),
            Self::StartOfTile { along, tile } => (along, &move |i| i / tile * tile),
            Self::Reversed { along, of } => (along, &move |i| of - 1 - i),
            Self::Paired { along } => (along, &|i| i ^ 1),
            Self::Rotated { along, by, of } => (along, &move |i| (i + by) % of),
        };
        if along { (outer, index(k)) } else { (index(outer), k) }
    }
}

impl View<'_> {
    /// NaN where the buffer ends.
    pub(super) fn at(&self, outer: usize, k: usize) -> f64 {
        let (outer, k) = self.fold.apply(outer, k);
        let at = self.offset + outer as isize * self.outer + k as isize * self.inner;
        usize::try_from(at).ok().and_then(|at| self.values.get(at)).copied().unwrap_or(f64::NAN)
    }
}

/// A sum, ready to be done again with something changed.
pub(super) struct Sum<'a> {
    pub(super) columns: usize,
    pub(super) length: usize,
    pub(super) left: View<'a>,
    pub(super) right: View<'a>,
    pub(super) base: Option<&'a [f64]>,
    /// How many rows or columns `left` and `right` have.
    pub(super) outer: [usize; 2],
    /// What `left`, `right` and the base are called; none for what is 1.
    pub(super) names: [Option<TensorName>; 3],
    /// What the terms are counted by.
    pub(super) over: &'static str,
}

/// What the sum of samples is multiplied by where there is nothing to multiply by.
const ONE: [f64; 1] = [1.0];

impl<'a> Sum<'a> {
    /// The sum that the tensor is.
    pub(super) fn of(scene: &'a Scene<'a>) -> Option<Self> {
        let name = scene.name;
        let inputs = crate::operation::operation(name, scene.chain.layers(), None)?.inputs;
        if let TensorName::Db(layer) = name {
            let dz = scene.chain.get(TensorName::Dz(layer))?;
            let units = scene.candidate.len();
            return Some(Self {
                columns: 1,
                length: scene.chain.batch(),
                left: View {
                    values: dz,
                    offset: 0,
                    outer: 1,
                    inner: units as isize,
                    fold: Fold::Right,
                },
                right: View { values: &ONE, offset: 0, outer: 0, inner: 0, fold: Fold::Right },
                base: None,
                outer: [units, 1],
                names: [Some(TensorName::Dz(layer)), None, None],
                over: "samples",
            });
        }
        let product = scene.chain.product(name, None)?;
        let view = |factor: crate::product::Factor<'a>| View {
            values: factor.values,
            offset: 0,
            outer: factor.outer as isize,
            inner: factor.inner as isize,
            fold: Fold::Right,
        };
        let bias = inputs.get(2).copied();
        Some(Self {
            columns: product.columns,
            length: product.length,
            left: view(product.left),
            right: view(product.right),
            base: bias.and_then(|bias| scene.chain.get(bias)),
            outer: [product.rows, product.columns],
            names: [inputs.first().copied(), inputs.get(1).copied(), bias],
            over: match name {
                TensorName::Z(_) => "inputs",
                TensorName::Da(_) => "units",
                _ => "samples",
            },
        })
    }

    pub(super) fn base_of(&self, i: usize) -> f64 {
        self.base.map_or(0.0, |base| base[i % self.columns])
    }

    pub(super) fn term(&self, i: usize, k: usize) -> f64 {
        self.left.at(i / self.columns, k) * self.right.at(i % self.columns, k)
    }

    /// The sum with other factors.
    pub(super) fn with(&self, i: usize, left: &View<'_>, right: &View<'_>) -> f64 {
        let (row, column) = (i / self.columns, i % self.columns);
        let terms = (0..self.length).map(|k| left.at(row, k) * right.at(column, k));
        self.base_of(i) + terms.sum::<f64>()
    }
}
