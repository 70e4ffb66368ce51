//! Comparison of a candidate's tensors with a reference's, one by one, in the order of computation.

use serde::{Serialize, Serializer};
use tensor::{Dump, DumpedTensor, TensorName};

use super::bounds::Bounds;
use super::moved_factor::moved_back;
use super::order::{File, Misplaced, misplaced};
use super::own::{self, Judgement};
use super::rounding::Rounding;
use crate::chain::{self, Chain, Errors};
use crate::finding::{Divergence, Finding};

/// What was found of one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every element lies within its bound.
    Ok,
    /// An element lies outside of its bound.
    Differs,
    /// An element is NaN, in either dump.
    Nan,
    /// An element is infinite, in either dump, and none is NaN.
    Infinite,
    /// The two shapes differ, or are not what the network's sizes ask for.
    Shape,
    /// One of the dumps lacks it.
    Missing,
    /// Its values are right, and it comes at the wrong place in one of the files.
    Order,
    /// One of the dumps lacks it and says that its level never holds it in memory. Not a mismatch,
    /// and not an agreement either.
    NotMaterialised,
    /// The reference doesn't hold what a bound could be derived from.
    NoBound,
    /// The network has no tensor of this name.
    Unexpected,
    /// It is given to the step, and nothing in its own dump can say whether it is right.
    Given,
    /// It isn't finite, and neither is what it was made of.
    Inherited,
}

impl Verdict {
    /// Whether this verdict makes the two dumps differ.
    #[must_use]
    pub const fn is_mismatch(self) -> bool {
        !matches!(self, Self::Ok | Self::NotMaterialised | Self::Given)
    }

    /// The word in the table.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Differs => "DIFFERS",
            Self::Nan => "NaN",
            Self::Infinite => "infinity",
            Self::Shape => "shape",
            Self::Missing => "missing",
            Self::Order => "order",
            Self::NotMaterialised => "not materialised",
            Self::NoBound => "no bound",
            Self::Unexpected => "unexpected",
            Self::Given => "given",
            Self::Inherited => "not finite, inherited",
        }
    }
}

/// How far a tensor is off, and how far it may be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deviation {
    /// The largest `|candidate − reference|`; NaN where an element of either is NaN.
    #[serde(serialize_with = "number")]
    pub max_abs_error: f64,
    /// The largest `|candidate − reference| / max(|candidate|, |reference|)`: at most 2, and at
    /// least 1 where only one of the two is zero or the signs differ.
    #[serde(serialize_with = "number")]
    pub max_relative_error: f64,
    /// The element with the largest `error / allowed`, or the first that is not finite. It needn't
    /// be the one with the largest error: another may be allowed more.
    pub worst_index: Vec<usize>,
    /// `|candidate − reference|` there.
    #[serde(serialize_with = "number")]
    pub worst_error: f64,
    /// The bound there.
    #[serde(serialize_with = "number")]
    pub allowed: f64,
    /// `error / allowed` there: above 1 is a mismatch.
    #[serde(serialize_with = "number")]
    pub ratio: f64,
    /// The number of elements outside of their bounds.
    pub outside: usize,
    /// The number of elements.
    pub elements: usize,
}

/// A line of the table: one tensor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub name: TensorName,
    /// Its shape in the reference, or in the candidate where the reference lacks it.
    pub shape: Option<Vec<usize>>,
    /// How far it is off, where both dumps have it in the same shape.
    #[serde(flatten)]
    pub deviation: Option<Deviation>,
    /// What was found.
    pub verdict: Verdict,
}

/// The result of comparing two dumps.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// One row for each tensor of the network, in the order of computation, then what the network
    /// doesn't have.
    pub rows: Vec<Row>,
    /// The first row that is a mismatch, and what it is likely to mean.
    pub first_divergence: Option<Divergence>,
    /// What the candidate's own tensors say of each other, without the reference.
    pub own: Judgement,
    /// What makes the two dumps hard to compare.
    pub warnings: Vec<String>,
    /// What all bounds were multiplied by.
    pub scale_tolerance: f64,
}

impl Comparison {
    /// Whether no row is a mismatch, the candidate has no fault of its own, and there is something
    /// that agrees.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.first_divergence.is_none() && self.count(Verdict::Ok) > 0
    }

    /// Whether a tensor that differs is wrong by itself, or right for what it was made of; `None`
    /// where that can't be said.
    #[must_use]
    pub fn is_own_fault(&self, name: TensorName) -> Option<bool> {
        match self.own.row(name)?.verdict {
            Verdict::Ok | Verdict::Inherited => Some(false),
            verdict if verdict.is_mismatch() => Some(true),
            _ => None,
        }
    }

    /// The number of rows with this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// The number of rows that are mismatches.
    #[must_use]
    pub fn mismatches(&self) -> usize {
        self.rows.iter().filter(|row| row.verdict.is_mismatch()).count()
    }

    /// The row of that tensor.
    #[must_use]
    pub fn row(&self, name: TensorName) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }
}

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
        let chain = Chain::of(candidate, candidate.header.loss);
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

    /// A tensor as it is in both dumps; or the row that says why its elements can't be compared. `shape` is its shape
    /// if neither dump holds it.
    pub(super) fn both(
        &self,
        name: TensorName,
        shape: Option<&[usize]>,
    ) -> Result<[&DumpedTensor; 2], Row> {
        let sides = [self.reference.get(name), self.candidate.get(name)];
        let held = sides.iter().flatten().next().map(|tensor| &tensor.shape[..]);
        let row = |verdict| {
            Err(Row {
                name,
                shape: held.or(shape).map(<[usize]>::to_vec),
                deviation: None,
                verdict,
            })
        };
        if !self.network.contains(&name) {
            return row(Verdict::Unexpected);
        }
        let [Some(reference), Some(candidate)] = sides else {
            let dumps = [self.reference, self.candidate].into_iter().zip(sides);
            let declared =
                |(dump, held): (&Dump, Option<_>)| held.is_some() || declares_absent(dump, name);
            let declared = dumps.map(declared).all(|declared| declared);
            return row(if declared { Verdict::NotMaterialised } else { Verdict::Missing });
        };
        let right_shape = self.chain.as_ref().and_then(|chain| chain.shape(name));
        if reference.shape != candidate.shape
            || right_shape.is_some_and(|shape| shape != reference.shape)
        {
            return row(Verdict::Shape);
        }
        Ok([reference, candidate])
    }

    pub(super) fn is_misplaced(&self, name: TensorName) -> bool {
        self.misplaced.iter().any(|misplaced| misplaced.name == name)
    }
}

/// Compares a candidate with a reference; every bound is multiplied by `scale_tolerance`, which is
/// 1 unless there is a reason.
#[must_use]
pub fn compare(reference: &Dump, candidate: &Dump, scale_tolerance: f64) -> Comparison {
    let own = own::judge(candidate, scale_tolerance);
    compare_from(reference, candidate, own, &Errors::new(), scale_tolerance).0
}

/// The same if the parameters may be apart by `start`; also returns the bounds of every tensor.
pub(crate) fn compare_from(
    reference: &Dump,
    candidate: &Dump,
    own: Judgement,
    start: &Errors,
    scale_tolerance: f64,
) -> (Comparison, Errors) {
    let (reference, note) = moved_back(reference, scale_tolerance);
    let of_reference = note.map(|note| format!("the reference: {note}"));
    let candidate = moved_back(candidate, scale_tolerance).0;
    let context = Context::of_two(&reference, &candidate, start, scale_tolerance);
    let rows: Vec<Row> = context.names().iter().map(|&name| row(name, &context)).collect();
    let first_divergence = first_divergence(&rows, &context, &own);
    let mut warnings = warnings(&reference, &candidate);
    warnings.extend(of_reference.into_iter().chain(own.warnings.clone()));
    let bounds = context.bounds;
    (Comparison { rows, first_divergence, own, warnings, scale_tolerance }, bounds)
}

/// The first row that is a mismatch, or that the candidate itself shows to be wrong, read.
fn first_divergence(rows: &[Row], context: &Context<'_>, own: &Judgement) -> Option<Divergence> {
    let row = rows.iter().position(|row| row.verdict.is_mismatch());
    let fault = own.first_fault.as_ref();
    let at = fault.and_then(|fault| rows.iter().position(|row| row.name == fault.tensor));
    match (row, at) {
        // Within the bounds of the comparison, which are wider than those of one operation.
        (row, Some(at)) if row.is_none_or(|row| at < row) => fault.cloned(),
        (Some(row), _) => {
            let row = &rows[row];
            let expected = context.reference.get(row.name);
            let compared = Some((rows, own));
            let finding = Finding { row, context, expected, before: None, later: &[], compared };
            Some(finding.read())
        }
        (None, _) => None,
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
    let chain = Chain::of(reference, reference.header.loss.or(candidate.header.loss));
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

/// The verdict on one tensor.
fn row(name: TensorName, context: &Context<'_>) -> Row {
    let [reference, candidate] = match context.both(name, None) {
        Ok(sides) => sides,
        Err(row) => return row,
    };
    let unbounded = vec![f64::NAN; reference.data.len()];
    let bounds = context.bounds.get(&name).unwrap_or(&unbounded);
    let deviation = deviation(reference, candidate, bounds);
    let all = || reference.data.iter().chain(&candidate.data);
    let verdict = match () {
        () if all().any(|value| value.is_nan()) => Verdict::Nan,
        () if all().any(|value| value.is_infinite()) => Verdict::Infinite,
        () if !context.bounds.contains_key(&name) => Verdict::NoBound,
        () if !bounds.iter().all(|bound| bound.is_finite()) => Verdict::NoBound,
        () if deviation.outside > 0 => Verdict::Differs,
        () if context.is_misplaced(name) => Verdict::Order,
        () => Verdict::Ok,
    };
    Row { name, shape: Some(reference.shape.clone()), deviation: Some(deviation), verdict }
}

/// Whether an element is as it should be; NaN, in any of the three, never is.
pub(crate) fn within(reference: f64, candidate: f64, bound: f64) -> bool {
    (candidate - reference).abs() <= bound
}

pub(crate) fn deviation(
    reference: &DumpedTensor,
    candidate: &DumpedTensor,
    bounds: &[f64],
) -> Deviation {
    let mut found = Deviation {
        max_abs_error: 0.0,
        max_relative_error: 0.0,
        worst_index: index(0, &reference.shape),
        worst_error: 0.0,
        allowed: bounds.first().copied().unwrap_or(0.0),
        ratio: 0.0,
        outside: 0,
        elements: reference.data.len(),
    };
    let elements = reference.data.iter().zip(&candidate.data).zip(bounds).enumerate();
    for (i, ((&r, &c), &bound)) in elements {
        let error = (c - r).abs();
        let relative = if error == 0.0 { 0.0 } else { error / c.abs().max(r.abs()) };
        let ratio = match () {
            () if !r.is_finite() || !c.is_finite() => f64::NAN,
            () if error == 0.0 && bound >= 0.0 => 0.0,
            () => error / bound,
        };
        if !within(r, c, bound) {
            found.outside += 1;
        }
        if exceeds(error, found.max_abs_error) {
            found.max_abs_error = error;
        }
        if exceeds(relative, found.max_relative_error) {
            found.max_relative_error = relative;
        }
        if exceeds(ratio, found.ratio) {
            found.ratio = ratio;
            found.worst_index = index(i, &reference.shape);
            found.worst_error = error;
            found.allowed = bound;
        }
    }
    found
}

/// Whether a number is worse than the worst so far; NaN is worse than all, and the first one stays.
fn exceeds(value: f64, worst: f64) -> bool {
    !worst.is_nan() && (value.is_nan() || value > worst)
}

/// Where the flat element `i` of a row-major tensor lies.
pub(crate) fn index(mut i: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (position, &axis) in index.iter_mut().zip(shape).rev() {
        *position = i % axis.max(1);
        i /= axis.max(1);
    }
    index
}

/// What a header can say against comparing two dumps at all.
fn warnings(reference: &Dump, candidate: &Dump) -> Vec<String> {
    let (r, c) = (&reference.header, &candidate.header);
    let mut warnings = Vec::new();
    let mut differ = |what: &str, r: String, c: String| {
        if r != c {
            warnings.push(format!(
                "the reference was made with {what} {r} and the candidate with {what} {c}"
            ));
        }
    };
    differ("preset", r.preset.clone(), c.preset.clone());
    if let (Some(r), Some(c)) = (r.loss, c.loss) {
        differ("loss", r.to_string(), c.to_string());
    }
    differ("learning rate", r.learning_rate.to_string(), c.learning_rate.to_string());
    differ("seed", r.seed.to_string(), c.seed.to_string());
    differ("step", r.step.to_string(), c.step.to_string());
    varies(reference, candidate).into_iter().chain(warnings).collect()
}

/// The words of the warning that two dumps of one level differ.
pub(crate) const VARY: &str = "its results vary from run to run";

/// A warning if two dumps of one level started from the same bits and differ: their errors change from run to run, so
/// no explanation of one dump holds for the other. It is printed before everything else.
pub(super) fn varies(reference: &Dump, candidate: &Dump) -> Option<String> {
    let (r, c) = (&reference.header, &candidate.header);
    let bits = |dump: &Dump, name| {
        Some(dump.get(name)?.data.iter().map(|value| value.to_bits()).collect::<Vec<u64>>())
    };
    let same = |name| bits(reference, name) == bits(candidate, name);
    let names = || reference.tensors.iter().map(|tensor| tensor.name);
    let of_one = (&r.level, &r.device, r.dtype, r.step) == (&c.level, &c.device, c.dtype, c.step);
    let first = names().find(|&name| !same(name)).filter(|&name| !chain::is_given(name))?;
    of_one.then(|| {
        format!(
            "both dumps are by {} on {}, from the same inputs, and differ from {first} on: unless the program was \
             changed in between, {VARY}, as with a sum in no fixed order or a race. EMULATED_GPU_CHECKS=races finds a \
             race between the threads of a launch, but none between streams",
            r.level, r.device
        )
    })
}

/// A number as JSON: NaN and the infinities as the same words as in a dump.
pub(crate) fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_nan() {
        serializer.serialize_str("NaN")
    } else if value.is_infinite() {
        serializer.serialize_str(if *value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        serializer.serialize_f64(*value)
    }
}

/// Whether the header names the tensor as one that its level never holds. Inputs and the
/// parameters before and after the step can't be declared away: every level has them, and without
/// them nothing would be compared.
fn declares_absent(dump: &Dump, name: TensorName) -> bool {
    let held = chain::is_given(name) || matches!(name, TensorName::WNext(_) | TensorName::BNext(_));
    !held && dump.header.not_materialised.contains(&name)
}
