//! A training step as a list of lines, `tensor = formula`, and its dump.

use std::collections::HashMap;
use std::iter;

use tensor::{Dtype, Dump, Loss, Network, Tensor, TensorName};

use crate::array::Array;
use crate::formula::{When, evaluate};

/// The lines of a step without a bug, in the order of computation.
const STEP: &str = include_str!("step.txt");

/// The lines of a step without a bug, as text, in the order of computation.
pub fn lines() -> impl Iterator<Item = &'static str> {
    STEP.lines()
}

/// One line of a step.
#[derive(Clone, Debug)]
pub struct Line {
    /// The tensor that the line computes.
    pub tensor: TensorName,
    formula: String,
}

impl Line {
    /// Reads `tensor = formula`.
    ///
    /// # Errors If the text doesn't have that form, or no line of a step computes this tensor.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, formula) =
            text.split_once('=').ok_or_else(|| format!("{text:?} is not `tensor = formula`"))?;
        let tensor: TensorName =
            name.trim().parse().map_err(|error: tensor::ParseNameError| error.to_string())?;
        if tensor.is_given() {
            return Err(format!("{tensor} is given, and no line makes it"));
        }
        Ok(Self { tensor, formula: formula.trim().to_owned() })
    }

    /// The lines of a step without a bug.
    fn right() -> impl Iterator<Item = Self> {
        lines().map(|line| Self::parse(line).expect("a line of the step is well formed"))
    }
}

/// Runs the steps of a reference from its batches and initial parameters, with each line of `planted` in place of the
/// line that computes the same tensor.
///
/// # Errors
/// If the reference is not of a two-layer network with cross-entropy, or a planted formula is wrong.
pub fn run(reference: &[Dump], planted: &[Line]) -> Result<Vec<Dump>, String> {
    let mut steps: Vec<Dump> = Vec::new();
    for given in reference {
        let step = step(given, steps.last(), planted)?;
        steps.push(step);
    }
    Ok(steps)
}

/// Runs one step: `given` has its batch and parameters, and `before` is the previous step.
fn step(given: &Dump, before: Option<&Dump>, planted: &[Line]) -> Result<Dump, String> {
    let network = network(given)?;
    let batch = given.get(TensorName::X).map_or(0, |x| x.shape[0]);
    let shape = |name| network.shape(name, batch).unwrap_or_default();
    let find = |dump: &Dump, name| dump.get(name).map(|found| array(&found.to_tensor()));
    let mut tensors: HashMap<TensorName, Array> = HashMap::new();
    for name in network.tensor_names().into_iter().filter(TensorName::is_given) {
        let own = match name {
            TensorName::W(layer) => before.and_then(|last| find(last, TensorName::WNext(layer))),
            TensorName::B(layer) => before.and_then(|last| find(last, TensorName::BNext(layer))),
            _ => None,
        };
        let value = own.or_else(|| find(given, name));
        tensors.insert(name, value.ok_or_else(|| format!("the reference has no {name}"))?);
    }
    let planted_for = |name| planted.iter().find(|line| line.tensor == name).cloned();
    for right in Line::right() {
        let line = planted_for(right.tensor).unwrap_or(right);
        let lookup = |name: &str, when| match (name, when) {
            ("B", When::Now) => Some(Array::number(batch as f32)),
            ("lr", When::Now) => Some(Array::number(given.header.learning_rate)),
            (name, When::Now) => tensors.get(&name.parse().ok()?).cloned(),
            (name, When::Before) => {
                let name = name.parse().ok()?;
                let mut left = array(&Tensor::zeros(network.shape(name, batch)?));
                // The contents of the buffer before this step: the previous step's elements. The batch may be smaller
                // (fewer of them are left) or larger (the rest are zeros).
                if let Some(last) = before.and_then(|last| find(last, name)) {
                    left.data.iter_mut().zip(last.data).for_each(|(now, last)| *now = last);
                }
                Some(left)
            }
        };
        let found = evaluate(&line.formula, &lookup)?;
        let expected = array(&Tensor::zeros(shape(line.tensor)));
        if found.shape() != expected.shape() {
            let (name, found, expected) = (line.tensor, found.shape(), expected.shape());
            return Err(format!("{name} would have the shape {found} in place of {expected}"));
        }
        tensors.insert(line.tensor, found);
    }
    let mut header = given.header.clone();
    header.level = "bug-hunt".into();
    header.device = "cpu".into();
    header.dtype = Dtype::F32;
    header.digits = None;
    let mut dump = Dump::new(header);
    for name in network.tensor_names() {
        let data = tensors.remove(&name).ok_or_else(|| format!("no line makes {name}"))?.data;
        dump.push(name, &Tensor::new(shape(name), data).map_err(|error| error.to_string())?);
    }
    Ok(dump)
}

/// The two-layer network of a dump.
fn network(dump: &Dump) -> Result<Network, String> {
    let columns = dump.get(TensorName::X).map(|x| x.shape[1]);
    let rows = (1..).map_while(|layer| Some(dump.get(TensorName::W(layer))?.shape[0]));
    let sizes: Vec<usize> = columns.into_iter().chain(rows).collect();
    if sizes.len() != 3 || dump.header.loss != Some(Loss::CrossEntropy) {
        return Err("the step is that of a network with two layers and cross-entropy".into());
    }
    Ok(Network { sizes, loss: Loss::CrossEntropy })
}

/// A tensor as a matrix: a vector becomes a row.
fn array(tensor: &Tensor) -> Array {
    let shape = tensor.shape();
    let ones = iter::repeat_n(1, 2 - shape.len().min(2));
    let lengths: Vec<usize> = ones.chain(shape.iter().copied()).collect();
    Array { rows: lengths[0], columns: lengths[1], data: tensor.data().to_vec() }
}
