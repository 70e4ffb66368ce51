//! Divergence: finds the first tensor of a training run with a value that is not finite.
//!
//! Checking every tensor after every batch would take longer than the training. So the loop only checks the loss and
//! the parameters when it reports, and keeps a copy of the last parameters that were all finite. If a check fails, the
//! batches since that copy are replayed from it phase by phase, and every tensor is checked.

use data::Dataset;
use tensor::{Tensor, TensorName};

use crate::dump::{is_updated, read};
use crate::train::{epoch_order, parameters};
use crate::{Error, Level, Parameters, Preset, Result};

/// The last parameters that were all finite, and the range of batches trained since then.
pub(crate) struct FiniteParameters<'a> {
    /// The last parameters that were all finite.
    pub parameters: &'a Parameters,
    /// The first batch that was trained from these parameters.
    pub first: usize,
    /// The batch that was trained last.
    pub last: usize,
}

/// Returns the level's parameters if they and the loss are finite.
///
/// # Errors
/// [`Error::NonFinite`] with the first batch and tensor that are not finite; [`Error::NonFiniteOnce`] if all tensors
/// are finite in the replay.
pub(crate) fn check(
    level: &mut dyn Level,
    preset: &Preset,
    train: &Dataset,
    loss: f32,
    since: FiniteParameters<'_>,
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

/// Replays the batches, and returns the error that names the first tensor that is not finite.
fn locate(
    level: &mut dyn Level,
    preset: &Preset,
    train: &Dataset,
    since: &FiniteParameters<'_>,
) -> Result<Option<Error>> {
    level.set_parameters(since.parameters)?;
    let per_epoch = epoch_order(preset, train.len(), 0).batches();
    let names = preset.network.tensor_names();
    for batch in since.first..=since.last {
        let epoch = batch / per_epoch;
        let order = epoch_order(preset, train.len(), epoch);
        level.load(&order.batch(train, batch % per_epoch), None)?;
        level.forward()?;
        level.backward()?;
        for updated in [false, true] {
            if updated {
                level.update(preset.learning_rate)?;
            }
            for &tensor in names.iter().filter(|name| is_updated(name) == updated) {
                let found = read(level, tensor)?;
                if let Some((index, value)) = found.as_ref().and_then(first_non_finite) {
                    let learning_rate = preset.learning_rate;
                    let epoch = epoch + 1;
                    return Ok(Some(Error::NonFinite {
                        batch,
                        epoch,
                        tensor,
                        index,
                        value,
                        learning_rate,
                    }));
                }
            }
        }
    }
    Ok(None)
}

/// The first element that is not finite: its index along each axis, and its value.
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
    fn an_element_has_an_index_on_every_axis() {
        let mut tensor = Tensor::zeros([2, 3, 4]);
        tensor.data_mut()[4 * 3 + 2 * 4 + 1] = f32::INFINITY;
        assert_eq!(first_non_finite(&tensor), Some((vec![1, 2, 1], f32::INFINITY)));
        let (index, value) = first_non_finite(&Tensor::scalar(f32::NAN)).unwrap();
        assert!(index.is_empty() && value.is_nan());
    }
}
