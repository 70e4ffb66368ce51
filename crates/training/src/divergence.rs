//! Finding where training left the finite numbers.
//!
//! Looking at every tensor after every batch would cost more than the training. So the loop only
//! looks at the loss and the parameters when it reports anyway, and keeps the parameters of the
//! last time they were good. When something is not finite, the batches since then are gone over
//! again, phase by phase, with all tensors looked at, and the first one to go is named.

use data::Dataset;
use tensor::{Tensor, TensorName};

use crate::train::{epoch_order, parameters};
use crate::{Error, Level, Parameters, Preset, Result};

/// The last good state, and the batches trained since.
pub(crate) struct Since<'a> {
    /// Parameters that were all finite.
    pub parameters: &'a Parameters,
    /// The first batch that they have not seen.
    pub first: usize,
    /// The batch trained last.
    pub last: usize,
}

/// Returns the level's parameters when they and the loss are finite, and otherwise the error that
/// names the batch and the tensor in which it was first not so.
pub(crate) fn check(
    level: &mut dyn Level,
    preset: &Preset,
    train: &Dataset,
    loss: f32,
    since: Since<'_>,
) -> Result<Parameters> {
    let now = parameters(level, &preset.network)?;
    let bad = now.layers.iter().zip(1..).find_map(|(layer, l)| {
        let bad = |tensor: &Tensor| tensor.first_non_finite().is_some();
        let weights = bad(&layer.w).then_some(TensorName::W(l));
        weights.or_else(|| bad(&layer.b).then_some(TensorName::B(l)))
    });
    let what = match bad {
        _ if !loss.is_finite() => TensorName::Loss,
        Some(name) => name,
        None => return Ok(now),
    };
    Err(locate(level, preset, train, &since)?.unwrap_or(Error::NonFiniteOnce {
        first: since.first,
        last: since.last,
        what,
    }))
}

/// Goes over the batches again and names the first tensor that is not finite.
fn locate(
    level: &mut dyn Level,
    preset: &Preset,
    train: &Dataset,
    since: &Since<'_>,
) -> Result<Option<Error>> {
    level.set_parameters(since.parameters)?;
    let per_epoch = epoch_order(preset, train.len(), 0).batches();
    let names = preset.network.tensor_names();
    for index in since.first..=since.last {
        let epoch = index / per_epoch;
        let order = epoch_order(preset, train.len(), epoch);
        level.load(&order.batch(train, index % per_epoch), None)?;
        level.forward()?;
        level.backward()?;
        let error = |tensor, found: (Vec<usize>, f32)| Error::NonFinite {
            batch: index,
            epoch: epoch + 1,
            tensor,
            index: found.0,
            value: found.1,
            learning_rate: preset.learning_rate,
        };
        for &name in &names {
            let found = match name {
                TensorName::WNext(_) | TensorName::BNext(_) => None,
                TensorName::Loss => Some(Tensor::scalar(level.loss()?)),
                _ => level.tensor(name)?,
            };
            if let Some(found) = found.as_ref().and_then(first_non_finite) {
                return Ok(Some(error(name, found)));
            }
        }
        level.update(preset.learning_rate)?;
        for &name in &names {
            let now = match name {
                TensorName::WNext(l) => level.tensor(TensorName::W(l))?,
                TensorName::BNext(l) => level.tensor(TensorName::B(l))?,
                _ => None,
            };
            if let Some(found) = now.as_ref().and_then(first_non_finite) {
                return Ok(Some(error(name, found)));
            }
        }
    }
    Ok(None)
}

/// The index, axis by axis, and the value of the first element that is not finite.
fn first_non_finite(tensor: &Tensor) -> Option<(Vec<usize>, f32)> {
    let mut flat = tensor.first_non_finite()?;
    let value = tensor.data()[flat];
    let mut index = vec![0; tensor.shape().len()];
    for (position, &length) in index.iter_mut().zip(tensor.shape()).rev() {
        *position = flat % length;
        flat /= length;
    }
    Some((index, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_named_by_its_index_on_every_axis() {
        let mut tensor = Tensor::zeros([2, 3, 4]);
        tensor.data_mut()[4 * 3 + 2 * 4 + 1] = f32::INFINITY;
        assert_eq!(first_non_finite(&tensor), Some((vec![1, 2, 1], f32::INFINITY)));
        let (index, value) = first_non_finite(&Tensor::scalar(f32::NAN)).unwrap();
        assert!(index.is_empty() && value.is_nan());
    }
}
