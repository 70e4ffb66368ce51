//! Plans: how a training step is split into blocks on the rungs whose blocks wait for each other.

use std::iter::successors;

use cudarc::driver::LaunchConfig;
use gpu::launch::grid;
use tensor::Network;

use crate::Rung;

/// The preferred number of samples in a chunk. Chunks are larger if the device can't hold all blocks at once.
const CHUNK_SAMPLES: usize = 32;
/// The number of units that are computed together.
const UNITS_TOGETHER: usize = 4;
/// The maximum number of elements in a layer's partial sums over the chunks, because the kernel counts them in 32 bits.
const MAX_PARTIAL_SUMS: usize = 1 << 30;

/// The grid of `step` in `ptx/one_launch.ptx`, and of `steps` in `ptx/whole_epoch.ptx`: the batch is split into
/// `chunks` of samples, the units of every layer into `groups`, and there is a block for each pair of a chunk and a
/// group. The default plan, for all other rungs, has no blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Chunks of samples.
    pub chunks: usize,
    /// Groups of units.
    pub groups: usize,
    /// For each layer, the number of units in a group: a multiple of 4. The last group may have fewer units.
    pub per: Vec<usize>,
    /// Whether the weights of the hidden layers are copied to shared memory.
    pub on_chip: bool,
    /// A block's dynamic shared memory in bytes.
    pub shared: usize,
}

impl Plan {
    /// The number of threads in a block.
    pub const THREADS: usize = 256;

    /// A plan for a rung whose blocks wait for each other, so that all of them have to be on the device at once.
    /// `shared` is the maximum shared memory of a block in bytes, and `resident` returns how many blocks with a given
    /// amount of shared memory can be on the device at once.
    ///
    /// Returns `None` if not even the smallest grid fits. For `whole-epoch`, also returns `None` if the weights of the
    /// hidden layers don't fit: on that rung, every block keeps the weights of its units on chip, and computes all
    /// samples of a batch.
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
            // The plan with shared memory for the batch's row numbers added.
            let with_rows = |plan: Self| Self { shared: plan.shared + 4 * batch, ..plan };
            return Self::plans_in_chunks(network, batch, 1, true).map(with_rows).find(fits);
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
            chunks
                .iter()
                .flat_map(move |chunks| Self::plans_in_chunks(network, batch, *chunks, on_chip))
        });
        plans.find(fits)
    }

    /// All plans with this number of chunks, from groups of four units up to a single group.
    fn plans_in_chunks(
        network: &Network,
        batch: usize,
        chunks: usize,
        on_chip: bool,
    ) -> impl Iterator<Item = Self> {
        let (units, last) = (&network.sizes[1..], network.layers() - 1);
        // The last layer isn't split into groups of units, so its width only matters if it is the only layer.
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

    /// The number of blocks in the grid.
    #[must_use]
    pub const fn blocks(&self) -> usize {
        self.chunks * self.groups
    }
}

/// The number of elements in a layer's partial sums over the chunks of a batch, `[chunks, n, m]` and `[chunks, n]`.
pub(crate) const fn partial_sums(chunks: usize, m: usize, n: usize) -> usize {
    n.saturating_mul(m + 1).saturating_mul(chunks)
}
