//! How the rungs whose blocks wait for each other cut a training step into blocks.

use gpu::Layer;
use tensor::Network;

/// Samples in a chunk, unless the device has no room for this many blocks.
const CHUNK: usize = 32;
/// Units are computed four at a time.
const FOUR: usize = 4;
/// Elements that the kernel counts, in 32 bits, in a layer's sums over the chunks.
const COUNTED: usize = 1 << 30;

/// The grid of `step` in `ptx/one_launch.ptx`, and of `steps` in `ptx/whole_epoch.ptx`: the batch is cut into
/// `chunks` of samples, the units of every layer into `groups`, and there is one block for each pair.
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

    /// Plans for a batch on a device on which a block has `shared` bytes of shared memory, and
    /// `resident(bytes)` blocks of this many bytes can be on the device at once: they wait for each
    /// other, so none may be left out.
    ///
    /// None where not even the smallest grid fits.
    #[must_use]
    pub fn new(
        network: &Network,
        batch: usize,
        shared: usize,
        resident: &mut dyn FnMut(usize) -> usize,
    ) -> Option<Self> {
        let widest = Self::fours(network);
        // On chip if at all possible; then as many chunks as there may be; then groups as small as
        // can be.
        for on_chip in [true, false] {
            let mut chunks = batch.div_ceil(CHUNK);
            while chunks > 1 && partial_sums(network, chunks) > COUNTED {
                chunks = chunks.div_ceil(2);
            }
            loop {
                for fours in 1..=widest {
                    let groups = widest.div_ceil(fours);
                    let plan = Self::cut(network, batch, chunks, groups, on_chip);
                    if plan.shared <= shared && plan.blocks() <= resident(plan.shared) {
                        return Some(plan);
                    }
                }
                if chunks <= 1 {
                    break;
                }
                chunks = chunks.div_ceil(2);
            }
        }
        None
    }

    /// Plans for launches of many batches: every block keeps the weights of its units on chip, and
    /// takes all samples of a batch, whose places in the set it keeps there too.
    ///
    /// None where the weights of the hidden layers don't fit on the device.
    #[must_use]
    pub fn for_epoch(
        network: &Network,
        batch: usize,
        shared: usize,
        resident: &mut dyn FnMut(usize) -> usize,
    ) -> Option<Self> {
        let widest = Self::fours(network);
        let mut plans = (1..=widest).map(|fours| {
            let mut plan = Self::cut(network, batch, 1, widest.div_ceil(fours), true);
            plan.shared += 4 * batch;
            plan
        });
        plans.find(|plan| plan.shared <= shared && plan.blocks() <= resident(plan.shared))
    }

    /// How many groups there may be: as many as the widest layer has units, four to a group. The last
    /// layer is computed by whole samples, so that its units matter only where it is the only one.
    fn fours(network: &Network) -> usize {
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

    /// The elements of a layer's sums over the chunks of a batch.
    pub(crate) const fn partial_sums(&self, layer: &Layer) -> usize {
        self.chunks * layer.outputs * (layer.inputs + 1)
    }

    /// Blocks of the grid.
    #[must_use]
    pub const fn blocks(&self) -> usize {
        self.chunks * self.groups
    }
}

/// The elements of `[chunks, n, m]` and `[chunks, n]` in the layer that has most of them.
fn partial_sums(network: &Network, chunks: usize) -> usize {
    let layers = network.sizes.windows(2);
    let each = layers.map(|size| size[1].saturating_mul(size[0] + 1).saturating_mul(chunks));
    each.max().unwrap_or_default()
}
