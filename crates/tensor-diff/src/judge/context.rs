//! The dumps that are judged, the bounds of their tensors, and the verdict on each tensor.

use std::collections::HashSet;
use std::iter;

use tensor::{Dump, DumpedTensor, TensorName};

use super::bounds;
use super::rounding::Rounding;
use super::verdict::{Row, Verdict, deviation};
use crate::chain::operation::updated_from;
use crate::chain::{self, Chain, Errors};

/// Two dumps, or a dump and its own recomputation, with everything that the verdict on a tensor depends on.
pub(crate) struct Context<'a> {
    /// The reference; if the candidate is judged by itself, the candidate.
    pub(crate) reference: &'a Dump,
    pub(crate) candidate: &'a Dump,
    /// Whether the candidate is compared with a reference.
    is_comparison: bool,
    /// `None` if the reference's inputs and parameters don't make a network.
    pub(crate) chain: Option<Chain<'a>>,
    pub(super) rounding: Rounding,
    /// The bounds of all tensors, multiplied by `scale_tolerance`.
    pub(crate) bounds: Errors,
    /// The tensors at a wrong place of a file, and that place in words.
    pub(crate) misplaced: Vec<(TensorName, String)>,
    /// The tensors of the network, in the order of computation.
    network: Vec<TensorName>,
}

impl<'a> Context<'a> {
    /// The comparison with a reference, whose parameters may be apart by `start`; without a reference, the judgement
    /// of the candidate by itself.
    pub(super) fn new(
        reference: Option<&'a Dump>,
        candidate: &'a Dump,
        start: &Errors,
        scale_tolerance: f64,
    ) -> Self {
        let rounding = Rounding::new(reference.map(|dump| &dump.header), &candidate.header);
        let mut files = vec![("candidate", candidate)];
        files.splice(0..0, reference.map(|dump| ("reference", dump)));
        let layers = files.iter().map(|(_, dump)| chain::layers(dump)).max();
        let network = chain::names(layers.unwrap_or(0));
        let misplaced = files.iter().flat_map(|&(file, dump)| misplaced(file, dump, &network));
        let misplaced = misplaced.collect();
        let is_comparison = reference.is_some();
        let reference = reference.unwrap_or(candidate);
        let chain = Chain::new(reference, reference.header.loss.or(candidate.header.loss));
        let mut bounds = chain
            .as_ref()
            .map_or_else(Errors::new, |chain| bounds::derive(chain, candidate, &rounding, start));
        bounds.values_mut().flatten().for_each(|bound| *bound *= scale_tolerance);
        Self { reference, candidate, is_comparison, chain, rounding, bounds, misplaced, network }
    }

    /// The tensors of the network, then all others in either dump.
    pub(super) fn names(&self) -> Vec<TensorName> {
        let dumped = self.reference.tensors.iter().chain(&self.candidate.tensors);
        distinct(self.network.iter().copied().chain(dumped.map(|tensor| tensor.name)))
    }

    /// The verdict on a tensor, whose right values are `expected`.
    pub(super) fn row(&self, name: TensorName, expected: Option<&DumpedTensor>) -> Row {
        let candidate = match self.comparable(name) {
            Ok(candidate) => candidate,
            Err(verdict) => {
                let dumped = self.reference.get(name).or_else(|| self.candidate.get(name));
                let shape = dumped.or(expected).map(|tensor| tensor.shape.clone());
                return Row { name, shape, deviation: None, verdict };
            }
        };
        let has = |test: fn(&f64) -> bool| {
            let reference = expected.filter(|_| self.is_comparison);
            candidate.data.iter().chain(reference.iter().flat_map(|tensor| &tensor.data)).any(test)
        };
        let inherits = expected.is_some() && !self.is_comparison && !self.are_inputs_finite(name);
        let bounds = self.bounds.get(&name);
        let mut has_unjudged = false;
        let deviation = expected.map(|expected| {
            let unbounded = || vec![f64::NAN; candidate.data.len()];
            let mut bounds = bounds.cloned().unwrap_or_else(unbounded);
            if !inherits {
                return deviation(expected, candidate, &bounds);
            }
            // Elements that depend on a NaN or an infinity can't be judged, and count as right; all others can. An
            // infinity may be the overflow of a result that is finite in float64.
            let (mut expected, mut candidate) = (expected.clone(), candidate.clone());
            let elements = expected.data.iter_mut().zip(&mut candidate.data).zip(&mut bounds);
            for ((expected, value), bound) in elements {
                if !expected.is_finite() || !bound.is_finite() || value.is_infinite() {
                    (*expected, *value, *bound) = (0.0, 0.0, f64::INFINITY);
                    has_unjudged = true;
                }
            }
            deviation(&expected, &candidate, &bounds)
        });
        let is_misplaced = self.misplaced.iter().any(|(misplaced, _)| *misplaced == name);
        let verdict = match &deviation {
            Some(found) if inherits && found.ratio.is_nan() => Verdict::Nan,
            Some(found) if inherits && found.ratio > 1.0 => Verdict::Differs,
            _ if !inherits && has(|value| value.is_nan()) => Verdict::Nan,
            _ if !inherits && has(|value| value.is_infinite()) => Verdict::Infinite,
            Some(_) if !inherits && !bounds.is_some_and(|all| all.iter().all(is_finite)) => {
                Verdict::NoBound
            }
            Some(found) if !inherits && found.outside > 0 => Verdict::Differs,
            _ if is_misplaced => Verdict::Order,
            Some(_) if has_unjudged => Verdict::Inherited,
            Some(_) => Verdict::Ok,
            None if name.is_given() => Verdict::Given,
            None => Verdict::NoBound,
        };
        Row { name, shape: Some(candidate.shape.clone()), deviation, verdict }
    }

    /// The candidate's tensor; or the verdict if its elements can't be compared.
    fn comparable(&self, name: TensorName) -> Result<&DumpedTensor, Verdict> {
        if !self.network.contains(&name) {
            return Err(Verdict::Unexpected);
        }
        let dumps = [self.reference, self.candidate];
        let [Some(reference), Some(candidate)] = dumps.map(|dump| dump.get(name)) else {
            let declared = |dump: &Dump| dump.get(name).is_some() || declares_absent(dump, name);
            let absent = dumps.into_iter().all(declared);
            return Err(if absent { Verdict::NotMaterialised } else { Verdict::Missing });
        };
        let right = self.chain.as_ref().and_then(|chain| chain.shape(name));
        let fits = right.is_none_or(|shape| shape == reference.shape);
        if fits && reference.shape == candidate.shape { Ok(candidate) } else { Err(Verdict::Shape) }
    }

    /// Whether all inputs of the operation are finite.
    fn are_inputs_finite(&self, name: TensorName) -> bool {
        let Some(chain) = &self.chain else { return true };
        let inputs = chain.operation(name).map_or_else(Vec::new, |operation| operation.inputs);
        let mut values = inputs.into_iter().filter_map(|input| chain.get(input)).flatten();
        values.all(is_finite)
    }
}

/// The names without repetitions, in the order of their first occurrence.
pub(super) fn distinct(names: impl Iterator<Item = TensorName>) -> Vec<TensorName> {
    let mut seen = HashSet::new();
    names.filter(|&name| seen.insert(name)).collect()
}

fn is_finite(value: &f64) -> bool {
    value.is_finite()
}

/// Whether the header declares that its level never holds the tensor. Inputs and the parameters before and after the
/// step can't be declared absent: every level has them, and without them nothing would be compared.
fn declares_absent(dump: &Dump, name: TensorName) -> bool {
    let is_required = name.is_given() || updated_from(name).is_some();
    !is_required && dump.header.not_materialised.contains(&name)
}

/// The fewest tensors that have to move for a file to be in the expected order, each with its place in words.
fn misplaced(file: &str, dump: &Dump, expected: &[TensorName]) -> Vec<(TensorName, String)> {
    let names: Vec<TensorName> = dump.tensors.iter().map(|tensor| tensor.name).collect();
    let known = |(at, name)| Some((at, expected.iter().position(|other| other == name)?));
    let (places, positions): (Vec<usize>, Vec<usize>) =
        names.iter().enumerate().filter_map(known).unzip();
    let misplaced =
        outside_of_longest_rise(&positions).into_iter().map(|moved| match places[moved] {
            0 => (names[0], format!("first in the {file}")),
            at => (names[at], format!("right after {} in the {file}", names[at - 1])),
        });
    misplaced.collect()
}

/// The indices that a longest increasing subsequence leaves out. Of two neighbours that are
/// exchanged, either could move: the one that should come first is the one that is named.
fn outside_of_longest_rise(positions: &[usize]) -> Vec<usize> {
    let n = positions.len();
    // From the back: the length of the longest rise that starts at each index, and the next index in it.
    let mut length = vec![1; n];
    let mut next = vec![None; n];
    for i in (0..n).rev() {
        let higher = (i + 1..n).rev().filter(|&j| positions[j] > positions[i]);
        next[i] = higher.max_by_key(|&j| length[j]);
        length[i] += next[i].map_or(0, |j| length[j]);
    }
    let longest = (0..n).rev().max_by_key(|&i| length[i]);
    let rise: Vec<usize> = iter::successors(longest, |&i| next[i]).collect();
    (0..n).filter(|i| !rise.contains(i)).collect()
}
