//! The kernels of a rung, loaded: the file of PTX goes to the driver as text, the driver's compiler
//! makes code of it for the card that is there, and a kernel is found in it by its name.
#![allow(unsafe_code, reason = "nothing checks that a kernel has these parameters")]

use std::sync::Arc;

use cudarc::driver::{CudaModule, LaunchConfig};
use gpu::{Buffer, Function, Gpu, Launcher, Profiler, Read, Result, Write, launch};

use crate::Rung;

/// The loaded modules of a rung: its own file of PTX, and the file with the rest of its kernels.
pub(crate) struct Loader<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) launcher: Launcher,
    own: Arc<CudaModule>,
    rest: Arc<CudaModule>,
}

impl<'a> Loader<'a> {
    /// Loads `ptx`, which is the text of the rung's file or a variant of it.
    pub(crate) fn new(gpu: &'a Gpu, rung: Rung, ptx: &str, profiler: &Profiler) -> Result<Self> {
        let own = gpu.module(rung.row().name, ptx)?;
        let rest = match rung.row().rest {
            Some(rest) => gpu.module(rest.row().name, rest.row().ptx)?,
            None => Arc::clone(&own),
        };
        Ok(Self { gpu, launcher: Launcher::new(gpu, profiler), own, rest })
    }

    /// A kernel of the rung's own file.
    pub(crate) fn own<P>(&self, name: &'static str) -> Result<Function<P>> {
        self.function(&self.own, name)
    }

    /// A kernel that several rungs share.
    pub(crate) fn rest<P>(&self, name: &'static str) -> Result<Function<P>> {
        self.function(&self.rest, name)
    }

    fn function<P>(&self, module: &Arc<CudaModule>, name: &'static str) -> Result<Function<P>> {
        // SAFETY: each rung's Rust file has the types of its kernels' parameters, and its launches declare
        // all accesses, except those through the table of layers, which `State` writes.
        Ok(unsafe { self.launcher.watched(module.load_function(name)?, name) })
    }
}

/// A kernel, and its launcher.
pub(crate) struct On<P> {
    pub(crate) launcher: Launcher,
    pub(crate) kernel: Function<P>,
}

impl<P> On<P> {
    pub(crate) fn load(from: &Loader<'_>, name: &'static str) -> Result<Self> {
        Ok(Self { launcher: from.launcher.clone(), kernel: from.own(name)? })
    }

    /// The same kernel under another name in errors and profiles.
    pub(crate) fn called(&self, name: &'static str) -> Self {
        Self { launcher: self.launcher.clone(), kernel: self.kernel.called(name) }
    }
}

/// The kernel `update` of a rung.
pub(crate) struct Update {
    launcher: Launcher,
    update: Function<(Write, Read, u32, f32)>,
    /// Elements that a thread updates.
    of_a_thread: u32,
}

impl Update {
    /// Threads of a block.
    const THREADS: u32 = 256;

    pub(crate) fn load(from: &Loader<'_>, of_a_thread: u32) -> Result<Self> {
        Ok(Self { launcher: from.launcher.clone(), update: from.rest("update")?, of_a_thread })
    }

    /// `w -= learning_rate · dw`, element by element; `w` is a weight matrix or a bias vector.
    pub(crate) fn update(&self, w: &mut Buffer, dw: &Buffer, learning_rate: f32) -> Result<()> {
        let elements = w.len() as u32;
        let blocks = elements.div_ceil(self.of_a_thread * Self::THREADS);
        // The kernel also reads `w`; a profile of this level counts its bytes once.
        launch!(self.update, grid(blocks, 1, Self::THREADS), flops[2 * elements],
            write w[elements], read dw[elements], elements, learning_rate)
    }
}

/// This many blocks of this many threads.
pub(crate) const fn grid(columns: u32, rows: u32, threads: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (columns, rows, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 }
}
