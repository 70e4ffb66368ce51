//! Plans: how a training step is split into blocks on the rungs whose blocks wait for each other.

use std::iter::successors;

use cudarc::driver::LaunchConfig;
use gpu::launch::grid;
use tensor::Network;

use crate::Rung;

/// Samples in a chunk, unless the device can't hold that number of blocks.
const CHUNK_SAMPLES: usize = 32;
/// The number of units that are computed together.
const UNITS_TOGETHER: usize = 4;
/// The most elements of a layer's sums over the chunks, because the kernel counts them in 32 bits.
const MAX_PARTIAL_SUMS: usize = 1 << 30;

/// The grid of `step` in `ptx/one_launch.ptx`, and of `steps` in `ptx/whole_epoch.ptx`: the batch is split into
/// `chunks` of samples, the units of every layer into `groups`, and each pair has a block. The default is the
/// plan of the other rungs, which has no blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Chunks of samples.
    pub chunks: usize,
    /// Groups of units.
    pub groups: usize,
    /// For each layer the units of a group, a multiple of 4; the last group may have fewer.
    pub per: Vec<usize>,
    /// Whether the weights of the hidden layers are copied to shared memory.
    pub on_chip: bool,
    /// Bytes of dynamic shared memory of a block.
    pub shared: usize,
}

impl Plan {
    /// Threads of a block.
    pub const THREADS: usize = 256;

    /// A plan for a rung whose blocks wait for each other, so that all of them have to be on the device at once.
    /// `shared` is the shared memory that a block can have, in bytes, and `resident` returns how many blocks with
    /// a given amount of it can be on the device at once.
    ///
    /// `None` if not even the smallest grid fits, or if the weights of the hidden layers have to fit and don't:
    /// on `whole-epoch`, every block keeps those of its units on chip and computes all samples of a batch.
    #[must_use]
    pub fn new(
        rung: Rung,
        network: &Network,
        batch: usize,
        shared: usize,
        resident: &mut dyn FnMut(usize) -> usize,
    ) -> Option<Self> {
        let fits = |plan: &Self| plan.shared <= shared && plan.blocks() <= resident(plan.shared);
        if rung == Rung::WholeEpoch {
            // The row numbers of the batch are on chip, too.
            let with_rows = |plan: Self| Self { shared: plan.shared + 4 * batch, ..plan };
            return Self::cuts(network, batch, 1, true).map(with_rows).find(fits);
        }
        let all =
            successors(Some(batch.div_ceil(CHUNK_SAMPLES)), |n| (*n > 1).then(|| n.div_ceil(2)));
        let is_countable = |chunks: &usize| {
            let mut layers = network.sizes.windows(2);
            *chunks <= 1 || layers.all(|n| partial_sums(*chunks, n[0], n[1]) <= MAX_PARTIAL_SUMS)
        };
        let chunks: Vec<usize> = all.filter(is_countable).collect();
        // Prefer weights on chip; then many chunks; then small groups.
        let mut plans = [true, false].into_iter().flat_map(|on_chip| {
            chunks.iter().flat_map(move |chunks| Self::cuts(network, batch, *chunks, on_chip))
        });
        plans.find(fits)
    }

    /// The plans with this number of chunks, from groups of four units to a single group.
    fn cuts(
        network: &Network,
        batch: usize,
        chunks: usize,
        on_chip: bool,
    ) -> impl Iterator<Item = Self> {
        let (units, last) = (&network.sizes[1..], network.layers() - 1);
        // The last layer is computed by whole samples, so its units only matter if it is the only layer.
        let widest = units[..last].iter().max().unwrap_or(&units[last]).div_ceil(UNITS_TOGETHER);
        (1..=widest).map(move |fours| {
            let groups = widest.div_ceil(fours);
            let per: Vec<usize> = units
                .iter()
                .map(|n| n.div_ceil(UNITS_TOGETHER).div_ceil(groups) * UNITS_TOGETHER)
                .collect();
            let tile = per.iter().max().copied().unwrap_or_default() * batch.div_ceil(chunks);
            let hidden = per.iter().zip(&network.sizes).take(last);
            let weights: usize = hidden.map(|(per, m)| per * m).sum();
            let shared = 4 * (tile + if on_chip { weights } else { 0 });
            Self { chunks, groups, per, on_chip, shared }
        })
    }

    /// The grid of a launch.
    pub(crate) const fn grid(&self) -> LaunchConfig {
        let shared_mem_bytes = self.shared as u32;
        LaunchConfig { shared_mem_bytes, ..grid(self.blocks() as u32, 1, Self::THREADS as u32) }
    }

    /// Blocks of the grid.
    #[must_use]
    pub const fn blocks(&self) -> usize {
        self.chunks * self.groups
    }
}

/// The number of elements of a layer's sums over the chunks of a batch, `[chunks, n, m]` and `[chunks, n]`.
pub(crate) const fn partial_sums(chunks: usize, m: usize, n: usize) -> usize {
    n.saturating_mul(m + 1).saturating_mul(chunks)
}
