//! Checks of the memory and the file size that a command needs, made before it begins.

use tensor::{Dump, Network};

use crate::{Error, Preset, Result};

/// The size of an element in a level's memory, in bytes.
const ELEMENT_BYTES: u128 = size_of::<f32>() as u128;
/// The bytes that an element takes while it is dumped: in the level's memory, as read from the level, and as `f64`.
const DUMPED_ELEMENT_BYTES: u128 = 2 * ELEMENT_BYTES + size_of::<f64>() as u128;

/// Checks that the parameters of a run fit into memory four times: the initial parameters, the level's parameters,
/// their gradients, and the last parameters that were all finite.
///
/// # Errors
/// [`Error::Memory`] if they don't.
pub(super) fn check_training(network: &Network) -> Result<()> {
    check(network, "parameters", 4 * ELEMENT_BYTES * network.parameter_count() as u128)
}

/// Checks that every tensor of one step fits into memory.
///
/// # Errors
/// As [`check_training`].
pub(super) fn check_dump(preset: &Preset, samples: usize) -> Result<()> {
    let network = &preset.network;
    let batch = preset.batch_size.min(samples) as u128;
    // The elements are: z, a, dz and da of each layer, and x twice (in the data set and as the loaded batch).
    let units: u128 = network.sizes[1..].iter().map(|&units| 4 * units as u128).sum();
    let elements = batch * (units + 2 * network.inputs() as u128);
    let parameters = 4 * network.parameter_count() as u128;
    check(network, "tensors", DUMPED_ELEMENT_BYTES * (elements + parameters))
}

/// The minimum number of bytes of a number in the text of a dump: a digit and a comma.
const WRITTEN: u128 = 2;

/// Checks that a file of several dumps is small enough to be read back. The estimate only counts the parameters of each
/// dump and, unless `inputs_only` is set, the updated parameters.
///
/// # Errors
/// If the file would have more than [`Dump::MOST_BYTES`].
pub(super) fn check_run(network: &Network, steps: usize, inputs_only: bool) -> Result<()> {
    let numbers = network.parameter_count() as u128 * if inputs_only { 1 } else { 2 };
    let (bytes, most) = (steps as u128 * WRITTEN * numbers, u128::from(Dump::MOST_BYTES));
    if steps == 1 || bytes <= most {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "--steps {steps} of the network {network} would write more than {bytes} bytes, and a dump of more \
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
