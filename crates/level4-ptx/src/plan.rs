//! Plans: how a training step is split into blocks on the rungs whose blocks wait for each other.

use std::iter::successors;

use tensor::Network;

/// Samples in a chunk, unless the device can't hold that number of blocks.
const CHUNK: usize = 32;
/// The number of units that are computed together.
const FOUR: usize = 4;
/// The most elements of a layer's sums over the chunks, because the kernel counts them in 32 bits.
const MAX_PARTIAL_SUMS: usize = 1 << 30;

/// The grid of `step` in `ptx/one_launch.ptx`, and of `steps` in `ptx/whole_epoch.ptx`: the batch is split into
/// `chunks` of samples, the units of every layer into `groups`, and each pair has a block.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// A plan for `ptx/one_launch.ptx`. `shared` is the shared memory that a block can have, in bytes, and
    /// `resident` returns how many blocks with a given amount of it can be on the device at once. All blocks have
    /// to be there at once, because they wait for each other.
    ///
    /// `None` if not even the smallest grid fits.
    #[must_use]
    pub fn new(
        network: &Network,
        batch: usize,
        shared: usize,
        resident: &mut dyn FnMut(usize) -> usize,
    ) -> Option<Self> {
        let widest = Self::groups_of_four(network);
        let all = successors(Some(batch.div_ceil(CHUNK)), |n| (*n > 1).then(|| n.div_ceil(2)));
        let is_countable = |chunks: &usize| {
            let mut layers = network.sizes.windows(2);
            *chunks <= 1 || layers.all(|n| partial_sums(*chunks, n[0], n[1]) <= MAX_PARTIAL_SUMS)
        };
        let chunks: Vec<usize> = all.filter(is_countable).collect();
        // Prefer weights on chip; then many chunks; then small groups.
        for on_chip in [true, false] {
            for &chunks in &chunks {
                for fours in 1..=widest {
                    let groups = widest.div_ceil(fours);
                    let plan = Self::cut(network, batch, chunks, groups, on_chip);
                    if plan.shared <= shared && plan.blocks() <= resident(plan.shared) {
                        return Some(plan);
                    }
                }
            }
        }
        None
    }

    /// A plan for `ptx/whole_epoch.ptx`, with parameters as for [`new`](Self::new): every block keeps the weights
    /// of its units on chip and computes all samples of a batch, whose row numbers it also keeps there.
    ///
    /// `None` if the weights of the hidden layers don't fit.
    #[must_use]
    pub fn for_epoch(
        network: &Network,
        batch: usize,
        shared: usize,
        resident: &mut dyn FnMut(usize) -> usize,
    ) -> Option<Self> {
        let widest = Self::groups_of_four(network);
        let mut plans = (1..=widest).map(|fours| {
            let mut plan = Self::cut(network, batch, 1, widest.div_ceil(fours), true);
            plan.shared += 4 * batch;
            plan
        });
        plans.find(|plan| plan.shared <= shared && plan.blocks() <= resident(plan.shared))
    }

    /// The largest number of groups: one for every four units of the widest hidden layer. The last layer is computed by
    /// whole samples, so its units only matter if it is the only layer.
    fn groups_of_four(network: &Network) -> usize {
        let units = &network.sizes[1..];
        let hidden = &units[..units.len() - 1];
        hidden.iter().max().or(units.last()).map_or(1, |n| n.div_ceil(FOUR))
    }

    fn cut(network: &Network, batch: usize, chunks: usize, groups: usize, on_chip: bool) -> Self {
        let units = &network.sizes[1..];
        let per: Vec<usize> =
            units.iter().map(|n| n.div_ceil(FOUR).div_ceil(groups) * FOUR).collect();
        let widest = per.iter().max().copied().unwrap_or_default();
        let tile = widest * batch.div_ceil(chunks);
        let hidden = per.iter().zip(&network.sizes).take(units.len() - 1);
        let weights: usize = hidden.map(|(per, m)| per * m).sum();
        let shared = 4 * (tile + if on_chip { weights } else { 0 });
        Self { chunks, groups, per, on_chip, shared }
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
