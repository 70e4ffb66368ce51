//! The reference's values along the chain of operations; what the reference doesn't hold is
//! computed from what it does, in `float64`.

use std::borrow::Cow;
use std::collections::HashMap;

use tensor::{Dump, Loss, Network, TensorName};

use crate::operation::operation;
use crate::output;
use crate::product::{Factor, Product};

/// What each element of a tensor may err by, by name; a tensor that isn't there is exact.
pub(crate) type Errors = HashMap<TensorName, Vec<f64>>;

/// The values that every bound is derived from.
pub(crate) struct Chain<'a> {
    network: Network,
    batch: usize,
    loss: Option<Loss>,
    learning_rate: f64,
    ranks: usize,
    values: HashMap<TensorName, Cow<'a, [f64]>>,
}

/// The tensor that layer `layer` is fed: `x` or the activation before it.
pub(crate) const fn fed(layer: usize) -> TensorName {
    if layer == 1 { TensorName::X } else { TensorName::A(layer - 1) }
}

/// How many layers a dump seems to have: the highest layer of its weights.
///
/// A dump has at least one tensor for each of its layers, so that a weight of an absurd layer
/// can't make this number, and what is built from it, absurd.
pub(crate) fn layers(dump: &Dump) -> usize {
    let layer = |name| match name {
        TensorName::W(layer) | TensorName::B(layer) | TensorName::Z(layer) => layer,
        _ => 0,
    };
    let layers = dump.tensors.iter().map(|tensor| layer(tensor.name));
    layers.filter(|&layer| layer <= dump.tensors.len()).max().unwrap_or(0)
}

/// The names of all tensors of a network of this many layers, in the order of computation.
pub(crate) fn names(layers: usize) -> Vec<TensorName> {
    if layers == 0 {
        return Vec::new();
    }
    // Names depend neither on the sizes nor on the loss.
    Network { sizes: vec![1; layers + 1], loss: Loss::CrossEntropy }.tensor_names()
}

impl<'a> Chain<'a> {
    /// The chain of the network that the reference's `x`, `y` and parameters describe, or `None`
    /// where they don't describe one.
    pub(crate) fn of(reference: &'a Dump, loss: Option<Loss>) -> Option<Self> {
        let layers = layers(reference);
        let &[batch, inputs] = &reference.get(TensorName::X)?.shape[..] else { return None };
        let mut sizes = vec![inputs];
        for layer in 1..=layers {
            sizes.push(*reference.get(TensorName::W(layer))?.shape.first()?);
        }
        if batch == 0 || sizes.contains(&0) {
            // Tensors without elements would agree with each other, and say nothing.
            return None;
        }
        let network = Network { sizes, loss: loss.unwrap_or(Loss::CrossEntropy) };
        let mut chain = Self {
            network,
            batch,
            loss,
            learning_rate: f64::from(reference.header.learning_rate),
            ranks: reference.header.world_size.and_then(|n| n.try_into().ok()).unwrap_or(1),
            values: HashMap::new(),
        };
        let order = names(layers);
        for &name in &order {
            let shape = chain.network.shape(name, batch)?;
            if let Some(tensor) = reference.get(name) {
                if tensor.shape == shape {
                    chain.values.insert(name, Cow::Borrowed(&tensor.data));
                } else if is_given(name) {
                    return None;
                }
            }
        }
        if !order.iter().filter(|name| is_given(**name)).all(|name| chain.values.contains_key(name))
        {
            return None;
        }
        for name in order {
            if !chain.values.contains_key(&name)
                && let Some(values) = chain.compute(name)
            {
                chain.values.insert(name, Cow::Owned(values));
            }
        }
        Some(chain)
    }

    pub(crate) fn get(&self, name: TensorName) -> Option<&[f64]> {
        self.values.get(&name).map(AsRef::as_ref)
    }

    /// Whether the reference holds the tensor, so that its value isn't one of this program's.
    pub(crate) fn is_given_by_reference(&self, name: TensorName) -> bool {
        matches!(self.values.get(&name), Some(Cow::Borrowed(_)))
    }

    pub(crate) fn shape(&self, name: TensorName) -> Option<Vec<usize>> {
        self.network.shape(name, self.batch)
    }

    pub(crate) fn names(&self) -> Vec<TensorName> {
        names(self.network.layers())
    }

    /// The tensor, and all that are made of it.
    pub(crate) fn made_of(&self, name: TensorName) -> Vec<TensorName> {
        let mut made_of_it = vec![name];
        for name in self.names() {
            let inputs = operation(name, self.layers(), None).map(|found| found.inputs);
            if inputs.is_some_and(|inputs| inputs.iter().any(|input| made_of_it.contains(input))) {
                made_of_it.push(name);
            }
        }
        made_of_it
    }

    /// The number of samples of the batch.
    pub(crate) const fn batch(&self) -> usize {
        self.batch
    }

    /// How many ranks computed the step together.
    pub(crate) const fn ranks(&self) -> usize {
        self.ranks
    }

    /// The number of classes.
    pub(crate) fn outputs(&self) -> usize {
        self.network.outputs()
    }

    pub(crate) fn layers(&self) -> usize {
        self.network.layers()
    }

    /// The losses that may have been used: the one that a dump names, or all.
    pub(crate) fn losses(&self) -> Vec<Loss> {
        self.loss.map_or_else(|| Loss::ALL.to_vec(), |loss| vec![loss])
    }

    /// The units of each layer, input first.
    pub(crate) fn sizes(&self) -> &[usize] {
        &self.network.sizes
    }

    pub(crate) const fn learning_rate(&self) -> f64 {
        self.learning_rate
    }

    /// The matrix product that makes `z`, but for its bias, or `dw` or `da`; without errors, of exact
    /// factors.
    pub(crate) fn product<'b>(
        &'b self,
        name: TensorName,
        errors: Option<&'b Errors>,
    ) -> Option<Product<'b>> {
        let operand = |name| {
            Some((self.get(name)?, errors.and_then(|errors| errors.get(&name)).map(Vec::as_slice)))
        };
        // A dump may have tensors of layers that the network has not.
        let size = |layer: usize| self.network.sizes.get(layer).copied();
        match name {
            TensorName::Z(layer) => {
                let ((a, a_errors), (w, w_errors)) =
                    (operand(fed(layer))?, operand(TensorName::W(layer))?);
                let length = size(layer - 1)?;
                Some(Product {
                    rows: self.batch,
                    columns: size(layer)?,
                    length,
                    left: Factor::by_rows(a, a_errors, length),
                    right: Factor::by_rows(w, w_errors, length),
                })
            }
            TensorName::Dw(layer) => {
                let ((dz, dz_errors), (a, a_errors)) =
                    (operand(TensorName::Dz(layer))?, operand(fed(layer))?);
                let (rows, columns) = (size(layer)?, size(layer - 1)?);
                Some(Product {
                    rows,
                    columns,
                    length: self.batch,
                    left: Factor::by_columns(dz, dz_errors, rows),
                    right: Factor::by_columns(a, a_errors, columns),
                })
            }
            TensorName::Da(layer) => self.product_with(layer, TensorName::W(layer + 1), errors),
            _ => None,
        }
    }

    /// `da = dz_next · weights`, with whichever weights.
    pub(crate) fn product_with<'b>(
        &'b self,
        layer: usize,
        weights: TensorName,
        errors: Option<&'b Errors>,
    ) -> Option<Product<'b>> {
        let operand = |name| {
            Some((self.get(name)?, errors.and_then(|errors| errors.get(&name)).map(Vec::as_slice)))
        };
        let sizes = &self.network.sizes;
        let (length, columns) = (*sizes.get(layer + 1)?, *sizes.get(layer)?);
        let ((dz, dz_errors), (w, w_errors)) =
            (operand(TensorName::Dz(layer + 1))?, operand(weights)?);
        Some(Product {
            rows: self.batch,
            columns,
            length,
            left: Factor::by_rows(dz, dz_errors, length),
            right: Factor::by_columns(w, w_errors, columns),
        })
    }

    /// What is above zero where relu let it pass: `z`, or `a` where that is what there is.
    pub(crate) fn mask(&self, layer: usize) -> Option<&[f64]> {
        let (z, a) = (TensorName::Z(layer), TensorName::A(layer));
        let a_alone = !self.is_given_by_reference(z) && self.is_given_by_reference(a);
        self.get(if a_alone { a } else { z })
    }

    /// What the operation that makes this tensor makes of the tensors before it, in `float64`.
    pub(crate) fn compute(&self, name: TensorName) -> Option<Vec<f64>> {
        let last = TensorName::Z(self.layers());
        match name {
            TensorName::Z(layer) => {
                let bias = self.get(TensorName::B(layer))?;
                let mut z = self.product(name, None)?.values();
                for row in z.chunks_exact_mut(bias.len().max(1)) {
                    row.iter_mut().zip(bias).for_each(|(z, b)| *z += b);
                }
                Some(z)
            }
            // A comparison with NaN is false: it stays.
            TensorName::A(layer) => {
                let relu = |&z: &f64| if z <= 0.0 { 0.0 } else { z };
                Some(self.get(TensorName::Z(layer))?.iter().map(relu).collect())
            }
            TensorName::P => Some(output::output(self.loss?, self.get(last)?, self.outputs())),
            TensorName::Loss => {
                let (z, y) = (self.get(last)?, self.get(TensorName::Y)?);
                Some(vec![output::loss(self.loss?, z, y, self.outputs())])
            }
            TensorName::Dz(layer) if layer == self.layers() => {
                let (p, y) = (self.get(TensorName::P)?, self.get(TensorName::Y)?);
                let batch = count(self.batch);
                Some(p.iter().zip(y).map(|(p, y)| (p - y) / batch).collect())
            }
            TensorName::Dz(layer) => {
                let (da, z) = (self.get(TensorName::Da(layer))?, self.mask(layer)?);
                Some(da.iter().zip(z).map(|(&da, &z)| if z > 0.0 { da } else { 0.0 }).collect())
            }
            TensorName::Dw(_) | TensorName::Da(_) => Some(self.product(name, None)?.values()),
            TensorName::Db(layer) => {
                let dz = self.get(TensorName::Dz(layer))?;
                let mut db = vec![0.0; *self.network.sizes.get(layer)?];
                for row in dz.chunks_exact(db.len().max(1)) {
                    db.iter_mut().zip(row).for_each(|(db, dz)| *db += dz);
                }
                Some(db)
            }
            TensorName::WNext(layer) => self.updated(TensorName::W(layer), TensorName::Dw(layer)),
            TensorName::BNext(layer) => self.updated(TensorName::B(layer), TensorName::Db(layer)),
            TensorName::X | TensorName::Y | TensorName::W(_) | TensorName::B(_) => None,
        }
    }

    fn updated(&self, parameter: TensorName, gradient: TensorName) -> Option<Vec<f64>> {
        let (parameter, gradient) = (self.get(parameter)?, self.get(gradient)?);
        Some(parameter.iter().zip(gradient).map(|(w, dw)| w - self.learning_rate * dw).collect())
    }
}

/// Whether the tensor is given to a training step rather than computed by it.
pub(crate) const fn is_given(name: TensorName) -> bool {
    name.is_given()
}

/// A length as a number to compute with.
pub(crate) const fn count(length: usize) -> f64 {
    length as f64
}
