//! Wrong formulas of the loss. It is one number, which many formulas reproduce by chance, but a run has one
//! for each step. A formula is reported only if it reproduces those of all steps from the wrong one on.

mod things;

use tensor::{Dump, Loss, TensorName};

use super::Pattern;
use super::index::{At, Map, Operand};
use super::numbers::{number, plain};
use super::{BY_CHANCE, Scene};
use crate::chain::operation::Axis;
use crate::chain::{Chain, count};
use crate::describe::place::TILES;
use crate::finding::PatternKind;

/// The tolerance of a prediction, in bounds: it uses the dump's own numbers, and rounds differently.
const SLACK: f64 = 1.5;
/// Steps beyond these add nothing.
const STEPS: usize = 8;

/// A step of which the loss is wrong, or may be.
struct Step<'a> {
    chain: Chain<'a>,
    before: Option<&'a Dump>,
    held: f64,
    expected: f64,
    relative: f64,
}

type Formula<'a> = Box<dyn Fn(&Step<'_>) -> f64 + 'a>;

impl Step<'_> {
    fn z(&self) -> &[f64] {
        self.chain.get(TensorName::Z(self.chain.layers())).unwrap_or_default()
    }

    fn y(&self) -> &[f64] {
        self.chain.get(TensorName::Y).unwrap_or_default()
    }

    fn loss(&self) -> Loss {
        self.chain.losses().first().copied().unwrap_or(Loss::CrossEntropy)
    }

    fn divisor(&self) -> f64 {
        let classes = if self.loss() == Loss::Bce { count(self.chain.outputs()) } else { 1.0 };
        count(self.chain.batch()) * classes
    }

    /// The term of each sample and class, of other logits and labels; their sum is the loss.
    fn terms(&self, z: &[f64], y: &[f64]) -> Vec<f64> {
        let (classes, divisor, loss) = (self.chain.outputs(), self.divisor(), self.loss());
        let rows = z.chunks_exact(classes).zip(y.chunks_exact(classes));
        rows.flat_map(|(z, y)| {
            let log_sum = match loss {
                Loss::CrossEntropy => {
                    let largest = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    largest + z.iter().map(|z| (z - largest).exp()).sum::<f64>().ln()
                }
                _ => 0.0,
            };
            z.iter().zip(y).map(move |(&z, &y)| match loss {
                Loss::CrossEntropy => y * (log_sum - z) / divisor,
                _ => crate::chain::output::loss(loss, &[z], &[y], 1) / divisor,
            })
        })
        .collect()
    }

    fn fits(&self, value: f64) -> bool {
        // An infinity would be allowed to be off by as much.
        value.is_finite()
            && (value - self.held).abs()
                <= SLACK * self.relative * value.abs().max(self.expected.abs())
    }

    /// How likely a number is to fit by chance.
    fn chance(&self) -> f64 {
        let size = self.held.abs().max(self.expected.abs());
        (2.0 * SLACK * self.relative * size / (self.held - self.expected).abs()).min(1.0)
    }
}

pub(super) fn formulas(scene: &Scene<'_>) -> Option<Pattern> {
    if scene.name != TensorName::Loss || scene.in_part {
        return None;
    }
    let steps = steps(scene)?;
    let family = Family { steps: &steps };
    family
        .known(scene)
        .or_else(|| family.with_usual_numbers())
        .or_else(|| family.parts(scene))
        .or_else(|| family.read_elsewhere())
        .or_else(|| family.combined(scene))
}

/// The wrong step and those after it.
fn steps<'a>(scene: &Scene<'a>) -> Option<Vec<Step<'a>>> {
    let relative = (scene.bounds[0] / scene.expected[0].abs().max(f64::MIN_POSITIVE)).min(1e-3);
    let mut before = scene.before;
    let mut found = Vec::new();
    for dump in std::iter::once(scene.dump).chain(scene.later).take(STEPS) {
        let loss = dump.header.loss.or(scene.chain.losses().first().copied());
        let Some(chain) = Chain::of(dump, loss) else { break };
        let held = dump.get(TensorName::Loss).and_then(|loss| loss.data.first().copied())?;
        let expected = *chain.compute(TensorName::Loss)?.first()?;
        if !held.is_finite() || !expected.is_finite() {
            break;
        }
        found.push(Step { chain, before, held, expected, relative: relative + 1e-7 });
        before = Some(dump);
    }
    (!found.is_empty()).then_some(found)
}

struct Family<'a> {
    steps: &'a [Step<'a>],
}

impl Family<'_> {
    /// Whether one of this many formulas would hardly ever make all steps by chance, when some of them were
    /// used up to find its numbers.
    fn tells(&self, members: usize, free: usize) -> bool {
        let mut chances: Vec<f64> = self.steps.iter().map(Step::chance).collect();
        chances.sort_by(f64::total_cmp);
        members as f64 * chances.iter().skip(free).product::<f64>() < BY_CHANCE
            && self.steps.len() > free
    }

    fn made_by(&self, formula: &dyn Fn(&Step<'_>) -> f64) -> bool {
        self.steps.iter().all(|step| step.fits(formula(step)))
    }

    fn told(&self, text: String) -> Pattern {
        let text = match self.steps.len() {
            1 => text,
            steps => format!("{text}, as the losses of {steps} steps show"),
        };
        Pattern { kind: PatternKind::Explained, text, explains: 1 }
    }

    /// The formula with a step left out or exchanged.
    fn known(&self, scene: &Scene<'_>) -> Option<Pattern> {
        let values = |step: &Step<'_>| {
            super::outputs::losses(step.loss(), step.z(), step.y(), step.chain.outputs())
        };
        let all: Vec<Vec<(String, f64)>> = self.steps.iter().map(values).collect();
        let members = all[0].len();
        for scaled in [false, true] {
            if !self.tells(members, usize::from(scaled)) {
                continue;
            }
            for at in 0..members {
                let factor = if scaled { self.steps[0].held / all[0][at].1 } else { 1.0 };
                let fits = |(step, values): (&Step<'_>, &Vec<(String, f64)>)| {
                    step.fits(factor * values[at].1)
                };
                if self.steps.iter().zip(&all).all(fits) {
                    let text = &all[0][at].0;
                    return Some(self.told(if scaled {
                        format!("{text}, {} times", number(scene, factor))
                    } else {
                        text.clone()
                    }));
                }
            }
        }
        None
    }

    /// Smoothed labels, an epsilon that keeps the logarithm finite, or logits with fewer digits, each in the usual
    /// sizes.
    fn with_usual_numbers(&self) -> Option<Pattern> {
        let classes = count(self.steps[0].chain.outputs());
        let loss = self.steps[0].loss();
        let bce = match loss {
            Loss::CrossEntropy => false,
            Loss::Bce => true,
            Loss::SquaredError => return None,
        };
        type Named<'f> = (String, Formula<'f>);
        // The sum over samples and classes of a function of p and y.
        let of_p = |text: String, of: Box<dyn Fn(f64, f64) -> f64>| -> Named<'_> {
            let formula = move |step: &Step<'_>| {
                let p = crate::chain::output::output(loss, step.z(), step.chain.outputs());
                p.iter().zip(step.y()).map(|(&p, &y)| of(p, y)).sum::<f64>() / step.divisor()
            };
            (text, Box::new(formula))
        };
        let entropy = move |p: f64, q: f64, log: &dyn Fn(f64) -> f64| {
            let term = |weight: f64, p: f64| if weight == 0.0 { 0.0 } else { -weight * log(p) };
            term(q, p) + if bce { term(1.0 - q, 1.0 - p) } else { 0.0 }
        };
        let smoothed = |e: f64| {
            let others = e / (classes - 1.0);
            let spread = [
                ("e/C for each class", e / classes, 1.0 - e),
                ("e/(C - 1) for each other class", others, 1.0 - e - others),
                ("e/2 for each class", 0.5 * e, 1.0 - e),
            ];
            spread.map(|(how, other, own)| {
                let text = format!("the labels are smoothed by e = {e} in the loss alone: {how}");
                of_p(text, Box::new(move |p, y| entropy(p, other + own * y, &f64::ln)))
            })
        };
        let least = || (1..=16).map(|exponent| 10_f64.powi(-exponent));
        let added = least().map(|e| {
            let text = format!("{e:e} is added to p inside the logarithm");
            of_p(text, Box::new(move |p, y| entropy(p, y, &|p| (p + e).ln())))
        });
        let clamped = least().map(|e| {
            let text = format!("p is at least {e:e} inside the logarithm");
            of_p(text, Box::new(move |p, y| entropy(p, y, &|p| p.max(e).ln())))
        });
        let last = self.steps[0].chain.layers();
        // Rounded or cut to half and to bfloat16.
        let shortened = super::precision::ways().into_iter().take(4).map(|(how, short)| {
            let formula: Formula<'_> = Box::new(move |step: &Step<'_>| {
                let z: Vec<f64> = step.z().iter().map(|&z| short(z)).collect();
                step.terms(&z, step.y()).iter().sum()
            });
            (format!("z{last} is {how}"), formula)
        });
        // A smaller family needs fewer losses to tell its members apart.
        let families: [Vec<Named<'_>>; 5] = [
            smoothed(0.1).into(),
            added.collect(),
            [0.2, 0.05, 0.01, 0.02, 0.15, 0.3].into_iter().flat_map(smoothed).collect(),
            clamped.collect(),
            shortened.collect(),
        ];
        let (text, _) = families
            .into_iter()
            .filter(|family| self.tells(family.len(), 0))
            .find_map(|family| family.into_iter().find(|(_, formula)| self.made_by(&**formula)))?;
        Some(self.told(text))
    }

    /// Some samples, or some classes, with a weight of their own.
    fn parts(&self, scene: &Scene<'_>) -> Option<Pattern> {
        for samples in [true, false] {
            let of = |step: &Step<'_>| -> Vec<f64> {
                let terms = step.terms(step.z(), step.y());
                let classes = step.chain.outputs();
                if samples {
                    terms.chunks_exact(classes).map(|row| row.iter().sum()).collect()
                } else {
                    (0..classes).map(|c| terms.iter().skip(c).step_by(classes).sum()).collect()
                }
            };
            let all: Vec<Vec<f64>> = self.steps.iter().map(of).collect();
            let n = all[0].len();
            let over = if samples { "samples" } else { "classes" };
            let mut subsets: Vec<Box<dyn Fn(usize, usize) -> bool>> = Vec::new();
            for at in 0..n {
                subsets.push(Box::new(move |k, _| k == at));
                subsets.push(Box::new(move |k, length| k + 1 + at == length));
                subsets.push(Box::new(move |k, _| k > at));
                subsets.push(Box::new(move |k, length| k + 1 + at < length));
                subsets.push(Box::new(move |k, length| k >= length / 2 && at == 0));
            }
            for period in (2..=16).chain(TILES).filter(|period| *period < n) {
                for from in 0..period {
                    subsets.push(Box::new(move |k, _| k % period == from));
                    subsets.push(Box::new(move |k, _| k % period > from));
                }
            }
            for weight in [Some(0.0), Some(2.0), Some(-1.0), None] {
                if !self.tells(subsets.len(), usize::from(weight.is_none())) {
                    continue;
                }
                for subset in &subsets {
                    let part = |terms: &[f64]| -> f64 {
                        let own = (0..terms.len()).filter(|&k| subset(k, terms.len()));
                        own.map(|k| terms[k]).sum()
                    };
                    let first = part(&all[0]);
                    let fitted = 1.0 + (self.steps[0].held - self.steps[0].expected) / first;
                    let weight = weight.unwrap_or(fitted);
                    if !weight.is_finite() || first == 0.0 {
                        continue;
                    }
                    let fits = |(step, terms): (&Step<'_>, &Vec<f64>)| {
                        step.fits(step.expected + (weight - 1.0) * part(terms))
                    };
                    if self.steps.iter().zip(&all).all(fits) {
                        let weights: Vec<f64> =
                            (0..n).map(|k| if subset(k, n) { weight } else { 1.0 }).collect();
                        let text = super::weights::of_weights(scene, &weights, over)?;
                        return Some(self.told(text));
                    }
                }
            }
        }
        None
    }

    /// Logits or labels that are read elsewhere, or another tensor in their place.
    fn read_elsewhere(&self) -> Option<Pattern> {
        let first = &self.steps[0];
        let (rows, columns) = (first.chain.batch(), first.chain.outputs());
        let last = first.chain.layers();
        let names = [TensorName::Z(last), TensorName::Y];
        fn operand<'o>(name: String, values: &'o [f64], step: &Step<'_>) -> Operand<'o> {
            let (rows, columns) = (step.chain.batch(), step.chain.outputs());
            Operand { name, values, rows, columns, by: [Axis::Row, Axis::Column] }
        }
        let read = |operand: &Operand<'_>, map: Map| -> Vec<f64> {
            let rows = (0..operand.rows).flat_map(|row| {
                (0..operand.columns).map(move |column| At { row, column, term: 0 })
            });
            rows.map(|at| operand.read(map, at)).collect()
        };
        let with = |step: &Step<'_>, which: usize, values: &[f64]| -> f64 {
            let (z, y) = if which == 0 { (values, step.y()) } else { (step.z(), values) };
            step.terms(z, y).iter().sum()
        };
        for (which, name) in names.into_iter().enumerate() {
            let own = operand(name.to_string(), first.chain.get(name)?, first);
            let maps = own.maps();
            if !self.tells(maps.len(), 0) {
                continue;
            }
            for map in maps {
                let formula = |step: &Step<'_>| {
                    let values = step.chain.get(name).unwrap_or_default();
                    with(step, which, &read(&operand(String::new(), values, step), map))
                };
                if self.made_by(&formula) {
                    let axes = |axis| match axis {
                        Axis::Row => "the sample",
                        Axis::Column => "the class",
                        _ => "the term",
                    };
                    return Some(self.told(own.words(map, &axes)));
                }
            }
            for other in first.chain.names() {
                for earlier in [false, true] {
                    let values = |step: &Step<'_>| -> Option<Vec<f64>> {
                        let elements = step.chain.batch() * step.chain.outputs();
                        let found = if earlier {
                            step.before?.get(other).map(|tensor| &tensor.data[..])
                        } else {
                            step.chain.get(other)
                        };
                        found.filter(|v| v.len() >= elements).map(|v| v[..elements].to_vec())
                    };
                    let formula = |step: &Step<'_>| {
                        values(step).map_or(f64::NAN, |values| with(step, which, &values))
                    };
                    if (other != name || earlier) && rows * columns > 1 && self.made_by(&formula) {
                        let when = if earlier { " of the step before" } else { "" };
                        return Some(
                            self.told(format!("{other}{when} is read in place of {name}")),
                        );
                    }
                }
            }
        }
        None
    }

    /// What it should be, or one thing, and a multiple of another.
    fn combined(&self, scene: &Scene<'_>) -> Option<Pattern> {
        let things = things::things(self.steps[0].chain.layers());
        let value =
            |formula: &Formula<'_>| -> Vec<f64> { self.steps.iter().map(formula).collect() };
        let all: Vec<Vec<f64>> = things.iter().map(|(_, formula)| value(formula)).collect();
        let fits = |made: &dyn Fn(usize) -> f64| {
            self.steps.iter().enumerate().all(|(at, step)| step.fits(made(at)))
        };
        let held = |at: usize| self.steps[at].held;
        for plus in [false, true] {
            for free in [0, 1] {
                if !self.tells(things.len(), free) {
                    continue;
                }
                for ((text, _), values) in things.iter().zip(&all).skip(usize::from(plus)) {
                    let start = |at: usize| if plus { self.steps[at].expected } else { 0.0 };
                    let factor = if free == 0 { 1.0 } else { (held(0) - start(0)) / values[0] };
                    if !factor.is_finite() || factor.abs() < 1e-9 {
                        continue;
                    }
                    if fits(&|at| start(at) + factor * values[at]) {
                        let times = if factor == 1.0 {
                            String::new()
                        } else {
                            format!("{} times ", number(scene, factor))
                        };
                        let what = if plus { "what it should be plus " } else { "" };
                        return Some(self.told(format!("it is {what}{times}{text}")));
                    }
                }
            }
        }
        if !self.tells(things.len() * things.len() / 2, 2) {
            return None;
        }
        for b in 0..things.len() {
            for a in 0..b {
                let (u, v) = (&all[a], &all[b]);
                let determinant = u[0] * v[1] - u[1] * v[0];
                let alpha = (held(0) * v[1] - held(1) * v[0]) / determinant;
                let beta = (u[0] * held(1) - u[1] * held(0)) / determinant;
                let told = [alpha, beta].iter().all(|x| x.is_finite() && x.abs() > 1e-6);
                if told && fits(&|at| alpha * u[at] + beta * v[at]) {
                    return Some(self.told(format!(
                        "it is {} times {} + {} times {}",
                        number(scene, alpha),
                        things[a].0,
                        plain(beta),
                        things[b].0
                    )));
                }
            }
        }
        None
    }
}
