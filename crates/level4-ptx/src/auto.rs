//! Which rungs a device can run with a network and a batch size, and which rung `--kernels auto` chooses.

use std::iter::once;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use gpu::{Gpu, Profiler};
use tensor::Network;
use training::{Error, Result};

use crate::Rung;
use crate::launches::Loader;

/// The parser of `--kernels`: a rung, or `None` for `auto`.
pub(crate) fn parser() -> impl TypedValueParser<Value = Option<Rung>> {
    let auto = PossibleValue::new("auto")
        .help("Whichever rung of single precision suits the network, the batch and the device");
    let rungs = Rung::ALL.iter().filter_map(ValueEnum::to_possible_value);
    PossibleValuesParser::new(rungs.chain(once(auto))).map(|name| Rung::from_str(&name, false).ok())
}

/// Fails if the card is too old for the rung.
pub(crate) fn check_card(gpu: &Gpu, rung: Rung) -> Result<()> {
    let instead = rung.row().rest.map(|rest| format!("--kernels {rest}"));
    gpu.require(rung.row().least_capability, &format!("--kernels {rung}"), instead.as_deref())
}

/// Fails if a weight matrix, or a batch in some layer, has more elements than the kernels can address: they count
/// elements of a buffer in 32 bits, and some kernels count bytes in 32 bits.
pub(crate) fn check_sizes(network: &Network, batch: usize) -> Result<()> {
    let weights = network.sizes.windows(2).map(|n| n[0].saturating_mul(n[1]));
    let rows = network.sizes.iter().map(|units| units.saturating_mul(batch));
    for (owner, elements) in [("a weight matrix", weights.max()), ("a batch", rows.max())] {
        if let Some(elements) = elements.filter(|elements| *elements > 1 << 30) {
            return Err(Error::Usage(format!(
                "{owner} would have {elements} elements, and the kernels count up to 2^30: make the \
                 layers or the batch smaller"
            )));
        }
    }
    Ok(())
}

/// A description of how the device would run a rung: the launches of a training step.
///
/// # Errors
/// If the device can't run the rung. The error is the reason.
fn describe(gpu: &Gpu, network: &Network, batch: usize, rung: Rung) -> Result<String> {
    check_card(gpu, rung)?;
    check_sizes(network, batch)?;
    let row = rung.row();
    if let Some((once, each_layer)) = row.launches {
        return Ok(format!("{} launches a step", once + each_layer * network.layers()));
    }
    let launches = (row.load)(&Loader::new(gpu, rung, row.ptx, &Profiler::off())?)?;
    let launch = if rung.at_once(true) > 1 { "many steps a launch" } else { "1 launch a step" };
    let plan = launches.plan(network, batch)?;
    let weights = if plan.on_chip { "weights on chip" } else { "weights in global memory" };
    let (blocks, bytes) = (plan.blocks(), plan.shared);
    Ok(format!("{launch}, {blocks} blocks of {bytes} bytes of shared memory, {weights}"))
}

/// The rung that `--kernels auto` chooses: the last rung that suits the network and the batch, and that the device can
/// run. With a small network and small batches, most time is spent on launches and on loading the weights again for
/// every step. `whole-epoch` saves both if the weights fit on chip.
///
/// # Errors
/// If not even the second rung can run. The error is the reason.
pub(crate) fn choose(gpu: &Gpu, network: &Network, batch: usize) -> Result<Rung> {
    let runs = |rung: &Rung| {
        (rung.row().suits)(network, batch) && describe(gpu, network, batch, *rung).is_ok()
    };
    match Rung::ALL.into_iter().rfind(runs) {
        Some(rung) => Ok(rung),
        None => describe(gpu, network, batch, Rung::Tiled).map(|_| Rung::Tiled),
    }
}

/// A line for each rung: how the device would run it, or why it can't. The last line is the choice of `auto`.
///
/// # Errors
/// If none of the rungs that `auto` considers can run.
pub(crate) fn plan(gpu: &Gpu, network: &Network, batch: usize) -> Result<Vec<String>> {
    let mut lines = vec![format!("{network}, batches of {batch}, on {}", gpu.device())];
    lines.extend(Rung::ALL.map(|rung| match describe(gpu, network, batch, rung) {
        Ok(launches) => format!("{rung:<17}  yes  {launches}"),
        Err(reason) => format!("{rung:<17}  no   {reason}"),
    }));
    lines.push(format!("{:<17}  {}", "auto", choose(gpu, network, batch)?));
    Ok(lines)
}
