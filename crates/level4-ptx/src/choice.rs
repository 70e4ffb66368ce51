//! Which rungs a device can run with a network and a size of batches, and which of them
//! `--kernels auto` takes.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use gpu::{Gpu, Profiler};
use tensor::{Dtype, Network};
use training::{Error, Result};

use crate::kernels::Loader;
use crate::{Rung, countable_batch, runs_on};

/// What `--kernels` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// This rung.
    One(Rung),
    /// The best of those that the device can run.
    Auto,
}

impl Default for Choice {
    fn default() -> Self {
        Self::One(Rung::default())
    }
}

impl Choice {
    /// What is computed in: `auto` stays with single precision.
    pub(crate) fn dtype(self) -> Dtype {
        match self {
            Self::One(rung) => rung.row().dtype,
            Self::Auto => Dtype::F32,
        }
    }
}

impl ValueEnum for Choice {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [Choice; Rung::ALL.len() + 1] = {
            let mut all = [Choice::Auto; Rung::ALL.len() + 1];
            let mut i = 0;
            while i < Rung::ALL.len() {
                all[i] = Choice::One(Rung::ALL[i]);
                i += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::One(rung) => rung.to_possible_value(),
            Self::Auto => Some(PossibleValue::new("auto").help(
                "Whichever rung of single precision suits the network, the batch and the device",
            )),
        }
    }
}

/// How a device would run a rung: what a training step is made of.
///
/// # Errors
/// Why it can't.
fn how(gpu: &Gpu, network: &Network, batch: usize, rung: Rung) -> Result<String> {
    runs_on(gpu, rung)?;
    countable_batch(network, batch)?;
    let row = rung.row();
    if let Some((once, each_layer)) = row.launches {
        return Ok(format!("{} launches a step", once + each_layer * network.layers()));
    }
    let mut launches = (row.load)(&Loader::new(gpu, rung, row.ptx, &Profiler::off())?)?;
    let many = launches.at_once() > 1;
    let plan = launches.plan(network, batch)?;
    let plan = plan.ok_or_else(|| Error::level(format!("{rung} has no plan")))?;
    let launch = if many { "many steps a launch" } else { "1 launch a step" };
    let weights = if plan.on_chip { "weights on chip" } else { "weights in global memory" };
    let (blocks, bytes) = (plan.blocks(), plan.shared);
    Ok(format!("{launch}, {blocks} blocks of {bytes} bytes of shared memory, {weights}"))
}

/// The rung that `--kernels auto` takes: the last one that suits the network and the batch and that the
/// device can run. With a small network and small batches, most time goes into launches, and into
/// fetching the weights again for every step. `whole-epoch` saves both if the weights fit on chip.
///
/// # Errors
/// If not even the second rung can run, with the reason.
pub(crate) fn choose(gpu: &Gpu, network: &Network, batch: usize) -> Result<Rung> {
    let runs =
        |rung: &Rung| (rung.row().suits)(network, batch) && how(gpu, network, batch, *rung).is_ok();
    match Rung::ALL.into_iter().rfind(runs) {
        Some(rung) => Ok(rung),
        None => how(gpu, network, batch, Rung::Tiled).map(|_| Rung::Tiled),
    }
}

/// A line for each rung, whether the device can run it and how or why not, and what `auto` takes.
///
/// # Errors
/// When no rung that `auto` knows can run.
pub(crate) fn plan(gpu: &Gpu, network: &Network, batch: usize) -> Result<Vec<String>> {
    let mut lines = vec![format!("{network}, batches of {batch}, on {}", gpu.device())];
    for rung in Rung::ALL {
        lines.push(match how(gpu, network, batch, rung) {
            Ok(how) => format!("{rung:<17}  yes  {how}"),
            Err(why) => format!("{rung:<17}  no   {why}"),
        });
    }
    lines.push(format!("{:<17}  {}", "auto", choose(gpu, network, batch)?));
    Ok(lines)
}
