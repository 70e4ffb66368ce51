//! The first wrong tensor, which the three passes share: `judge` finds it, `describe` names the operation that made it
//! and locates the wrong elements, and `explain` looks for a mistake that reproduces its numbers.

use serde::Serialize;
use tensor::{Dump, DumpedTensor, TensorName};

use crate::chain::Chain;
use crate::describe::{self, reading};
use crate::explain;
use crate::judge::{Context, Judgement, Row, Rows, Verdict, within};

/// The first tensor, in the order of computation, that is a mismatch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Divergence {
    /// The tensor.
    pub tensor: TensorName,
    /// The verdict on it.
    pub verdict: Verdict,
    /// The operation that makes it, such as `dw1 = matmul_at_b(dz1, x)`; `None` for the inputs of a training step.
    pub operation: Option<String>,
    /// Which operation made this tensor from tensors that agree, in a sentence or two.
    pub reading: String,
    /// A recognised mistake.
    pub pattern: Option<Pattern>,
}

/// A recognised mistake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pattern {
    /// The kind of the mistake.
    pub kind: PatternKind,
    /// The observation and its likely cause, as a sentence.
    pub text: String,
    /// The number of wrong elements that the mistake predicts to within rounding; 0 if the pattern only describes their
    /// positions.
    pub explains: usize,
}

impl Pattern {
    pub(crate) fn new(kind: PatternKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), explains: 0 }
    }
}

/// The kind of a recognised mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each is explained by the sentence that comes with it")]
pub enum PatternKind {
    NonFinite,
    AxesExchanged,
    OtherShape,
    RoundedToSingle,
    AllZeros,
    ReluNotApplied,
    MaskMissing,
    OutputFunctionMissing,
    NotUpdated,
    UpdateSign,
    BiasMissing,
    OneSampleOnly,
    UpdatedWeights,
    WeightsReadColumnMajor,
    SignFlipped,
    Factor,
    StoredColumnMajor,
    RowZero,
    ColumnZero,
    EqualsOther,
    StepFactor,
    RowsPermuted,
    LastRows,
    LastColumns,
    OneElement,
    Explained,
    Unexplained,
}

/// A wrong tensor as the judge found it.
#[derive(Clone, Copy)]
pub(crate) struct Finding<'a> {
    pub(crate) row: &'a Row,
    pub(crate) context: &'a Context<'a>,
    /// The right values: the reference's, or recomputed ones.
    pub(crate) expected: Option<&'a DumpedTensor>,
    /// The step before it, if the dump is of a run, and those after it.
    pub(crate) before: Option<&'a Dump>,
    pub(crate) later: &'a [Dump],
    /// In a comparison with a reference: all rows, and the candidate's judgement by itself.
    pub(crate) compared: Option<(&'a Rows, &'a Judgement)>,
}

impl Finding<'_> {
    /// The results of the other two passes.
    pub(crate) fn read(&self) -> Divergence {
        let name = self.row.name;
        Divergence {
            tensor: name,
            verdict: self.row.verdict,
            operation: reading::operation_of(self).map(|operation| operation.formula),
            reading: reading::describe(self),
            pattern: self.pattern(),
        }
    }

    /// A mistake that explains the tensor, or else a description of its wrong elements.
    fn pattern(&self) -> Option<Pattern> {
        let fault = self.compared.and_then(|(_, own)| own.first_fault.as_ref());
        let own = fault.filter(|fault| fault.tensor == self.row.name);
        let own = own.and_then(|fault| fault.pattern.clone());
        let explained = |pattern: &Pattern| pattern.kind != PatternKind::Unexplained;
        if own.as_ref().is_some_and(explained) {
            return own;
        }
        let found = match self.row.verdict {
            Verdict::Differs => Wrong::new(self)
                .and_then(|wrong| explain::explain(&wrong).or_else(|| describe::places(&wrong))),
            _ => describe::values(self).map(|found| {
                let cause = explain::not_finite(self).map(|cause| format!(": {cause}"));
                Pattern { text: found.text + &cause.unwrap_or_default(), ..found }
            }),
        };
        found.filter(|found| own.is_none() || explained(found)).or(own)
    }
}

/// The numbers of a tensor that differs, in the shape it should have.
pub(crate) struct Wrong<'a> {
    pub(crate) name: TensorName,
    pub(crate) shape: &'a [usize],
    pub(crate) expected: &'a [f64],
    pub(crate) candidate: &'a [f64],
    pub(crate) bounds: &'a [f64],
    pub(crate) finding: &'a Finding<'a>,
    pub(crate) chain: &'a Chain<'a>,
}

impl<'a> Wrong<'a> {
    pub(crate) fn new(finding: &'a Finding<'a>) -> Option<Self> {
        let Finding { row, context, expected, .. } = finding;
        let expected = (*expected)?;
        Some(Self {
            name: row.name,
            shape: &expected.shape,
            expected: &expected.data,
            candidate: &context.candidate.get(row.name)?.data,
            bounds: context.bounds.get(&row.name)?,
            finding,
            chain: context.chain.as_ref()?,
        })
    }

    /// The elements outside of their bounds.
    pub(crate) fn outside(&self) -> Vec<usize> {
        let elements = self.expected.iter().zip(self.candidate).zip(self.bounds).enumerate();
        let is_outside = |(i, ((&e, &c), &bound))| (!within(e, c, bound)).then_some(i);
        elements.filter_map(is_outside).collect()
    }
}
