//! The trait [`DeviceLevel`]: what a level needs so that it can be one of several ranks.

use data::Batch;
use gpu::{Buffer, Gpu, Launcher, Layer};
use tensor::Network;
use training::{Level, Result};

/// Called during a backward pass with `l` and the layers from `l` on, when the kernels that make `dw`
/// and `db` of layer `l` are in the stream. It puts work into this and other streams, and is called
/// again only if the level puts its own work there again, not if it replays a graph.
pub type Finished<'a> = &'a mut dyn FnMut(usize, &mut [Layer]) -> Result<()>;

/// A level whose gradients are on a device, layer by layer.
pub trait DeviceLevel: Level {
    /// The device.
    fn gpu(&self) -> &Gpu;

    /// The stream of the level's kernels, and what records them.
    fn launcher(&self) -> &Launcher;

    /// The network.
    fn network(&self) -> &Network;

    /// The layers, first to last.
    fn layers(&mut self) -> &mut [Layer];

    /// As [`load`](Level::load), of some of the samples of a larger batch: gradients are divided by
    /// `whole`, and not by the number of samples that are loaded.
    ///
    /// # Errors
    /// If the device reports an error.
    fn load_share(
        &mut self,
        share: &Batch<'_>,
        next: Option<&Batch<'_>>,
        whole: usize,
    ) -> Result<()>;

    /// As [`backward`](Level::backward), and reports each layer whose gradients are finished.
    ///
    /// # Errors
    /// If the device or `finished` reports an error.
    fn backward_with(&mut self, finished: Finished<'_>) -> Result<()>;

    /// As [`step`](Level::step), likewise. The update waits for what `finished` has made this stream
    /// wait for.
    ///
    /// # Errors
    /// If the device or `finished` reports an error.
    fn step_with(&mut self, learning_rate: f32, finished: Finished<'_>) -> Result<()>;

    /// The sum of the losses of all samples that are loaded, on the device, `[1]`.
    ///
    /// # Errors
    /// If the device reports an error.
    fn loss_sum(&mut self) -> Result<&mut Buffer>;

    /// The loss, as the preset prints it, from the sum over this many samples.
    fn mean_loss(&self, sum: f32, samples: usize) -> f32;
}
