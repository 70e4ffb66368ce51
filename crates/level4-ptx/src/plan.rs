//! How the rungs whose blocks wait for each other cut a training step into blocks.

use gpu::Layer;
use tensor::Network;

/// Samples in a chunk, unless the device has no room for this many blocks.
const CHUNK: usize = 32;
/// Units are computed four at a time.
const FOUR: usize = 4;
/// Elements that the kernel counts, in 32 bits, in a layer's sums over the chunks.
const COUNTED: usize = 1 << 30;

/// The grid of `step` in `ptx/one_launch.ptx`, and of `steps` in `ptx/whole_epoch.ptx`: the batch is cut into `chunks` of samples, the units
/// of every layer into `groups`, and there is one block for each pair.
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
        mut resident: impl FnMut(usize) -> usize,
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
    pub fn of_an_epoch(
        network: &Network,
        batch: usize,
        shared: usize,
        mut resident: impl FnMut(usize) -> usize,
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
    pub(crate) const fn partial_sums<B>(&self, layer: &Layer<B>) -> usize {
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

#[cfg(test)]
mod tests {
    use tensor::Loss;

    use super::*;

    fn network(sizes: &[usize]) -> Network {
        Network { sizes: sizes.into(), loss: Loss::CrossEntropy }
    }

    #[test]
    fn the_default_network_is_cut_both_ways() {
        let plan = Plan::new(&network(&[784, 30, 10]), 256, 48 << 10, |_| 1000).unwrap();
        assert_eq!((plan.chunks, plan.groups, plan.blocks()), (8, 8, 64));
        assert_eq!((&plan.per[..], plan.on_chip), (&[4, 4][..], true));
        assert_eq!(plan.shared, 4 * (4 * 784 + 4 * 32));
    }

    #[test]
    fn a_device_with_little_room_gets_fewer_and_larger_blocks() {
        let plan = |room| Plan::new(&network(&[784, 1024, 10]), 32, 48 << 10, |_| room).unwrap();
        assert_eq!((plan(1000).groups, plan(1000).on_chip), (256, true));
        assert_eq!((plan(100).groups, plan(100).per[0], plan(100).on_chip), (86, 12, true));
        assert_eq!((plan(8).blocks(), plan(8).per[0], plan(8).on_chip), (8, 128, false));
        assert_eq!(Plan::new(&network(&[784, 30, 10]), 256, 48 << 10, |_| 0), None);
        assert_eq!(Plan::new(&network(&[784, 30, 10]), 256, 64, |_| 9), None);
    }

    #[test]
    fn partial_sums_are_no_more_than_the_kernel_counts() {
        let plan = |batch| Plan::new(&network(&[784, 50_000, 10]), batch, 1 << 40, |_| 1 << 40);
        // 785 * 50,000 * 16 elements, below 2^30; twice as many are not.
        assert_eq!(plan(512).unwrap().chunks, 16);
        assert_eq!(plan(1024).unwrap().chunks, 16);
        assert_eq!(plan(4096).unwrap().chunks, 16);
    }

    #[test]
    fn an_epoch_keeps_all_weights_on_chip_or_is_not_planned() {
        let plan =
            |sizes: &[usize], room| Plan::of_an_epoch(&network(sizes), 64, 100 << 10, |_| room);
        let roomy = plan(&[784, 128, 10], 132).unwrap();
        assert_eq!((roomy.chunks, roomy.groups, &roomy.per[..]), (1, 32, &[4, 4][..]));
        assert_eq!(roomy.shared, 4 * (4 * 784 + 4 * 64 + 64));
        let tight = plan(&[784, 128, 10], 8).unwrap();
        assert_eq!((tight.groups, &tight.per[..]), (8, &[16, 4][..]));
        // Four units of 784 numbers are 12.5 kB, and a block has 100.
        assert_eq!(plan(&[784, 1024, 10], 8), None);
        assert_eq!(plan(&[784, 1024, 10], 132).unwrap().groups, 128);
    }

    #[test]
    fn one_layer_alone_is_cut_by_its_outputs() {
        let plan = Plan::new(&network(&[784, 10]), 64, 48 << 10, |_| 1000).unwrap();
        assert_eq!((plan.chunks, plan.groups, plan.per[0]), (2, 3, 4));
        assert_eq!(plan.shared, 4 * 4 * 32);
    }
}
