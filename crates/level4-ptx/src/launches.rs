//! The trait [`Launches`]: how a rung launches the phases of a training step. Also the loading of a rung's kernels: the
//! driver gets the PTX file as text, compiles it for the card, and finds a kernel by its name.
#![allow(unsafe_code, reason = "nothing checks that a kernel has these parameters")]

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule};
use data::Batch;
use gpu::launch::grid;
use gpu::phases::Phases;
use gpu::{Function, Gpu, Launcher, Profiler, kernels};
use tensor::Network;
use training::Result;

use crate::state::State;
use crate::{Plan, Rung};

/// The loaded kernels of a rung, with methods that launch them.
pub(crate) trait Launches {
    /// Runs phases of a training step on the loaded batch, with as few launches as the rung allows.
    fn launch(&mut self, state: &mut State, phases: Phases, learning_rate: f32) -> Result<()>;

    /// The plan for batches of this size; empty for rungs whose blocks don't wait for each other.
    ///
    /// # Errors
    /// If the blocks don't all fit onto the device at once.
    fn plan(&self, _: &Network, _batch: usize) -> Result<Plan> {
        Ok(Plan::default())
    }

    /// Runs a training step on each of these batches, in one launch. Returns false and does nothing if
    /// the rung can't do that, or the batches aren't on the device.
    fn steps(&mut self, _: &mut State, _: &[Batch<'_>], _learning_rate: f32) -> Result<bool> {
        Ok(false)
    }
}

/// The kernels of the matrix products. A rung that is based on another rung only has these kernels in its file.
const PRODUCTS: [&str; 3] = ["forward_layer", "gradient", "backward_layer"];

/// The loaded modules of a rung.
pub(crate) struct Loader<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) launcher: Launcher,
    own: Arc<CudaModule>,
    /// The module with the kernels other than the products: another rung's module, or the rung's own if its file has
    /// all kernels.
    rest: Arc<CudaModule>,
}

impl<'a> Loader<'a> {
    /// Loads `ptx`, the text of the rung's file or a variant of it.
    pub(crate) fn new(gpu: &'a Gpu, rung: Rung, ptx: &str, profiler: &Profiler) -> Result<Self> {
        let own = gpu.module(rung.row().name, ptx)?;
        let rest = match rung.row().rest {
            Some(rest) => gpu.module(rest.row().name, rest.row().ptx)?,
            None => Arc::clone(&own),
        };
        Ok(Self { gpu, launcher: Launcher::new(gpu, profiler), own, rest })
    }

    /// Finds a kernel.
    pub(crate) fn find(&self, name: &'static str) -> gpu::Result<CudaFunction> {
        let module = if PRODUCTS.contains(&name) { &self.own } else { &self.rest };
        Ok(module.load_function(name)?)
    }
}

/// A kernel and its launcher.
pub(crate) struct Kernel<P> {
    pub(crate) launcher: Launcher,
    pub(crate) function: Function<P>,
}

impl<P> Kernel<P> {
    pub(crate) fn load(from: &Loader<'_>, name: &'static str) -> gpu::Result<Self> {
        let launcher = from.launcher.clone();
        // SAFETY: each rung's Rust file has the types of its kernels' parameters, and its launches declare
        // all accesses, except those through the table of layers, which `State` writes.
        let function = unsafe { launcher.profiled_function(from.find(name)?, name) };
        Ok(Self { launcher, function })
    }
}

kernels! {
    /// The kernel `update` of a rung.
    pub(crate) struct Update(on) {
        elements_per_thread: u32,
    }

    /// `w -= learning_rate · dw`, element by element; `w` is a weight matrix or a bias vector.
    update = "update"(update w[elements], read dw[elements], elements: u32, learning_rate: f32)
        in grid(elements.div_ceil(on.elements_per_thread * 256), 1, 256), flops[2 * elements];
}

impl Update {
    pub(crate) fn new(from: &Loader<'_>, elements_per_thread: u32) -> Result<Self> {
        // SAFETY: in every rung's file, the kernel `update` has these parameters and stays within both buffers.
        let load = unsafe {
            Self::load(from.launcher.clone(), elements_per_thread, |name| from.find(name))
        };
        Ok(load?)
    }
}
