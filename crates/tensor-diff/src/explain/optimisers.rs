//! Updates by an optimiser other than gradient descent: momentum, and optimisers that divide by the root of squared
//! gradients. Their first step is little evidence, so the next step, if the dump has one, has to fit as well.

use super::numbers::plain;
use super::{Pattern, Scene, hypothesis};
use crate::chain::operation::updated_from;
use tensor::Dump;

/// An optimiser that keeps means of the gradients and of their squares.
struct Optimiser {
    name: &'static str,
    /// The decay rates of the mean of the gradients, and of that of their squares.
    keeps: [f64; 2],
    /// Whether both means have a bias correction, because they begin at 0.
    corrected: bool,
    /// The weight of a new square, if it isn't 1 minus the decay rate.
    square: Option<f64>,
}

impl Optimiser {
    const fn new(name: &'static str, keeps: [f64; 2], corrected: bool) -> Self {
        Self { name, keeps, corrected, square: None }
    }
}

const OPTIMISERS: [Optimiser; 7] = [
    Optimiser::new("Adam", [0.9, 0.999], true),
    Optimiser::new("Adam with 0.9 and 0.99", [0.9, 0.99], true),
    Optimiser { square: Some(1.0), ..Optimiser::new("Adagrad", [0.0, 1.0], false) },
    Optimiser::new("RMSprop with a decay of 0.9", [0.0, 0.9], false),
    Optimiser::new("RMSprop with a decay of 0.99", [0.0, 0.99], false),
    Optimiser::new("RMSprop with a decay of 0.999", [0.0, 0.999], false),
    Optimiser::new("Adam without its bias correction", [0.9, 0.999], false),
];

/// Usual epsilons, which keep a quotient finite.
const EPSILONS: [f64; 8] = [1e-8, 1e-7, 1e-10, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2];

impl Optimiser {
    /// The direction of the last step, from the gradients of one element in all steps.
    fn direction(&self, gradients: &[f64], epsilon: f64) -> f64 {
        let [first, second] = self.keeps;
        let (mut mean, mut squares) = (0.0, 0.0);
        for gradient in gradients {
            mean = first * mean + (1.0 - first) * gradient;
            squares = second * squares + self.square.unwrap_or(1.0 - second) * gradient * gradient;
        }
        if mean == 0.0 {
            return 0.0;
        }
        if self.corrected {
            let steps = gradients.len() as i32;
            mean /= 1.0 - first.powi(steps);
            squares /= 1.0 - second.powi(steps);
        }
        mean / (squares.sqrt() + epsilon)
    }
}

/// The parameter and its gradient in this step; and in the next one, if there is one, with the updated parameter.
struct Steps<'a> {
    gradient: String,
    now: [&'a [f64]; 2],
    next: Option<[&'a [f64]; 3]>,
}

impl<'a> Steps<'a> {
    fn new(scene: &Scene<'a>) -> Option<Self> {
        let (parameter, gradient) = updated_from(scene.name)?;
        let now = [scene.chain.get(parameter)?, scene.chain.get(gradient)?];
        let next = scene.later.first().and_then(|next: &'a Dump| {
            let get = |name| {
                let values = &next.get(name)?.data[..];
                (values.len() == scene.candidate.len()).then_some(values)
            };
            Some([get(parameter)?, get(gradient)?, get(scene.name)?])
        });
        let whole = !scene.in_part && scene.seen.is_none() && scene.tells_after(100, 1);
        whole.then(|| Self { gradient: gradient.to_string(), now, next })
    }

    /// Whether the rule also explains the next step, from the gradients of both; `None` if there is no next step.
    fn confirms(&self, scene: &Scene<'_>, step: impl Fn(f64, f64) -> f64) -> Option<bool> {
        let [w, dw, made] = self.next?;
        let fits = |i: usize| {
            let off = (w[i] - step(self.now[1][i], dw[i]) - made[i]).abs();
            off <= scene.tolerance(i, made[i])
        };
        let elements = made.len();
        // Means rounded to f32 may be further off in a few elements whose gradients almost cancel.
        Some(20 * (0..elements).filter(|&i| fits(i)).count() >= 19 * elements)
    }
}

/// The learning rate that a rule implies for the farthest element: the step's own rate or a short number if one is
/// near.
fn rate_of(scene: &Scene<'_>, steps: &Steps<'_>, direction: impl Fn(f64) -> f64) -> Option<f64> {
    let [w, dw] = steps.now;
    let &first = scene.probes.iter().find(|&&i| scene.candidate[i].is_finite())?;
    let rate = (w[first] - scene.candidate[first]) / direction(dw[first]);
    let short: f64 = plain(rate).parse().ok()?;
    let near = |other: f64| (rate - other).abs() <= 1e-3 * other.abs();
    let own = scene.chain.learning_rate();
    let rate = if near(own) {
        own
    } else if near(short) {
        short
    } else {
        rate
    };
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

/// Momentum whose first step is a multiple of gradient descent's: dampened, or Nesterov's.
pub(super) fn with_momentum(scene: &Scene<'_>) -> Option<Pattern> {
    let steps = &Steps::new(scene)?;
    let [w, dw] = steps.now;
    let rate = scene.chain.learning_rate();
    let factor = rate_of(scene, steps, |gradient| gradient)? / rate;
    let (kept, how) = match factor {
        _ if (factor - 1.0).abs() < 1e-4 => return None,
        ..1.0 => (1.0 - factor, "dampened: a gradient counts what the momentum leaves"),
        1.0..2.0 => (factor - 1.0, "Nesterov's"),
        _ => return None,
    };
    let kept: f64 = format!("{kept:.4}").parse().unwrap_or(kept);
    let step = |before: f64, now: f64| match factor {
        ..1.0 => rate * (1.0 - kept) * (kept * before + now),
        _ => rate * (now + kept * (kept * before + now)),
    };
    if steps.confirms(scene, step) != Some(true) {
        return None;
    }
    let text = format!("momentum of {kept}, {how}, as two steps show");
    scene.first(vec![hypothesis(text, move |i| w[i] - step(0.0, dw[i]))])
}

/// Updates by a gradient over the root of the mean of its squares.
pub(super) fn by_roots_of_squares(scene: &Scene<'_>) -> Option<Pattern> {
    let steps = &Steps::new(scene)?;
    let [w, dw] = steps.now;
    let own = scene.chain.learning_rate();
    let mut without_a_next_step: Vec<(&str, f64, f64)> = Vec::new();
    for epsilon in [0.0].into_iter().chain(EPSILONS) {
        for optimiser in &OPTIMISERS {
            let direction = |gradient: f64| optimiser.direction(&[gradient], epsilon);
            let Some(rate) = rate_of(scene, steps, direction) else { continue };
            let made = |i: usize| w[i] - rate * direction(dw[i]);
            let second =
                |before: f64, now: f64| rate * optimiser.direction(&[before, now], epsilon);
            if scene.try_numbers(made, String::new).is_none() {
                continue;
            }
            match steps.confirms(scene, second) {
                Some(true) => {
                    let text = words(steps, optimiser.name, rate, epsilon, own);
                    return scene.try_numbers(made, || format!("{text}, as two steps show"));
                }
                Some(false) => {}
                None => without_a_next_step.push((optimiser.name, rate, epsilon)),
            }
        }
        // The step's own learning rate is the simplest explanation.
        let found = without_a_next_step.iter().find(|(_, rate, _)| *rate == own);
        if let Some(&(name, rate, epsilon)) = found.or(without_a_next_step.first()) {
            // If no epsilon shows, the sign of the gradient explains the update equally well.
            if epsilon == 0.0 && rate == own {
                return None;
            }
            let same = without_a_next_step.iter().filter(|(_, other, _)| *other == rate);
            let names: Vec<&str> = same.map(|(name, ..)| *name).collect();
            let names = if names.is_empty() { name.to_owned() } else { names.join(", or ") };
            let text = words(steps, &names, rate, epsilon, own);
            let optimiser = OPTIMISERS.iter().find(|one| one.name == name)?;
            let made = |i: usize| w[i] - rate * optimiser.direction(&[dw[i]], epsilon);
            return scene.try_numbers(made, || format!("{text}, in its first step"));
        }
    }
    None
}

fn words(steps: &Steps<'_>, name: &str, rate: f64, epsilon: f64, own: f64) -> String {
    let rate = if rate == own {
        String::new()
    } else {
        format!(" and a learning rate of {}", plain(rate))
    };
    let epsilon =
        if epsilon == 0.0 { String::new() } else { format!(" (with an epsilon of {epsilon:e})") };
    format!("{} is divided by the root of its squares: {name}{epsilon}{rate}", steps.gradient)
}
