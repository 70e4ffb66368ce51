//! The derivation of a tensor's bound, in a sentence.

use tensor::{Dtype, Dump, TensorName};

use crate::chain::layers;
use crate::chain::operation::{Rule, operation};
use crate::judge::rounding::Rounding;

/// The bound of a tensor's errors in words.
pub(crate) fn derivation(name: TensorName, candidate: &Dump, reference: Option<&Dump>) -> String {
    use TensorName::{A, B, BNext, Da, Db, Dw, Dz, Loss, P, W, WNext, X, Y, Z};
    let rounding = Rounding::new(reference.map(|dump| &dump.header), &candidate.header);
    let length = |name, axis: usize| {
        let tensor = candidate.get(name).or_else(|| reference?.get(name));
        tensor.and_then(|tensor| tensor.shape.get(axis)).copied().unwrap_or(0)
    };
    let batch = length(X, 0);
    let last = layers(candidate).max(reference.map_or(0, layers));
    let gamma = |n: usize| format!("γ({n}) = {:.2e}", rounding.gamma(n));
    let sum = |terms: usize, of: &str, over: &str| {
        let Some(Rule::Sum(sum)) = operation(name, last, None).map(|made| made.rule) else {
            return String::new();
        };
        let n = sum.roundings(terms);
        let rounded = match candidate.header.dtype {
            _ if sum.right.is_none() => "",
            Dtype::Tf32 => ", the factors rounded to TF32 and their sums cut off",
            Dtype::Bf16 => ", the factors rounded to bfloat16 and their sums cut off",
            Dtype::F32 | Dtype::F64 => "",
        };
        let relative = sum.relative(terms, &rounding);
        format!("γ({n}) = {relative:.2e}{rounded} times {of}, over {over}")
    };
    let over_batch = |of: &str| sum(batch, of, &format!("a batch of {batch}"));
    let own = match name {
        _ if name.is_given() && candidate.header.step == 0 => {
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
            let k = length(W(l), 1);
            sum(k, "(Σ|a|·|w| + |b|)", &format!("{k} terms"))
        }
        A(_) => "relu rounds nothing".into(),
        P => "some units in the last place of exp and of the division".into(),
        Loss => format!(
            "some units in the last place of exp and log, and {} of the sum",
            gamma(batch * length(Y, 1) + 3)
        ),
        Dz(l) if l == last => format!("{} times |p − y| / B", gamma(5)),
        Dz(_) => "relu_backward rounds nothing; where z is within its own bound of zero, all of da"
            .into(),
        Dw(_) => over_batch("Σ|dz|·|a|"),
        Db(_) => over_batch("Σ|dz|"),
        Da(l) => {
            let k = length(W(l + 1), 0);
            sum(k, "Σ|dz|·|w|", &format!("{k} units"))
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
