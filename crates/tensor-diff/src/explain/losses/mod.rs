//! Wrong formulas of the loss. The loss is one number, which many formulas reproduce by chance, but a run has one
//! for each step. A formula has to reproduce those of all steps from the wrong one on; if none does, that of the wrong
//! step only.

mod formulas;

use tensor::{Dump, Loss, TensorName};

use super::index::{At, Operand};
use super::multiples::plain_factors;
use super::numbers::number;
use super::precision::ways;
use super::terms::Terms;
use super::{Hypothesis, Pattern, Scene, hypothesis};
use crate::chain::operation::Axis;
use crate::chain::output::{loss, output};
use crate::chain::{Chain, count};
use crate::describe::joined;
use crate::numeric::log_sum_exp;
use formulas::{summands, wrong};

/// The tolerance of a prediction, as a multiple of the bound: a prediction is computed from the dump's own numbers,
/// and rounds differently.
const SLACK: f64 = 1.5;
/// Usual numbers by which labels are smoothed, the most usual first.
pub(super) const SMOOTHING: [f64; 7] = [0.1, 0.2, 0.05, 0.01, 0.02, 0.15, 0.3];

/// The ways to smooth labels by `e`: in words, and the new label as a number plus a multiple of the old one.
pub(super) fn spreads(e: f64, classes: f64) -> [(&'static str, f64, f64); 3] {
    let others = e / (classes - 1.0);
    [
        ("e/C for each class", e / classes, 1.0 - e),
        ("e/(C - 1) for each other class", others, 1.0 - e - others),
        ("e/2 for each class", 0.5 * e, 1.0 - e),
    ]
}

/// The usual relative error of an honest loss, far below its bound: formulas are first tried within it.
const USUAL: f64 = 2.7e-7;
/// The number of steps that are looked at: more would not change an explanation.
const MAX_STEPS: usize = 8;

/// The first step whose loss is wrong, or a step after it.
struct Step<'a> {
    chain: Chain<'a>,
    before: Option<&'a Dump>,
    held: f64,
    expected: f64,
}

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

    /// The term of each sample and class, from other logits and labels; their sum is the loss.
    fn terms(&self, z: &[f64], y: &[f64]) -> Vec<f64> {
        let (classes, divisor) = (self.chain.outputs(), self.divisor());
        let rows = z.chunks_exact(classes).zip(y.chunks_exact(classes));
        let terms = rows.flat_map(|(z, y)| {
            let log_sum = log_sum_exp(z);
            z.iter().zip(y).map(move |(&z, &y)| match self.loss() {
                Loss::CrossEntropy => y * (log_sum - z) / divisor,
                other => loss(other, &[z], &[y], 1) / divisor,
            })
        });
        terms.collect()
    }
}

pub(super) fn formulas(scene: &Scene<'_>) -> Option<Pattern> {
    if scene.name != TensorName::Loss || scene.in_part {
        return None;
    }
    let steps = steps(scene)?;
    let bound = scene.bounds[0] / scene.expected[0].abs().max(f64::MIN_POSITIVE);
    let bound = bound.min(1e-3) + 1e-7;
    [bound.min(USUAL), bound].into_iter().find_map(|relative| {
        [&steps[..], &steps[..1]].into_iter().find_map(|steps| explained(scene, steps, relative))
    })
}

/// The wrong step and those after it.
fn steps<'a>(scene: &Scene<'a>) -> Option<Vec<Step<'a>>> {
    let mut before = scene.before;
    let mut found = Vec::new();
    for dump in std::iter::once(scene.dump).chain(scene.later).take(MAX_STEPS) {
        let loss = dump.header.loss.or(scene.chain.losses().first().copied());
        let Some(chain) = Chain::new(dump, loss) else { break };
        let held = dump.get(TensorName::Loss).and_then(|loss| loss.data.first().copied())?;
        let expected = *chain.compute(TensorName::Loss)?.first()?;
        if !held.is_finite() || !expected.is_finite() {
            break;
        }
        found.push(Step { chain, before, held, expected });
        before = Some(dump);
    }
    (!found.is_empty()).then_some(found)
}

/// A formula that reproduces the losses of all these steps, which are the elements of a separate scene.
fn explained(scene: &Scene<'_>, steps: &[Step<'_>], relative: f64) -> Option<Pattern> {
    let each = |of: fn(&Step<'_>) -> f64| steps.iter().map(of).collect::<Vec<f64>>();
    let (candidate, expected) = (each(|step| step.held), each(|step| step.expected));
    let (relative, all) = (SLACK * relative, (0..steps.len()).collect::<Vec<usize>>());
    let scene = &Scene {
        expected: &expected,
        candidate: &candidate,
        bounds: expected.iter().map(|right| relative * right.abs() / super::SLACK).collect(),
        relative,
        wrong: all.clone(),
        probes: all,
        ..scene.again()
    };
    let search = Search { steps, scene };
    let families = [
        Search::known,
        Search::factor,
        Search::counted,
        Search::with_usual_numbers,
        Search::parts,
        Search::read_elsewhere,
        Search::combined,
    ];
    let found = families.iter().find_map(|family| family(&search))?;
    let text = match steps.len() {
        1 => found.text,
        steps => format!("{}, as the losses of {steps} steps show", found.text),
    };
    Some(Pattern { text, explains: 1, ..found })
}

/// The search for a formula that reproduces the losses of these steps.
struct Search<'s> {
    steps: &'s [Step<'s>],
    scene: &'s Scene<'s>,
}

impl Search<'_> {
    /// Tries formulas in which a step is left out or exchanged.
    fn known(&self) -> Option<Pattern> {
        let family = wrong(self.steps);
        [false, true].into_iter().find_map(|scaled| {
            self.scene.first_as(
                &family,
                scaled,
                |_| 0.0,
                |text, factor| match scaled {
                    true => format!("{text}, {} times", number(self.scene, factor)),
                    false => text.into(),
                },
            )
        })
    }

    /// Tries the right loss times a plain factor. A fitted factor would explain any number.
    fn factor(&self) -> Option<Pattern> {
        let family = plain_factors().into_iter().map(|factor| {
            let text = format!("it is {} times what it should be", number(self.scene, factor));
            hypothesis(text, move |at| factor * self.steps[at].expected)
        });
        self.scene.first(family)
    }

    /// Tries a weight for the terms of the classes that a sample has, or for the terms of the other classes.
    fn counted(&self) -> Option<Pattern> {
        let weights = [2.0, 3.0, 4.0, 5.0, 9.0, 10.0, 0.5, 0.25, 0.1];
        let ways =
            weights.into_iter().flat_map(|k| [(k, "y = 1", [1.0, k]), (k, "y = 0", [k, 1.0])]);
        let family = ways.map(|(k, text, [zero, one])| {
            hypothesis(format!("the terms of {text} count {k} times"), move |at| {
                let (z, y) = (self.steps[at].z(), self.steps[at].y());
                let terms = self.steps[at].terms(z, y).into_iter().zip(y);
                terms.map(|(term, y)| term * (zero + (one - zero) * y)).sum()
            })
        });
        self.scene.first(family)
    }

    /// Tries smoothed labels, an epsilon that keeps the logarithm finite, and logits with fewer digits, each with the
    /// usual numbers.
    fn with_usual_numbers(&self) -> Option<Pattern> {
        let classes = count(self.steps[0].chain.outputs());
        let loss = self.steps[0].loss();
        let bce = match loss {
            Loss::CrossEntropy => false,
            Loss::Bce => true,
            Loss::SquaredError => return None,
        };
        // The sum over samples and classes of a function of p and y.
        let of_p = |text: String, of: Box<dyn Fn(f64, f64) -> f64>| {
            hypothesis(text, move |at| {
                let step = &self.steps[at];
                let p = output(loss, step.z(), step.chain.outputs());
                p.iter().zip(step.y()).map(|(&p, &y)| of(p, y)).sum::<f64>() / step.divisor()
            })
        };
        let entropy = move |p: f64, q: f64, log: &dyn Fn(f64) -> f64| {
            let term = |weight: f64, p: f64| if weight == 0.0 { 0.0 } else { -weight * log(p) };
            term(q, p) + if bce { term(1.0 - q, 1.0 - p) } else { 0.0 }
        };
        let smoothed = |e: f64| {
            spreads(e, classes).map(|(how, other, own)| {
                let text = format!("the labels are smoothed by e = {e} only in the loss: {how}");
                of_p(text, Box::new(move |p, y| entropy(p, other + own * y, &f64::ln)))
            })
        };
        // The ways to keep p away from 0, and 1 - p as well, which in single precision isn't 1 less the clamped p.
        let kept = (1..=16).map(|exponent| 10_f64.powi(-exponent)).flat_map(|e| {
            let added = format!("{e:e} is added to p inside the logarithm");
            let least = format!("p is at least {e:e} inside the logarithm");
            let both = format!("p is kept between {e:e} and 1 - {e:e} inside the logarithm");
            let single = move |p: f64, y: f64| {
                let p = (p as f32).clamp(e as f32, 1.0 - e as f32);
                let other = if bce { (1.0 - y) * -f64::from(1.0 - p).ln() } else { 0.0 };
                -y * f64::from(p).ln() + if y == 1.0 { 0.0 } else { other }
            };
            [
                of_p(added, Box::new(move |p, y| entropy(p, y, &|p| (p + e).ln()))),
                of_p(least, Box::new(move |p, y| entropy(p, y, &|p| p.max(e).ln()))),
                of_p(both, Box::new(single)),
            ]
        });
        let last = self.steps[0].chain.layers();
        // Rounded or cut to half and to bfloat16.
        let shortened = ways().into_iter().take(4).map(|(how, short)| {
            hypothesis(format!("z{last} is {how}"), move |at| {
                let z: Vec<f64> = self.steps[at].z().iter().map(|&z| short(z)).collect();
                self.steps[at].terms(&z, self.steps[at].y()).iter().sum()
            })
        });
        // The fewer members a family has, the fewer losses are needed to tell them apart.
        let families: [Vec<Hypothesis<'_>>; 5] = [
            smoothed(SMOOTHING[0]).into(),
            kept.collect(),
            SMOOTHING[1..3].iter().copied().flat_map(smoothed).collect(),
            SMOOTHING[3..].iter().copied().flat_map(smoothed).collect(),
            shortened.collect(),
        ];
        // Ways that make the same losses are one explanation.
        families.iter().filter(|family| self.scene.tells(family.len())).find_map(|family| {
            let found =
                |one: &Hypothesis<'_>| self.scene.try_numbers(&*one.predict, || one.text.clone());
            let mut alike = family.iter().filter_map(found).take(3).peekable();
            let first = alike.peek()?.clone();
            let text = joined(alike.map(|one| one.text), "or");
            Some(Pattern { text, ..first })
        })
    }

    /// Tries a loss in which some samples, or some classes, are left out or have another weight.
    fn parts(&self) -> Option<Pattern> {
        ["samples", "classes"].into_iter().find_map(|over| {
            let sums = |step: &Step<'_>| -> Vec<f64> {
                let terms = step.terms(step.z(), step.y());
                let classes = step.chain.outputs();
                match over {
                    "samples" => terms.chunks_exact(classes).map(|row| row.iter().sum()).collect(),
                    _ => {
                        (0..classes).map(|c| terms.iter().skip(c).step_by(classes).sum()).collect()
                    }
                }
            };
            let all: Vec<Vec<f64>> = self.steps.iter().map(sums).collect();
            let (n, expected, held) = (all[0].len(), self.scene.expected, self.scene.candidate);
            // Other steps may have fewer samples: the terms are counted from the beginning, or from the end.
            let differ = all.iter().any(|step| step.len() != n);
            let ways = if differ { &[false, true][..] } else { &[false] };
            let found = ways.iter().find_map(|&from_end| {
                let place = |own: usize, k: usize| {
                    if from_end { (k + own).checked_sub(n) } else { Some(k) }
                };
                let term = |i: usize, k: usize| all[i].get(place(all[i].len(), k)?).copied();
                let terms = Terms {
                    length: n,
                    over,
                    term: Box::new(move |i, k| term(i, k).unwrap_or(0.0)),
                    predict: Box::new(|i, part| expected[i] - part),
                    left_out: Box::new(|i| expected[i] - held[i]),
                };
                terms.search(self.scene, &[0.0, 2.0, -1.0, 0.5, 3.0, 4.0, 5.0, 10.0], true)
            });
            let is_one = over == "samples" && all.len() == 1;
            found.or_else(|| if is_one { self.mean_of_some(&all[0]) } else { None })
        })
    }

    /// Tries the mean over only the first samples, or only the last.
    fn mean_of_some(&self, samples: &[f64]) -> Option<Pattern> {
        let n = samples.len();
        let ends = (1..n).flat_map(|cut| [(0, cut), (cut, n)]);
        let family = ends.map(|(from, to)| {
            let which = if from == 0 { "first" } else { "last" };
            let text = format!("it is the mean over the {which} {} of the {n} samples", to - from);
            let sum: f64 = samples[from..to].iter().sum();
            hypothesis(text, move |_| sum * count(n) / count(to - from))
        });
        self.scene.first(family)
    }

    /// Tries misread logits or labels, and other tensors in their place.
    fn read_elsewhere(&self) -> Option<Pattern> {
        let first = &self.steps[0];
        let names = [TensorName::Z(first.chain.layers()), TensorName::Y];
        let (rows, columns) = (first.chain.batch(), first.chain.outputs());
        let with = |step: &Step<'_>, name: TensorName, values: &[f64]| -> f64 {
            let (z, y) =
                if name == TensorName::Y { (step.z(), values) } else { (values, step.y()) };
            step.terms(z, y).iter().sum()
        };
        names.into_iter().find_map(|name| {
            let values = first.chain.get(name)?;
            let by = [Axis::Row, Axis::Column];
            let own = &Operand { name: name.to_string(), values, rows, columns, by };
            let axes = |axis| match axis {
                Axis::Row => "the sample",
                Axis::Column => "the class",
                _ => "the term",
            };
            let misread = own.maps().into_iter().map(|map| {
                hypothesis(own.words(map, &axes), move |at| {
                    let step = &self.steps[at];
                    let of_step = Operand { rows: step.chain.batch(), ..own.clone() };
                    let values = step.chain.get(name).unwrap_or_default();
                    let place = |i: usize| At { row: i / columns, column: i % columns, term: 0 };
                    let all =
                        (0..of_step.rows * columns).map(|i| of_step.read(values, map, place(i)));
                    with(step, name, &all.collect::<Vec<f64>>())
                })
            });
            let others = first.chain.names().into_iter().flat_map(|n| [(n, false), (n, true)]);
            let others =
                others.filter(|&(other, earlier)| (other != name || earlier) && rows * columns > 1);
            let others = others.map(|(other, earlier)| {
                let when = if earlier { " of the step before" } else { "" };
                hypothesis(format!("{other}{when} is read in place of {name}"), move |at| {
                    let step = &self.steps[at];
                    let before = || Some(&step.before?.get(other)?.data[..]);
                    let values = if earlier { before() } else { step.chain.get(other) };
                    let values = values.and_then(|v| v.get(..step.chain.batch() * columns));
                    values.map_or(f64::NAN, |values| with(step, name, values))
                })
            });
            let misread: Vec<Hypothesis<'_>> = misread.collect();
            let tells = self.scene.tells(misread.len());
            let others = || self.scene.first(others).filter(|_| tells);
            self.scene.first(misread).or_else(others)
        })
    }

    /// Tries a multiple of another number as the loss, or added to the right loss.
    fn combined(&self) -> Option<Pattern> {
        let (steps, scene) = (self.steps, self.scene);
        let summands = summands(steps);
        let more = steps[0].held - steps[0].expected;
        let constant = scene.try_numbers(|at| steps[at].expected + more, String::new).is_some();
        // Otherwise a penalty, which hardly changes, fits as well as many another number.
        let shifted: Vec<f64> = steps.iter().map(|step| step.expected + more).collect();
        let told = constant
            || Scene { expected: &shifted, ..scene.again() }.tells_after(summands.len(), 1);
        let ways = [[false, false], [false, true], [true, false], [true, true]];
        ways.into_iter().find_map(|[plus, scaled]| {
            let base = |at: usize| if plus { steps[at].expected } else { 0.0 };
            scene.first_as(&summands[usize::from(plus)..], scaled, base, |text, factor| {
                let times = format!("{} times ", number(scene, factor));
                let times = if factor == 1.0 { "" } else { &times };
                let what = if plus { "what it should be plus " } else { "" };
                let unsure = plus && scaled && !told;
                let or =
                    if unsure { ", or a number that is nearly the same in each step" } else { "" };
                format!("it is {what}{times}{text}{or}")
            })
        })
    }
}
