//! Mistakes that have a name and leave a signature in every element: a wrong layout, factor, mask or index, or an
//! operation that leaves something out.
//!
//! `tensor-diff` claims such a mistake only if every element fits it within the bounds.

use tensor::{Loss, TensorName};

use super::formula::{Formula, Swap};
use super::index::Map;
use super::{Pattern, Scene, numbers};
use crate::chain::count;
use crate::chain::operation::updated_from;
use crate::finding::{PatternKind, Wrong};
use crate::judge::{is_usual, within};

/// The most elements of a tensor whose rows are compared with each other.
const ROWS_WORTH_MATCHING: usize = 100_000_000;

/// The slack of elements that are made of the candidate's inputs in place of the reference's.
const REMADE: f64 = 4.0;

/// The slack of elements that are multiplied by a factor, which multiplies their errors, too.
fn scaled(factor: f64) -> f64 {
    2.0 * factor.abs().max(1.0)
}

/// A mistake: its kind, its sentence, and whether it explains all elements.
type Mistake<'m> = (PatternKind, String, Box<dyn Fn() -> bool + 'm>);

/// The first mistake that explains all elements.
pub(super) fn of_all_elements(scene: &Scene<'_>, wrong: &Wrong<'_>) -> Option<Pattern> {
    let formula = Formula::new(scene);
    let named = &Named { scene, wrong, formula: formula.as_ref() };
    let families =
        [Named::not_written, Named::wrong_operation, Named::factors, Named::moved, Named::steps];
    let mut all = families.into_iter().flat_map(|family| family(named).unwrap_or_default());
    let found = all.find(|(.., is)| is()).map(|(kind, text, _)| Pattern::new(kind, text));
    let found = found.or_else(|| named.step_factor()).or_else(|| named.rows_permuted())?;
    Some(Pattern { explains: wrong.outside().len(), ..found })
}

/// A wrong tensor, and the formula that makes it.
struct Named<'a> {
    scene: &'a Scene<'a>,
    wrong: &'a Wrong<'a>,
    formula: Option<&'a Formula<'a>>,
}

impl<'a> Named<'a> {
    /// Whether a mistake reproduces the candidate: each element is within `slack` times its bound plus one rounding,
    /// which the bound of an operation that doesn't round leaves out. In addition, the mistake has to change at least
    /// `at_least` elements by more than four times `slack` bounds, because a smaller change is no evidence.
    fn is_made(&self, made: impl Fn(usize) -> f64, slack: f64, at_least: usize) -> bool {
        let Scene { expected, candidate, bounds, unit, .. } = self.scene;
        let all = || 0..candidate.len();
        let fits = |i: usize| {
            let made = made(i);
            within(made, candidate[i], slack * bounds[i] + unit * made.abs())
        };
        let moved = |&i: &usize| (made(i) - expected[i]).abs() > 4.0 * slack * bounds[i];
        let is_usual = |usual: &Vec<f64>| {
            is_usual(all().map(|i| [candidate[i], made(i), expected[i], usual[i]]))
        };
        all().all(fits)
            && all().filter(moved).take(at_least).count() == at_least
            && self.scene.usual.as_ref().is_none_or(is_usual)
    }

    /// A mistake that predicts the elements `made`, which [`is_made`](Self::is_made) compares with the candidate.
    fn made(
        &'a self,
        kind: PatternKind,
        text: String,
        slack: f64,
        made: impl Fn(usize) -> f64 + 'a,
    ) -> Mistake<'a> {
        (kind, text, Box::new(move || self.is_made(&made, slack, 1)))
    }

    /// The formula with other values in the place of the second factor.
    fn swapped(&'a self, kind: PatternKind, text: String, swap: Swap<'a>) -> Option<Mistake<'a>> {
        let formula = self.formula?;
        Some(self.made(kind, text, REMADE, move |i| formula.total(i, &[swap])))
    }

    /// The mistake that the candidate is another tensor of the reference, within the bounds of that tensor.
    fn equal(&'a self, other: TensorName, kind: PatternKind, text: String) -> Mistake<'a> {
        let is = move || {
            let bounds = self.wrong.finding.context.bounds.get(&other);
            let held = self.scene.candidate;
            self.scene.chain.get(other).zip(bounds).is_some_and(|(values, bounds)| {
                let elements = || values.iter().zip(bounds);
                values.len() == held.len()
                    && elements().any(|(right, bound)| right.abs() > *bound)
                    && elements().zip(held).all(|((&r, &bound), &c)| within(r, c, bound))
            })
        };
        (kind, text, Box::new(is))
    }

    /// The names and values of the parameter and its gradient, if the tensor is an updated parameter.
    fn update(&self) -> Option<(TensorName, TensorName, &'a [f64], &'a [f64])> {
        let (parameter, gradient) = updated_from(self.scene.name)?;
        let chain = self.scene.chain;
        Some((parameter, gradient, chain.get(parameter)?, chain.get(gradient)?))
    }

    /// The mistakes that a tensor was not written or updated, and that a reference started from values that no float32
    /// holds.
    fn not_written(&'a self) -> Option<Vec<Mistake<'a>>> {
        let Scene { expected, candidate, bounds, .. } = self.scene;
        let single = move || {
            let mut elements = candidate.iter().zip(*expected);
            bounds.iter().all(|&bound| bound == 0.0)
                && elements.all(|(&c, &r)| c == f64::from(r as f32))
        };
        let text = "it is the reference's rounded to float32: the reference started from values that no float32 holds";
        let mut all: Vec<Mistake<'a>> =
            vec![(PatternKind::RoundedToSingle, text.into(), Box::new(single))];
        if let Some((parameter, _, before, _)) = self.update() {
            let text = format!("it equals {parameter}: the update was not applied");
            all.push((PatternKind::NotUpdated, text, Box::new(move || *candidate == before)));
        }
        let zero = move || candidate.iter().all(|&c| c == 0.0);
        let text = "every element is 0: it was never written".to_owned();
        all.push((PatternKind::AllZeros, text, Box::new(zero)));
        Some(all)
    }

    /// The mistakes that the operation leaves out a step or all samples but one, reads wrong values, or has the wrong
    /// sign.
    fn wrong_operation(&'a self) -> Option<Vec<Mistake<'a>>> {
        use PatternKind::{
            BiasMissing, MaskMissing, OneSampleOnly, OutputFunctionMissing, ReluNotApplied,
            UpdateSign, UpdatedWeights, WeightsReadColumnMajor,
        };
        use TensorName::{A, B, BNext, Da, Db, Dw, Dz, P, W, WNext, Z};
        let Scene { name, chain, expected, .. } = *self.scene;
        let last = chain.layers();
        let equal = |other: TensorName, kind, what: &str| {
            vec![self.equal(other, kind, format!("it equals {other}: {what} was not applied"))]
        };
        let column_major = |w: TensorName| {
            let text = format!("it is the product with {w} read in column-major order");
            let swap = Swap { place: 1, values: chain.get(w)?, map: Map::Transposed };
            self.swapped(WeightsReadColumnMajor, text, swap)
        };
        Some(match name {
            Z(layer) => {
                let (formula, b) = (self.formula?, B(layer));
                let text = format!("it is the product alone: {b} was not added");
                let product = move |i: usize| expected[i] - formula.base_of(i);
                vec![self.made(BiasMissing, text, REMADE, product), column_major(W(layer))?]
            }
            A(layer) => equal(Z(layer), ReluNotApplied, "relu"),
            P => {
                let function = match chain.losses()[..] {
                    [Loss::CrossEntropy] => "softmax",
                    [Loss::Bce] => "sigmoid",
                    _ => "softmax or sigmoid",
                };
                equal(Z(last), OutputFunctionMissing, function)
            }
            Dz(layer) if layer < last => {
                equal(Da(layer), MaskMissing, &format!("the mask [{} > 0]", Z(layer)))
            }
            Dw(_) | Db(_) if chain.batch() > 1 => {
                let (formula, last) = (self.formula?, chain.batch() - 1);
                let first = "only sample 0 of the batch counts: row-0 indexing".to_owned();
                let overwritten = format!(
                    "only the last sample of the batch, {last}, counts: overwritten where it should be added"
                );
                let one = |sample, text| {
                    self.made(OneSampleOnly, text, REMADE, move |i| formula.term(i, sample))
                };
                vec![one(0, first), one(last, overwritten)]
            }
            Da(layer) => {
                let next = WNext(layer + 1);
                let text = format!(
                    "it is the product with {next}: the update ran before the gradient was passed on"
                );
                let swap = |values| Swap { place: 1, values, map: Map::Right };
                let updated = chain.get(next).map(swap);
                let updated = updated.and_then(|swap| self.swapped(UpdatedWeights, text, swap));
                updated.into_iter().chain(column_major(W(layer + 1))).collect()
            }
            WNext(_) | BNext(_) => {
                let (parameter, gradient, w, dw) = self.update()?;
                let rate = chain.learning_rate();
                let text =
                    format!("it is {parameter} + lr * {gradient}: the step has the wrong sign");
                vec![self.made(UpdateSign, text, REMADE, move |i| w[i] + rate * dw[i])]
            }
            _ => return None,
        })
    }

    /// The mistakes that all elements are multiplied by the same known factor.
    fn factors(&'a self) -> Option<Vec<Mistake<'a>>> {
        let expected = self.scene.expected;
        let flipped = "it is what it should be with the sign flipped".to_owned();
        let known =
            self.known_factors().into_iter().map(|(k, text)| (PatternKind::Factor, k, text));
        let all = [(PatternKind::SignFlipped, -1.0, flipped)].into_iter().chain(known);
        let row = |(kind, k, text): (PatternKind, f64, String)| {
            self.made(kind, text, scaled(k), move |i| k * expected[i])
        };
        Some(all.map(row).collect())
    }

    /// The factors by which known mistakes change a tensor, each with the words that describe the mistake.
    fn known_factors(&self) -> Vec<(f64, String)> {
        let (b, c) = (self.scene.chain.batch(), self.scene.chain.outputs());
        let right = "what it should be";
        let of_b = format!("{right}, B = {b}: a 1/B");
        let of_c = format!("{right}, and there are {c} outputs: perhaps a");
        let all = [
            (b, count(b), format!("it is {b} times {of_b} is missing")),
            (b, 1.0 / count(b), format!("it is 1/{b} of {of_b} too many")),
            (c, count(c), format!("it is {c} times {of_c} sum over them in place of their mean")),
            (
                c,
                1.0 / count(c),
                format!("it is 1/{c} of {of_c} mean over them in place of their sum"),
            ),
            (2, 2.0, format!("it is twice {right}: a ½ is missing, or it was added twice")),
            (2, 0.5, format!("it is half of {right}")),
        ];
        let rate = self.scene.chain.learning_rate();
        let named = all.into_iter().filter(|(size, ..)| *size > 1).map(|(_, factor, text)| {
            // With 10 outputs and a learning rate of 0.1, two mistakes have the same factor.
            let rates = (factor - rate).abs() < 1e-6 * rate;
            let or = if rates { "; or the learning rate is applied once more" } else { "" };
            (factor, text + or)
        });
        named.collect()
    }

    /// The mistakes that elements have the right values of other elements: the tensor is transposed, repeats one row or
    /// column, or is another tensor.
    fn moved(&'a self) -> Option<Vec<Mistake<'a>>> {
        let (rows, columns) = match *self.scene.shape {
            [rows, columns] => (rows, columns),
            _ => (1, 1),
        };
        let from = |kind, text: String, from: fn([usize; 3]) -> usize| -> Mistake<'a> {
            let Scene { expected, candidate, bounds, .. } = self.scene;
            let fits = move |(i, &held): (usize, &f64)| {
                let from = from([i, rows, columns]);
                within(expected[from], held, bounds[from])
            };
            (kind, text, Box::new(move || candidate.iter().enumerate().all(fits)))
        };
        let index = |what| {
            format!("every {what} equals what {what} 0 should be: the {what}'s index is not used")
        };
        let transposed = if rows == columns {
            "it is the transpose of what it should be"
        } else {
            "its buffer holds the transpose of what it should be: it is stored column-major"
        };
        // Element i of the buffer belongs to column i / rows and row i % rows.
        let transpose: fn([usize; 3]) -> usize = |[i, n, m]| i % n * m + i / n;
        let all = [
            (rows > 1 && columns > 1)
                .then(|| from(PatternKind::StoredColumnMajor, transposed.into(), transpose)),
            (rows > 1).then(|| from(PatternKind::RowZero, index("row"), |[i, _, m]| i % m)),
            (columns > 1)
                .then(|| from(PatternKind::ColumnZero, index("column"), |[i, _, m]| i - i % m)),
        ];
        // A dump that is judged by itself makes later tensors of the wrong one: that they equal it explains nothing.
        let (name, chain) = (self.scene.name, self.scene.chain);
        let alone = self.wrong.finding.compared.is_none();
        let made_of_it = if alone { chain.made_of(name) } else { vec![name] };
        let others = self.wrong.finding.context.reference.tensors.iter();
        let others = others
            .filter(|other| !made_of_it.contains(&other.name) && other.shape == self.scene.shape);
        let equal = others.map(|other| {
            let text = format!("it equals {}: exchanged names or buffers", other.name);
            self.equal(other.name, PatternKind::EqualsOther, text)
        });
        Some(all.into_iter().flatten().chain(equal).collect())
    }

    /// The mistakes that an update is `w − k·lr·dw`, with the same known `k` for all elements.
    fn steps(&'a self) -> Option<Vec<Mistake<'a>>> {
        let (parameter, gradient, w, dw) = self.update()?;
        let rate = self.scene.chain.learning_rate();
        let without_rate = format!("it is {parameter} - {gradient}: the learning rate is missing");
        // A mean over the outputs is no part of an update.
        let known = self.known_factors().into_iter().filter(|(_, text)| !text.contains("outputs"));
        let step = |text: String| {
            text.replacen("it is", "the step is", 1).replace(": a 1/B", ": perhaps a 1/B")
        };
        let known = known.map(|(k, text)| (k, step(text)));
        let all = [(1.0 / rate, without_rate)].into_iter().chain(known);
        let row = |(k, text): (f64, String)| {
            let stepped = move |i: usize| w[i] - k * rate * dw[i];
            self.made(PatternKind::StepFactor, text, scaled(k), stepped)
        };
        Some(all.map(row).collect())
    }

    /// The mistake that an update is `w − k·lr·dw`, with any `k`.
    fn step_factor(&self) -> Option<Pattern> {
        let (_, gradient, w, dw) = self.update()?;
        let Scene { chain, candidate, .. } = *self.scene;
        let rate = chain.learning_rate();
        let moved: f64 = w.iter().zip(dw).zip(candidate).map(|((w, dw), c)| (w - c) * dw).sum();
        let factor = moved / (rate * dw.iter().map(|dw| dw * dw).sum::<f64>());
        let stepped = |i: usize| w[i] - factor * rate * dw[i];
        (factor.is_finite() && self.is_made(stepped, scaled(factor), 3)).then(|| {
            let clipped = numbers::clipped_to(chain, gradient, dw, factor);
            // A learning rate of 0.1 is a tenth, too.
            let rates = (factor - rate).abs() < 1e-6 * rate.abs();
            let or = if rates { ": perhaps the learning rate is applied once more" } else { "" };
            let text = format!("the step is {factor:.6} times what it should be{clipped}{or}");
            Pattern::new(PatternKind::StepFactor, text)
        })
    }

    /// The rows are right, but in another order: the samples of a batch are shuffled.
    fn rows_permuted(&self) -> Option<Pattern> {
        let Scene { expected, candidate, bounds, shape, .. } = self.scene;
        let &[rows, columns] = *shape else { return None };
        if rows < 2 || columns < 2 || rows.saturating_mul(candidate.len()) > ROWS_WORTH_MATCHING {
            return None;
        }
        let matches = |from: usize, to: usize| {
            (from * columns..(from + 1) * columns)
                .zip(&candidate[to * columns..])
                .all(|(r, &c)| within(expected[r], c, bounds[r]))
        };
        let mut free: Vec<usize> = (0..rows).collect();
        let mut moved = None;
        for to in 0..rows {
            // Each row is first compared with the right row of the same index, so that only rows that did move count
            // as moved.
            let from = if free.contains(&to) && matches(to, to) {
                to
            } else {
                free.iter().copied().find(|&from| matches(from, to))?
            };
            free.retain(|&row| row != from);
            if from != to {
                moved = moved.or(Some((to, from)));
            }
        }
        let (to, from) = moved?;
        let text = format!(
            "it holds the right rows in another order: row {to} is what row {from} should be"
        );
        Some(Pattern::new(PatternKind::RowsPermuted, text))
    }
}
