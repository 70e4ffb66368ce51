//! Correct steps to inject faults into, and accessors of a comparison's result.

use tensor::{DumpedTensor, Loss, TensorName};
use tensor_diff::{Comparison, PatternKind};

use super::{Start, diff, explain, tensor_mut};

/// Starts with every loss, two and three layers, odd sizes, a batch of one, and a batch as large as the output.
pub(crate) fn starts() -> Vec<Start> {
    let mut starts = Vec::new();
    for (seed, loss) in (1..).zip(Loss::ALL) {
        starts.push(Start::new(&[13, 7, 5], 6, loss, seed));
        starts.push(Start::new(&[11, 9, 8, 3], 4, loss, seed + 10));
        starts.push(Start::new(&[13, 7, 5], 1, loss, seed + 20));
        starts.push(Start::new(&[31, 17, 10], 10, loss, seed + 30));
    }
    starts
}

/// Injects a fault into each tensor of each dump in turn; `spoil` returns false if it changes nothing.
/// Returns how many faults were injected.
pub(crate) fn each_tensor(
    spoil: impl Fn(&mut DumpedTensor) -> bool,
    expect: impl Fn(&Start, TensorName, &Comparison) -> bool,
) -> usize {
    let mut injected = 0;
    for start in starts() {
        let (reference, clean) = (start.reference(), start.candidate());
        for name in clean.tensors.iter().map(|tensor| tensor.name) {
            let mut candidate = clean.clone();
            if !spoil(tensor_mut(&mut candidate, name)) || candidate == clean {
                continue;
            }
            injected += 1;
            let found = diff(&reference, &candidate);
            assert!(!found.agrees(), "{name} of {:?} {} was not caught", start.sizes, start.loss);
            assert_eq!(first(&found), name, "{}", explain(&found));
            assert!(
                expect(&start, name, &found),
                "{name} of {:?}, batch {}, {}: {}",
                start.sizes,
                start.batch,
                start.loss,
                explain(&found)
            );
        }
    }
    injected
}

pub(crate) fn first(found: &Comparison) -> TensorName {
    found.first_divergence.as_ref().unwrap().tensor
}

pub(crate) fn kind(found: &Comparison) -> Option<PatternKind> {
    found.first_divergence.as_ref().unwrap().pattern.as_ref().map(|pattern| pattern.kind)
}

pub(crate) fn text(found: &Comparison) -> &str {
    &found.first_divergence.as_ref().unwrap().pattern.as_ref().unwrap().text
}

pub(crate) fn given(name: TensorName) -> bool {
    matches!(name, TensorName::X | TensorName::Y | TensorName::W(_) | TensorName::B(_))
}
