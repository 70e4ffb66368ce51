//! Mistakes in a tensor that a fused kernel doesn't store. For example, the dump has no `z`, and only `a` is wrong:
//! then the mistake is looked for in the operation that makes `z`. The same is tried if the dump has
//! `z`, because the kernel may have computed it again.

use tensor::TensorName;

use super::Scene;
use crate::chain::operation::{Elementwise, Rule, Settings, element};

/// A tensor between the known tensors and the wrong one, which a kernel may not have stored.
pub(super) struct Hidden<'a> {
    pub(super) name: TensorName,
    /// Whether the dump holds the tensor after all.
    pub(super) is_written: bool,
    /// The values that the wrong tensor implies; NaN if the operation between them leaves no trace.
    values: Vec<f64>,
    wrong: WrongTensor<'a>,
}

/// The wrong tensor, and the operation that makes it from the hidden one.
#[derive(Clone)]
pub(super) struct WrongTensor<'a> {
    pub(super) expected: &'a [f64],
    pub(super) candidate: &'a [f64],
    rule: Elementwise,
    inputs: Vec<&'a [f64]>,
    /// The index of the hidden input.
    place: usize,
    settings: Settings,
}

impl WrongTensor<'_> {
    // ANCHOR: made_of
    /// The result of the operation on an element of the hidden tensor.
    pub(super) fn made_of(&self, i: usize, hidden: f64) -> f64 {
        let mut inputs = element(&self.inputs, i);
        inputs[self.place] = hidden;
        let (base, rest) = (self.rule.of)(&inputs, self.settings);
        base + rest
    }
    // ANCHOR_END: made_of
}

impl<'a> Hidden<'a> {
    /// The hidden tensor; `None` if the operation's inputs can't be recovered from its result.
    pub(super) fn new(scene: &Scene<'a>) -> Option<Self> {
        let Scene { chain, expected, candidate, .. } = *scene;
        let operation = chain.operation(scene.name)?;
        let Rule::Elementwise(rule) = operation.rule else { return None };
        let (place, undo) = rule.undo?;
        let (inputs, settings) = (chain.inputs(&operation)?, chain.settings());
        let elements = candidate.iter().enumerate();
        let values = elements.map(|(i, &seen)| undo(&element(&inputs, i), seen, settings));
        let (name, values) = (operation.inputs[place], values.collect());
        let wrong = WrongTensor { expected, candidate, rule, inputs, place, settings };
        Some(Self { name, is_written: chain.is_given_by_reference(name), values, wrong })
    }

    /// The scene of the search with the hidden tensor in the place of the wrong one.
    pub(super) fn scene<'s>(&'s self, of: &'s Scene<'a>) -> Option<Scene<'s>> {
        // Hypotheses are fitted to the first probe, so it has to be known.
        let mut probes = of.probes.clone();
        if !probes.is_empty() {
            let first = probes.iter().position(|&i| self.values[i].is_finite())?;
            probes[..=first].rotate_right(1);
        }
        Some(Scene {
            name: self.name,
            expected: of.chain.get(self.name)?,
            candidate: &self.values,
            probes,
            in_part: false,
            seen: Some(self.wrong.clone()),
            ..of.again()
        })
    }
}
