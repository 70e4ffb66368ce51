//! Which rungs a device can run with a network and a size of batches, and which of them
//! `--kernels auto` takes.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use gpu::{Gpu, Profiler};
use tensor::{Dtype, Network};
use training::{Error, Result};

use crate::kernels::Kernels;
use crate::{Rung, countable_batch, planned, runs_on};

/// What `--kernels` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// This rung.
    One(Rung),
    /// The best of those that the device can run.
    Auto,
}

/// Results along the side of a tile of `register-tiles`: what is smaller is mostly padding.
const TILE: usize = 64;
/// Samples that a block of `whole-epoch` takes, all of a batch, before more blocks would pay.
const FEW: usize = 64;

impl Default for Choice {
    fn default() -> Self {
        Self::One(Rung::default())
    }
}

impl Choice {
    /// What is computed in: `auto` stays with single precision.
    pub(crate) const fn dtype(self) -> Dtype {
        match self {
            Self::One(rung) => rung.dtype(),
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
    let layers = network.layers();
    let launches = |launches| format!("{launches} launches a step");
    match rung {
        // Forward and backward at once, and an update for each parameter.
        Rung::ThreadPerSample => return Ok(launches(1 + 2 * layers)),
        // For each layer a product forward and two backward, but for the gradient of the images; the
        // sums for its biases, and two updates; and the output.
        Rung::Tiled | Rung::RegisterTiles | Rung::TensorCores | Rung::Bf16 | Rung::ThreeTf32 => {
            return Ok(launches(6 * layers));
        }
        Rung::OneLaunch | Rung::WholeEpoch => {}
    }
    let mut kernels =
        Kernels::load(gpu, rung, rung.ptx(), &Profiler::default()).map_err(Error::level)?;
    let plan = planned(&mut kernels, network, batch)?.cloned();
    let plan = plan.ok_or_else(|| Error::level(format!("{rung} has no plan")))?;
    let launch = if rung == Rung::WholeEpoch { "many steps a launch" } else { "1 launch a step" };
    let weights = if plan.on_chip { "weights on chip" } else { "weights in global memory" };
    let (blocks, bytes) = (plan.blocks(), plan.shared);
    Ok(format!("{launch}, {blocks} blocks of {bytes} bytes of shared memory, {weights}"))
}

/// The rung that `--kernels auto` takes. What a small network with small batches pays is launches, and
/// weights that are fetched again for every step: this many steps in a launch, where the weights fit on
/// chip. There a block takes all samples of a batch; more samples than a few are shared out better by
/// one launch a step, and products that fill tiles are computed from tiles.
///
/// # Errors
/// When not even the second rung can run, with the reason.
pub(crate) fn choose(gpu: &Gpu, network: &Network, batch: usize) -> Result<Rung> {
    let hidden = &network.sizes[1..network.sizes.len() - 1];
    let fills = batch >= TILE && !hidden.is_empty() && hidden.iter().all(|units| *units >= TILE);
    let epoch = (batch <= FEW).then_some(Rung::WholeEpoch);
    let tiles = fills.then_some(Rung::RegisterTiles);
    let wanted = [epoch, tiles, Some(Rung::OneLaunch)];
    if let Some(rung) =
        wanted.into_iter().flatten().find(|rung| how(gpu, network, batch, *rung).is_ok())
    {
        return Ok(rung);
    }
    how(gpu, network, batch, Rung::Tiled).map(|_| Rung::Tiled)
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
