//! The memory and the room in a file that a command needs, checked before it begins.

use tensor::{Dump, Network};

use crate::{Error, Preset, Result};

/// Bytes of an element where a level computes.
const SINGLE: u128 = size_of::<f32>() as u128;
/// Bytes of an element on its way into a dump: where it is computed, read back, and as `f64`.
const DUMPED: u128 = 2 * SINGLE + size_of::<f64>() as u128;

/// Sees that the parameters of a run fit into memory: as they were drawn, those of the level, their
/// gradients, and those that were finite last.
///
/// # Errors
/// When they don't, with both numbers.
pub(super) fn of_training(network: &Network) -> Result<()> {
    check(network, "parameters", 4 * SINGLE * network.parameter_count() as u128)
}

/// Sees that every tensor of one step fits into memory.
///
/// # Errors
/// As [`of_training`].
pub(super) fn of_dump(preset: &Preset, samples: usize) -> Result<()> {
    let network = &preset.network;
    let batch = preset.batch_size.min(samples) as u128;
    // z, a, dz and da of each layer; x beside them, as it was drawn and as it is loaded.
    let units: u128 = network.sizes[1..].iter().map(|&units| 4 * units as u128).sum();
    let elements = batch * (units + 2 * network.inputs() as u128);
    let parameters = 4 * network.parameter_count() as u128;
    check(network, "tensors", DUMPED * (elements + parameters))
}

/// Bytes of a number in the text of a dump, at least: a digit and a comma.
const WRITTEN: u128 = 2;

/// Sees that a run of dumps can be read back, as far as that is certain before the first step: each
/// dump has the parameters, and unless `inputs_only`, those after the step.
///
/// # Errors
/// When the run would have more than [`Dump::MOST_BYTES`].
pub(super) fn of_run(network: &Network, steps: usize, inputs_only: bool) -> Result<()> {
    let numbers = network.parameter_count() as u128 * if inputs_only { 1 } else { 2 };
    let (bytes, most) = (steps as u128 * WRITTEN * numbers, u128::from(Dump::MOST_BYTES));
    if steps == 1 || bytes <= most {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "--steps {steps} of the network {network} has more than {bytes} bytes, and a dump of more \
         than {most} bytes can't be read back: dump fewer steps, or a smaller network with --sizes"
    )))
}

fn check(network: &Network, what: &str, bytes: u128) -> Result<()> {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    host::memory::check(bytes).map_err(|shortage| Error::Memory {
        what: format!("holding the {what} of the network {network}"),
        shortage,
    })
}
