//! The kernels of a rung, loaded: the file of PTX goes to the driver as text, the driver's compiler
//! makes code of it for the card that is there, and a kernel is found in it by its name.
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use gpu::{Buffer, Gpu, GpuError, Launcher, Profiler, Result, Work, size};

use crate::cooperative::Cooperative;
use crate::one_launch::OneLaunch;
use crate::thread_per_sample::ThreadPerSample;
use crate::tiled::{Tiled, Tiles};
use crate::whole_epoch::WholeEpoch;
use crate::{Plan, Rung};

/// The kernels of a rung.
pub(crate) enum Kernels {
    ThreadPerSample(ThreadPerSample),
    Tiled(Tiled),
    OneLaunch(OneLaunch),
    WholeEpoch(WholeEpoch),
}

impl Kernels {
    /// Loads a rung's file.
    pub(crate) fn load(gpu: &Gpu, rung: Rung, ptx: &str, profiler: &Profiler) -> Result<Self> {
        let own = module(gpu, rung, ptx)?;
        let rest = rung
            .rest()
            .map_or_else(|| Ok(Arc::clone(&own)), |rest| module(gpu, rest, rest.ptx()))?;
        let watched = |module: &Arc<CudaModule>, name: &'static str| {
            let function = module.load_function(name)?;
            profiler.watch(name, &function);
            Ok::<CudaFunction, GpuError>(function)
        };
        let find = |name| watched(&own, name);
        let find_rest = |name| watched(&rest, name);
        let on = Launcher::new(gpu, profiler);
        Ok(match rung {
            Rung::ThreadPerSample => Self::ThreadPerSample(ThreadPerSample {
                forward: find("forward")?,
                backward: find("backward")?,
                forward_backward: find("forward_backward")?,
                update: Update::new(find("update")?, 1, &on),
                on,
            }),
            Rung::Tiled
            | Rung::TensorCores
            | Rung::Bf16
            | Rung::ThreeTf32
            | Rung::RegisterTiles => Self::Tiled(Tiled {
                forward_layer: find("forward_layer")?,
                gradient: find("gradient")?,
                backward_layer: find("backward_layer")?,
                output: find_rest("output")?,
                sum_batch: find_rest("sum_batch")?,
                update: Update::new(find_rest("update")?, 4, &on),
                tiles: Tiles::of(rung),
                on,
            }),
            Rung::OneLaunch => {
                let cut = |network: &_, batch, shared, resident: &mut dyn FnMut(usize) -> usize| {
                    Plan::new(network, batch, shared, resident)
                };
                Self::OneLaunch(OneLaunch(Cooperative::new(gpu, find("step")?, cut, on)?))
            }
            Rung::WholeEpoch => {
                let cut = |network: &_, batch, shared, resident: &mut dyn FnMut(usize) -> usize| {
                    Plan::of_an_epoch(network, batch, shared, resident)
                };
                let together = Cooperative::new(gpu, find("steps")?, cut, on)?;
                Self::WholeEpoch(WholeEpoch::new(together)?)
            }
        })
    }
}

/// A file of PTX, loaded.
fn module(gpu: &Gpu, rung: Rung, ptx: &str) -> Result<Arc<CudaModule>> {
    if let Ok(module) = gpu.context().load_module(Ptx::from_src(ptx)) {
        return Ok(module);
    }
    // Once more, by the way that asks the driver's compiler what it has to say.
    Err(match gpu.function(rung.name(), ptx) {
        Err(error) => error,
        Ok(_) => GpuError::NoKernel(rung.name().into()),
    })
}

/// The kernel `update` of a rung.
pub(crate) struct Update {
    kernel: CudaFunction,
    /// Elements that a thread updates.
    of_a_thread: usize,
    on: Launcher,
}

impl Update {
    /// Threads of a block.
    const THREADS: usize = 256;

    fn new(kernel: CudaFunction, of_a_thread: usize, on: &Launcher) -> Self {
        Self { kernel, of_a_thread, on: on.clone() }
    }

    /// `w -= learning_rate · dw`, element by element; `w` is a weight matrix or a bias vector.
    pub(crate) fn update(&self, w: &mut Buffer, dw: &Buffer, learning_rate: f32) -> Result<()> {
        let elements = w.len();
        let buffers = [("w", elements, size([elements])), ("dw", dw.len(), size([elements]))];
        let work = Work::new("update", &buffers, size([2, elements]))?;
        let count = elements as u32;
        let mut launch = self.on.stream.launch_builder(&self.kernel);
        launch.arg(w).arg(dw).arg(&count).arg(&learning_rate);
        let blocks = elements.div_ceil(self.of_a_thread * Self::THREADS);
        // SAFETY: these are the kernel's parameters, and it stays within the sizes just checked.
        unsafe { self.on.launch(launch, grid((blocks, 1), Self::THREADS), work) }
    }
}

/// This many blocks of this many threads.
pub(crate) const fn grid(blocks: (usize, usize), threads: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (blocks.0 as u32, blocks.1 as u32, 1),
        block_dim: (threads as u32, 1, 1),
        shared_mem_bytes: 0,
    }
}
