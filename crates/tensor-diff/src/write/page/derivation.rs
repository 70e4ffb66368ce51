//! The derivation of a tensor's bound, in a sentence.

use tensor::{Dtype, Dump, TensorName};

use crate::chain::operation::{Rule, operation};
use crate::chain::{is_given, layers};
use crate::judge::rounding::Rounding;

/// The bound of a tensor's errors in words.
pub(crate) fn derivation(name: TensorName, candidate: &Dump, reference: Option<&Dump>) -> String {
    use TensorName::{A, B, BNext, Da, Db, Dw, Dz, Loss, P, W, WNext, X, Y, Z};
    let rounding = match reference {
        Some(reference) => Rounding::between(&reference.header, &candidate.header),
        None => Rounding::of_one(&candidate.header),
    };
    let length = |name, axis: usize| {
        let shape = &candidate.get(name).or_else(|| reference?.get(name))?.shape;
        shape.get(axis).copied()
    };
    let batch = length(X, 0).unwrap_or(0);
    let last = layers(candidate).max(reference.map_or(0, layers));
    let gamma = |n: usize| format!("γ({n}) = {:.2e}", rounding.gamma(n));
    // The roundings and the bound of a sum with this number of terms.
    let sum = |terms: usize| {
        let Some(Rule::Sum(sum)) = operation(name, last, None).map(|found| found.rule) else {
            return String::new();
        };
        let n = sum.roundings(terms);
        let rounded = match candidate.header.dtype {
            _ if sum.right.is_none() => "",
            Dtype::Tf32 => ", the factors rounded to TF32 and their sums cut off",
            Dtype::Bf16 => ", the factors rounded to bfloat16 and their sums cut off",
            Dtype::F32 | Dtype::F64 => "",
        };
        format!("γ({n}) = {:.2e}{rounded}", sum.relative(terms, &rounding))
    };
    let own = match name {
        _ if is_given(name) && candidate.header.step == 0 => {
            return "given: bit for bit the same".into();
        }
        X | Y => return "given: bit for bit the same".into(),
        W(_) | B(_) if reference.is_none() => {
            return "bit for bit as the step before left it".into();
        }
        W(_) | B(_) => {
            return "the largest difference that the updates before may have left".into();
        }
        Z(l) => {
            let k = length(W(l), 1).unwrap_or(0);
            format!("{} times (Σ|a|·|w| + |b|), over {k} terms", sum(k))
        }
        A(_) => "relu rounds nothing".into(),
        P => "some units in the last place of exp and of the division".into(),
        Loss => format!(
            "some units in the last place of exp and log, and {} of the sum",
            gamma(batch * length(Y, 1).unwrap_or(0) + 3)
        ),
        Dz(l) if l == last => format!("{} times |p − y| / B", gamma(5)),
        Dz(_) => "relu_backward rounds nothing; where z is within its own bound of zero, all of da"
            .into(),
        Dw(_) => format!("{} times Σ|dz|·|a|, over a batch of {batch}", sum(batch)),
        Db(_) => format!("{} times Σ|dz|, over a batch of {batch}", sum(batch)),
        Da(l) => {
            let k = length(W(l + 1), 0).unwrap_or(0);
            format!("{} times Σ|dz|·|w|, over {k} units", sum(k))
        }
        WNext(_) | BNext(_) => {
            format!("{} times lr·|gradient|, and one rounding of the difference", gamma(5))
        }
    };
    if reference.is_some() {
        format!("{own}; and the difference of the two dumps' inputs, carried through the operation")
    } else {
        own
    }
}
