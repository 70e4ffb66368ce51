//! The trait [`DeviceLevel`], which a level implements to be one of several ranks.

use data::Batch;
use gpu::{Buffer, Gpu, Launcher, Layer};
use tensor::Network;
use training::{Level, Result};

/// A callback of the backward pass. A level calls it with `l` and the layers from `l` on, once the kernels that compute
/// `dw` and `db` of layer `l` are in the stream. The callback enqueues work in this stream and in others. A level that
/// replays a graph doesn't call it again, because the graph contains that work.
pub type Finished<'a> = &'a mut dyn FnMut(usize, &mut [Layer]) -> Result<()>;

/// A level that keeps its gradients on a device, in one buffer for each tensor of a layer. Methods fail if
/// the device or a callback reports an error.
pub trait DeviceLevel: Level {
    /// The device.
    fn gpu(&self) -> &Gpu;

    /// The stream of the level's kernels, with the profiler that records them.
    fn launcher(&self) -> &Launcher;

    /// The network.
    fn network(&self) -> &Network;

    /// The layers, first to last.
    fn layers(&mut self) -> &mut [Layer];

    /// As [`load`](Level::load), for a share of a larger batch: gradients are divided by `whole`
    /// instead of by the number of loaded samples.
    fn load_share(
        &mut self,
        share: &Batch<'_>,
        next: Option<&Batch<'_>>,
        whole: usize,
    ) -> Result<()>;

    /// As [`backward`](Level::backward), and calls `finished` each time a layer's gradients have been enqueued.
    fn backward_with(&mut self, finished: Finished<'_>) -> Result<()>;

    /// As [`step`](Level::step), and calls `finished` each time a layer's gradients have been enqueued. If `finished`
    /// makes the level's stream wait for other work, such as an all-reduce, the update waits for it too.
    fn step_with(&mut self, learning_rate: f32, finished: Finished<'_>) -> Result<()>;

    /// The sum of the losses of all loaded samples, on the device, `[1]`.
    fn loss_sum(&mut self) -> Result<&mut Buffer>;

    /// The loss that the preset prints, computed from the sum of the losses of `samples` samples.
    fn mean_loss(&self, sum: f32, samples: usize) -> f32;
}
