//! The dumps that are judged, with the bounds of their tensors.

use tensor::{Dump, DumpedTensor, TensorName};

use super::bounds::Bounds;
use super::order::{File, Misplaced, misplaced};
use super::rounding::Rounding;
use super::verdict::{Row, Verdict};
use crate::chain::{self, Chain, Errors};

/// Two dumps, or a dump and its own recomputation, with everything that the verdict on a tensor depends on.
pub(crate) struct Context<'a> {
    /// The candidate itself if it is judged by itself.
    pub(crate) reference: &'a Dump,
    pub(crate) candidate: &'a Dump,
    /// `None` if the reference's inputs and parameters don't make a network.
    pub(crate) chain: Option<Chain<'a>>,
    /// The bounds, scaled.
    pub(crate) bounds: Errors,
    pub(crate) misplaced: Vec<Misplaced>,
    /// The tensors of the network, in the order of computation.
    network: Vec<TensorName>,
}

impl<'a> Context<'a> {
    /// A comparison of a candidate with a reference, whose parameters may be apart by `start`.
    pub(super) fn of_two(
        reference: &'a Dump,
        candidate: &'a Dump,
        start: &Errors,
        scale_tolerance: f64,
    ) -> Self {
        let (chain, bounds) = chain_and_bounds(reference, candidate, start, scale_tolerance);
        let files = [(File::Reference, reference), (File::Candidate, candidate)];
        Self::new(&files, chain, bounds)
    }

    /// The judgement of a candidate by itself.
    pub(super) fn of_one(candidate: &'a Dump, scale_tolerance: f64) -> Self {
        let chain = Chain::new(candidate, candidate.header.loss);
        let rounding = Rounding::of_one(&candidate.header);
        let bounds =
            scaled_bounds(chain.as_ref(), candidate, &rounding, &Errors::new(), scale_tolerance);
        Self::new(&[(File::Candidate, candidate)], chain, bounds)
    }

    fn new(files: &[(File, &'a Dump)], chain: Option<Chain<'a>>, bounds: Errors) -> Self {
        let layers = files.iter().map(|(_, dump)| chain::layers(dump)).max();
        let network = chain::names(layers.unwrap_or(0));
        let misplaced = files.iter().flat_map(|(file, dump)| misplaced(*file, dump, &network));
        Self {
            reference: files[0].1,
            candidate: files[files.len() - 1].1,
            chain,
            bounds,
            misplaced: misplaced.collect(),
            network,
        }
    }

    /// The tensors of the network, then all others in either dump.
    pub(super) fn names(&self) -> Vec<TensorName> {
        let mut names = self.network.clone();
        for tensor in self.reference.tensors.iter().chain(&self.candidate.tensors) {
            if !names.contains(&tensor.name) {
                names.push(tensor.name);
            }
        }
        names
    }

    /// A tensor as it is in both dumps; or the verdict if its elements can't be compared.
    pub(super) fn both(&self, name: TensorName) -> Result<[&DumpedTensor; 2], Verdict> {
        if !self.network.contains(&name) {
            return Err(Verdict::Unexpected);
        }
        let sides = [self.reference.get(name), self.candidate.get(name)];
        let [Some(reference), Some(candidate)] = sides else {
            let mut dumps = [self.reference, self.candidate].into_iter().zip(sides);
            let declared = dumps.all(|(dump, held)| held.is_some() || declares_absent(dump, name));
            return Err(if declared { Verdict::NotMaterialised } else { Verdict::Missing });
        };
        let right_shape = self.chain.as_ref().and_then(|chain| chain.shape(name));
        if reference.shape != candidate.shape
            || right_shape.is_some_and(|shape| shape != reference.shape)
        {
            return Err(Verdict::Shape);
        }
        Ok([reference, candidate])
    }

    /// The row of a tensor whose elements can't be compared; `shape` is its shape if neither dump holds it.
    pub(super) fn row(&self, name: TensorName, shape: Option<&[usize]>, verdict: Verdict) -> Row {
        let held = self.reference.get(name).or_else(|| self.candidate.get(name));
        let shape = held.map(|tensor| &tensor.shape[..]).or(shape).map(<[usize]>::to_vec);
        Row { name, shape, deviation: None, verdict }
    }

    pub(super) fn is_misplaced(&self, name: TensorName) -> bool {
        self.misplaced.iter().any(|misplaced| misplaced.name == name)
    }
}

/// The reference's chain, and the bound of each element's difference, if the
/// parameters may be apart by `start`.
pub(crate) fn chain_and_bounds<'a>(
    reference: &'a Dump,
    candidate: &Dump,
    start: &Errors,
    scale_tolerance: f64,
) -> (Option<Chain<'a>>, Errors) {
    let chain = Chain::new(reference, reference.header.loss.or(candidate.header.loss));
    let rounding = Rounding::between(&reference.header, &candidate.header);
    let bounds = scaled_bounds(chain.as_ref(), candidate, &rounding, start, scale_tolerance);
    (chain, bounds)
}

fn scaled_bounds(
    chain: Option<&Chain<'_>>,
    candidate: &Dump,
    rounding: &Rounding,
    start: &Errors,
    scale_tolerance: f64,
) -> Errors {
    let mut bounds = chain.map_or_else(Errors::new, |chain| {
        Bounds::derive(chain, candidate, rounding, start).allowed
    });
    bounds.values_mut().flatten().for_each(|bound| *bound *= scale_tolerance);
    bounds
}

/// Whether the header declares that its level never holds the tensor. Inputs and the
/// parameters before and after the step can't be declared absent: every level has them, and without
/// them nothing would be compared.
fn declares_absent(dump: &Dump, name: TensorName) -> bool {
    let held = chain::is_given(name) || matches!(name, TensorName::WNext(_) | TensorName::BNext(_));
    !held && dump.header.not_materialised.contains(&name)
}
