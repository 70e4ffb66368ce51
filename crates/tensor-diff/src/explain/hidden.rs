//! Mistakes in a tensor that a fused kernel doesn't store: it keeps `z` to itself, and the dump only has
//! the wrong `a`. Then the mistake is looked for in the operation before. The same is tried if the dump has
//! that tensor, because the kernel may have computed it again.

use std::cell::OnceCell;

use tensor::TensorName;

use super::Scene;
use crate::chain::operation::{Elementwise, Rule, Settings};

/// The operation between the hidden tensor and the wrong one.
#[derive(Clone)]
struct Behind<'a> {
    rule: Elementwise,
    inputs: Vec<&'a [f64]>,
    /// The index of the hidden input.
    place: usize,
    settings: Settings,
}

/// A tensor between the known tensors and the wrong one, which a kernel may not have stored.
pub(super) struct Hidden<'a> {
    pub(super) name: TensorName,
    /// Whether the dump has it all the same.
    pub(super) is_written: bool,
    behind: Behind<'a>,
    /// The values that the next tensor implies; NaN if the operation between them leaves no trace.
    values: Vec<f64>,
}

/// The tensor that is wrong, as it is seen from the hidden one.
pub(super) struct Seen<'a> {
    behind: Behind<'a>,
    pub(super) expected: &'a [f64],
    pub(super) candidate: &'a [f64],
}

impl Behind<'_> {
    fn inputs_of(&self, i: usize) -> [f64; 2] {
        [self.inputs[0][i], self.inputs.last().map_or(0.0, |other| other[i])]
    }
}

impl Seen<'_> {
    // ANCHOR: made_of
    /// The result of the operation on an element of the hidden tensor.
    pub(super) fn made_of(&self, i: usize, hidden: f64) -> f64 {
        let Behind { rule, place, settings, .. } = self.behind;
        let mut inputs = self.behind.inputs_of(i);
        inputs[place] = hidden;
        let (base, rest) = (rule.of)(&inputs, settings);
        base + rest
    }
    // ANCHOR_END: made_of
}

impl<'a> Hidden<'a> {
    /// The tensor that the wrong one was made of, where it can't be seen.
    pub(super) fn of(scene: &Scene<'a>) -> Option<Self> {
        let chain = scene.chain;
        let operation = chain.operation(scene.name)?;
        let Rule::Elementwise(rule) = operation.rule else { return None };
        let (place, undo) = rule.undo?;
        let inputs = operation.inputs.iter().map(|&input| chain.read(&operation, input));
        let inputs: Vec<&[f64]> = inputs.collect::<Option<_>>()?;
        let settings = chain.settings();
        let behind = Behind { rule, inputs, place, settings };
        let elements = scene.candidate.iter().enumerate();
        let values =
            elements.map(|(i, &seen)| undo(&behind.inputs_of(i), seen, settings)).collect();
        let name = operation.inputs[place];
        Some(Self { name, is_written: chain.is_given_by_reference(name), behind, values })
    }

    /// The same scene with the hidden tensor in the place of the wrong one.
    pub(super) fn scene<'s>(&'s self, of: &'s Scene<'a>) -> Option<Scene<'s>> {
        // A hypothesis that is fitted to an element begins with the first.
        let known = |&&i: &&usize| self.values[i].is_finite();
        let first = of.probes.iter().copied().find(|i| known(&i));
        if first.is_none() && !of.probes.is_empty() {
            return None;
        }
        let others = of.probes.iter().copied().filter(|&i| Some(i) != first);
        let behind = self.behind.clone();
        Some(Scene {
            name: self.name,
            expected: of.chain.get(self.name)?,
            candidate: &self.values,
            wrong: of.wrong.clone(),
            probes: first.into_iter().chain(others).collect(),
            in_part: false,
            parts: OnceCell::new(),
            firsts: [OnceCell::new(), OnceCell::new()],
            seen: Some(Seen { behind, expected: of.expected, candidate: of.candidate }),
            ..*of
        })
    }
}
