//! The reference's values along the chain of operations. Tensors that the reference doesn't hold are
//! computed from those that it does, in `float64`.

pub(crate) mod operation;
pub(crate) mod output;
pub(crate) mod product;

use std::borrow::Cow;
use std::collections::HashMap;

use tensor::{Dump, Loss, Network, TensorName};

use operation::{Axis, Operation, Rule, Settings, element, operation};
use product::{Factor, Product};

/// The bounds of the errors of each tensor's elements; a tensor that isn't in the map is exact.
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

/// The input of a layer: `x` or the activation before it.
pub(crate) const fn fed(layer: usize) -> TensorName {
    if layer == 1 { TensorName::X } else { TensorName::A(layer - 1) }
}

/// How many layers a dump seems to have: the highest layer of its weights.
///
/// A dump has at least one tensor for each of its layers. So a layer number above the number of tensors is ignored,
/// and a hostile dump can't make this number huge.
pub(crate) fn layers(dump: &Dump) -> usize {
    let layer = |name| match name {
        TensorName::W(layer) | TensorName::B(layer) | TensorName::Z(layer) => layer,
        _ => 0,
    };
    let layers = dump.tensors.iter().map(|tensor| layer(tensor.name));
    layers.filter(|&layer| layer <= dump.tensors.len()).max().unwrap_or(0)
}

/// The names of all tensors of a network of `layers` layers, in the order of computation.
pub(crate) fn names(layers: usize) -> Vec<TensorName> {
    if layers == 0 {
        return Vec::new();
    }
    // Names depend neither on the sizes nor on the loss.
    Network { sizes: vec![1; layers + 1], loss: Loss::CrossEntropy }.tensor_names()
}

impl<'a> Chain<'a> {
    /// The chain of the network that the reference's `x`, `y` and parameters describe; `None`
    /// if they don't describe one.
    pub(crate) fn new(reference: &'a Dump, loss: Option<Loss>) -> Option<Self> {
        let layers = layers(reference);
        let &[batch, inputs] = &reference.get(TensorName::X)?.shape[..] else { return None };
        let units = |layer| reference.get(TensorName::W(layer))?.shape.first().copied();
        let sizes = [Some(inputs)].into_iter().chain((1..=layers).map(units));
        let sizes = sizes.collect::<Option<Vec<usize>>>()?;
        if batch == 0 || sizes.contains(&0) {
            // Tensors without elements would agree with each other, but be no evidence.
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
        for name in names(layers) {
            let shape = chain.network.shape(name, batch)?;
            let values = match reference.get(name).filter(|tensor| tensor.shape == shape) {
                Some(tensor) => Some(Cow::Borrowed(&tensor.data[..])),
                None if name.is_given() => return None,
                None => chain.compute(name).map(Cow::Owned),
            };
            chain.values.extend(values.map(|values| (name, values)));
        }
        Some(chain)
    }

    pub(crate) fn get(&self, name: TensorName) -> Option<&[f64]> {
        self.values.get(&name).map(AsRef::as_ref)
    }

    /// Whether the reference holds the tensor; otherwise this program has computed it.
    pub(crate) fn is_given_by_reference(&self, name: TensorName) -> bool {
        matches!(self.values.get(&name), Some(Cow::Borrowed(_)))
    }

    pub(crate) fn shape(&self, name: TensorName) -> Option<Vec<usize>> {
        self.network.shape(name, self.batch)
    }

    /// The rows and columns of a tensor; a vector is one row.
    pub(crate) fn rows_and_columns(&self, name: TensorName) -> Option<(usize, usize)> {
        match *self.shape(name)? {
            [rows, columns] => Some((rows, columns)),
            [columns] => Some((1, columns)),
            _ => None,
        }
    }

    pub(crate) fn names(&self) -> Vec<TensorName> {
        names(self.network.layers())
    }

    /// The operation that makes the tensor in a network with this chain's layers and loss.
    pub(crate) fn operation(&self, name: TensorName) -> Option<Operation> {
        operation(name, self.layers(), self.loss)
    }

    /// The tensor, and all tensors that are computed from it.
    pub(crate) fn made_of(&self, name: TensorName) -> Vec<TensorName> {
        let mut made_of_it = vec![name];
        for name in self.names() {
            let inputs = self.operation(name).map(|found| found.inputs);
            if inputs.is_some_and(|inputs| inputs.iter().any(|input| made_of_it.contains(input))) {
                made_of_it.push(name);
            }
        }
        made_of_it
    }

    pub(crate) const fn batch(&self) -> usize {
        self.batch
    }

    pub(crate) const fn ranks(&self) -> usize {
        self.ranks
    }

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

    pub(crate) const fn settings(&self) -> Settings {
        Settings { batch: count(self.batch), rate: self.learning_rate }
    }

    /// The terms of a sum as a product, without its bias; if they have no second factor, it is 1. If `errors` is `None`,
    /// the factors are exact.
    pub(crate) fn terms<'b>(
        &'b self,
        operation: &Operation,
        errors: Option<&'b Errors>,
    ) -> Option<Product<'b>> {
        let Rule::Sum(sum) = operation.rule else { return None };
        // A factor, the length of its axis in the result, and the number of terms.
        let factor = |which: usize, by: [Axis; 2]| {
            let name = *operation.inputs.get(which)?;
            let (rows, columns) = self.rows_and_columns(name)?;
            let values = self.get(name)?;
            let errors = errors.and_then(|errors| errors.get(&name)).map(Vec::as_slice);
            Some(if by[0] == Axis::Term {
                (Factor::by_columns(values, errors, columns), columns, rows)
            } else {
                (Factor::by_rows(values, errors, columns), rows, columns)
            })
        };
        let (left, rows, length) = factor(0, sum.left)?;
        let (right, columns, others) = match sum.right {
            Some(by) => factor(1, by)?,
            None => (Factor::ONE, 1, length),
        };
        (length == others).then_some(Product { rows, columns, length, left, right })
    }

    /// The values that an operation reads for an input. For a mask, these are `z`, or `a` if the dump has no `z`.
    pub(crate) fn read(&self, operation: &Operation, input: TensorName) -> Option<&[f64]> {
        match (operation.inputs.first(), input) {
            (Some(TensorName::Da(_)), TensorName::Z(layer)) => self.mask(layer),
            _ => self.get(input),
        }
    }

    /// The tensor whose positive elements passed relu: `z`, or `a` if the reference only holds that.
    pub(crate) fn mask(&self, layer: usize) -> Option<&[f64]> {
        let (z, a) = (TensorName::Z(layer), TensorName::A(layer));
        let only_a = !self.is_given_by_reference(z) && self.is_given_by_reference(a);
        self.get(if only_a { a } else { z })
    }

    /// The values that an operation reads.
    pub(crate) fn inputs(&self, operation: &Operation) -> Option<Vec<&[f64]>> {
        operation.inputs.iter().map(|&input| self.read(operation, input)).collect()
    }

    /// The tensor, recomputed in `float64` from the tensors before it.
    pub(crate) fn compute(&self, name: TensorName) -> Option<Vec<f64>> {
        self.made_by(&self.operation(name)?)
    }

    /// The result of an operation on its inputs, in `float64`.
    pub(crate) fn made_by(&self, operation: &Operation) -> Option<Vec<f64>> {
        let inputs = self.inputs(operation)?;
        Some(match operation.rule {
            Rule::Sum(sum) => {
                let mut sums = self.terms(operation, None)?.values();
                if sum.biased {
                    let bias = inputs[2].iter().cycle();
                    sums.iter_mut().zip(bias).for_each(|(sum, b)| *sum += b);
                }
                sums
            }
            Rule::Elementwise(rule) => {
                let parts = |i| (rule.of)(&element(&inputs, i), self.settings());
                (0..inputs[0].len()).map(parts).map(|(base, rest)| base + rest).collect()
            }
            Rule::Output => output::output(self.loss?, inputs[0], self.outputs()),
            Rule::Loss => vec![output::loss(self.loss?, inputs[0], inputs[1], self.outputs())],
        })
    }
}

/// Converts a length to `f64`.
pub(crate) const fn count(length: usize) -> f64 {
    length as f64
}
