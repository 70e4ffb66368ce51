//! What is wrong may have been made of a tensor that nobody wrote: a fused kernel keeps `z` to itself,
//! and what can be seen is `a`. Then the mistake is looked for in the operation before. Also where
//! somebody wrote that tensor, since the kernel may have made it once more.

use std::cell::OnceCell;

use tensor::TensorName;

use super::Scene;
use super::multiples::updated_from;

/// How an element of the tensor that is wrong is made of the same one of the hidden tensor.
#[derive(Clone, Copy)]
enum Made<'a> {
    /// `relu`.
    Relu,
    /// Let pass where this is above 0.
    Masked(&'a [f64]),
    /// This, less the learning rate times it.
    Updated { parameter: &'a [f64], rate: f64 },
}

/// A tensor that nobody wrote, between what is known and what is wrong.
pub(super) struct Hidden<'a> {
    pub(super) name: TensorName,
    /// Whether the dump has it all the same.
    pub(super) is_written: bool,
    made: Made<'a>,
    /// What it must have been; NaN where the operation behind it leaves no trace.
    values: Vec<f64>,
}

/// The tensor that is wrong, as it is seen from the hidden one.
pub(super) struct Seen<'a> {
    made: Made<'a>,
    pub(super) expected: &'a [f64],
    pub(super) candidate: &'a [f64],
}

impl Seen<'_> {
    // ANCHOR: made_of
    /// What this makes of an element of the hidden tensor.
    pub(super) fn made_of(&self, i: usize, hidden: f64) -> f64 {
        match self.made {
            Made::Relu if hidden <= 0.0 => 0.0,
            Made::Masked(mask) if mask[i] <= 0.0 => 0.0,
            Made::Relu | Made::Masked(_) => hidden,
            Made::Updated { parameter, rate } => parameter[i] - rate * hidden,
        }
    }
    // ANCHOR_END: made_of
}

impl<'a> Hidden<'a> {
    /// The tensor that the wrong one was made of, where it can't be seen.
    pub(super) fn of(scene: &Scene<'a>) -> Option<Self> {
        let (name, made) = match scene.name {
            TensorName::A(layer) => (TensorName::Z(layer), Made::Relu),
            TensorName::Dz(layer) if layer < scene.chain.layers() => {
                (TensorName::Da(layer), Made::Masked(scene.chain.mask(layer)?))
            }
            name => {
                let (parameter, gradient) = updated_from(name)?;
                let parameter = scene.chain.get(parameter)?;
                (gradient, Made::Updated { parameter, rate: scene.chain.learning_rate() })
            }
        };
        let elements = scene.candidate.iter().enumerate();
        let values = elements.map(|(i, &seen)| match made {
            Made::Relu if seen == 0.0 => f64::NAN,
            Made::Masked(mask) if mask[i] <= 0.0 => f64::NAN,
            Made::Relu | Made::Masked(_) => seen,
            Made::Updated { parameter, rate } => (parameter[i] - seen) / rate,
        });
        let is_written = scene.chain.is_given_by_reference(name);
        Some(Self { name, is_written, made, values: values.collect() })
    }

    /// The same scene with the hidden tensor in the place of the wrong one.
    pub(super) fn scene<'s>(&'s self, of: &'s Scene<'a>) -> Option<Scene<'s>> {
        // A hypothesis that is fitted to an element begins with the first.
        let known = |&&i: &&usize| self.values[i].is_finite();
        let first = of.probes.iter().copied().find(|i| known(&i))?;
        let others = of.probes.iter().copied().filter(|&i| i != first);
        Some(Scene {
            name: self.name,
            chain: of.chain,
            dump: of.dump,
            before: of.before,
            later: of.later,
            expected: of.chain.get(self.name)?,
            candidate: &self.values,
            bounds: of.bounds,
            shape: of.shape,
            wrong: of.wrong.clone(),
            probes: std::iter::once(first).chain(others).collect(),
            relative: of.relative,
            in_part: false,
            parts: OnceCell::new(),
            firsts: [OnceCell::new(), OnceCell::new()],
            seen: Some(Seen { made: self.made, expected: of.expected, candidate: of.candidate }),
        })
    }
}
