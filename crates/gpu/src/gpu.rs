//! The GPU that a process computes on.
#![allow(
    unsafe_code,
    reason = "loading a library runs its initialisers, and kernels do what they like"
)]

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaContext, CudaFunction, CudaModule, CudaStream};
use cudarc::nvrtc::Ptx;

use crate::choice::{self, Choice, Decision};
use crate::kernels::Kernel;
use crate::probe::{self, DetectedGpu, EMULATED, Unusable, dotted};
use crate::{Compiler, GpuError, Result, install, jit_log, source};

/// An open GPU, with cudarc's own types to compute on it.
#[derive(Clone, Debug)]
pub struct Gpu {
    context: Arc<CudaContext>,
    driver: Driver,
    compiler: Option<Compiler>,
    kernels: Option<PathBuf>,
}

/// The driver of the process. It can't be changed, because cudarc keeps the library that it opens at its first call.
#[derive(Clone, Debug)]
struct Driver {
    /// The device's name in dumps and reports.
    device: String,
    /// Whether this is the emulated driver.
    emulated: bool,
    /// The reason why `--device auto` fell back to the emulated driver.
    instead: Option<Unusable>,
}

static CHOSEN_DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

fn device_count() -> Result<usize> {
    Ok(usize::try_from(CudaContext::device_count()?).unwrap_or(0))
}

/// Opens the context of a device. Fails if there are fewer than `count` devices.
fn context(ordinal: usize, count: usize) -> Result<Arc<CudaContext>> {
    if count > 1 {
        let there = device_count()?;
        if there < count {
            return Err(GpuError::Devices { there, asked: count });
        }
    }
    Ok(CudaContext::new(ordinal)?)
}

/// Whether this process computes on the emulated GPU.
pub(crate) fn is_emulated() -> bool {
    let chosen = CHOSEN_DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
    chosen.as_ref().is_some_and(|driver| driver.emulated)
}

impl Gpu {
    /// Opens the first GPU. The first call chooses the driver for the whole process.
    ///
    /// # Errors
    /// [`GpuError::NoGpu`] if a real GPU was requested and none can be used; [`GpuError::AlreadyChosen`] if the
    /// process already uses the other driver; [`GpuError::NoEmulator`] if the emulated driver is missing;
    /// the driver's error.
    pub fn open(choice: Choice) -> Result<Self> {
        Self::open_one(choice, 0, 1)
    }

    /// Opens one of `count` GPUs, counted from 0. The first call sets the number of devices of the emulated
    /// driver to `count`, unless `EMULATED_GPU_DEVICES` sets it.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`GpuError::Devices`] if there are fewer devices.
    pub fn open_one(choice: Choice, ordinal: usize, count: usize) -> Result<Self> {
        let mut chosen = CHOSEN_DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = &*chosen {
            if choice != Choice::Auto && driver.emulated != (choice == Choice::Emulated) {
                return Err(GpuError::AlreadyChosen(driver.device.clone()));
            }
            let (driver, context) = (driver.clone(), context(ordinal, count)?);
            return Ok(Self { context, driver, compiler: None, kernels: None });
        }
        let decision = choice::decide(choice, probe::probe)?;
        if let Decision::Emulated(_) = decision {
            // SAFETY: it is this workspace's driver, which replaces NVIDIA's.
            unsafe { install::load_emulated(emulated_cuda::library_path()) }?;
        }
        if count > 1 && matches!(decision, Decision::Emulated(_) | Decision::EmulatedAlready) {
            install::emulated_devices(count)?;
        }
        // No function of cudarc may be called before this line.
        let context = context(ordinal, count)?;
        // The device's name shows which driver cudarc has really loaded.
        let name = context.name()?;
        let is_emulated = name.starts_with(EMULATED);
        let emulated = name.replacen(EMULATED, "emulated", 1);
        let (device, instead) = match decision {
            Decision::Real(DetectedGpu { name, capability, driver }) if !is_emulated => {
                let (capability, driver) = (dotted(&capability), dotted(&driver));
                (format!("{name} (compute capability {capability}, driver of CUDA {driver})"), None)
            }
            Decision::Emulated(instead) if is_emulated => (emulated, instead),
            _ if is_emulated && choice == Choice::Auto => (emulated, Some(Unusable::Emulated)),
            _ if is_emulated => return Err(GpuError::NoGpu(Unusable::Emulated)),
            // Another part of the program called cudarc before.
            _ => return Err(GpuError::AlreadyChosen(name)),
        };
        let driver = Driver { device, emulated: is_emulated, instead };
        *chosen = Some(driver.clone());
        Ok(Self { context, driver, compiler: None, kernels: None })
    }

    /// The number of GPUs that the driver shows.
    ///
    /// # Errors
    /// The driver's error.
    pub fn count(&self) -> Result<usize> {
        device_count()
    }

    /// Sets the compiler for this GPU's kernels. `None` means NVIDIA's compiler, with the built-in one as the fallback
    /// for edited kernels.
    #[must_use]
    pub const fn compiling_by(mut self, compiler: Option<Compiler>) -> Self {
        self.compiler = compiler;
        self
    }

    /// Replaces the kernels by the kernels in this folder, which must contain a source for every kernel.
    ///
    /// # Safety
    /// Levels launch these kernels with the arguments of the original kernels. A kernel can read and write any memory;
    /// the emulated GPU checks each access.
    #[must_use]
    pub unsafe fn with_kernels(mut self, folder: PathBuf) -> Self {
        self.kernels = Some(folder);
        self
    }

    /// The device's name in dumps and reports: `emulated (…)`, or the card's name with its
    /// compute capability and driver.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.driver.device
    }

    /// Whether this is the emulated GPU.
    #[must_use]
    pub const fn is_emulated(&self) -> bool {
        self.driver.emulated
    }

    /// Checks that the device has the compute capability `least` (major and minor) that an option needs. `option` is
    /// that option as the user writes it, such as `--products wmma`; the error message recommends the option `instead`.
    ///
    /// # Errors
    /// [`training::Error::Usage`] if the compute capability is lower; the driver's error.
    pub fn require(
        &self,
        least: (i32, i32),
        option: &str,
        instead: Option<&str>,
    ) -> training::Result<()> {
        let found = self.context.compute_capability().map_err(GpuError::from)?;
        if found >= least {
            return Ok(());
        }
        let instead = instead.map(|instead| format!(": choose {instead}")).unwrap_or_default();
        Err(training::Error::Usage(format!(
            "{option} needs compute capability {}, but {} has {}{instead}",
            dotted(&least),
            self.device(),
            dotted(&found)
        )))
    }

    /// The reason why `--device auto` fell back to the emulated GPU; `None` if it didn't.
    #[must_use]
    pub const fn why_not_real(&self) -> Option<&Unusable> {
        self.driver.instead.as_ref()
    }

    /// cudarc's handle of the device's primary context.
    #[must_use]
    pub const fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// The default stream.
    #[must_use]
    pub fn stream(&self) -> Arc<CudaStream> {
        self.context.default_stream()
    }

    /// Loads a kernel of the folder `kernels`: the PTX next to the source or, if the source was edited or the
    /// built-in compiler was chosen, newly compiled PTX. Users who can write to that folder are trusted like the
    /// author of the program.
    ///
    /// # Errors
    /// [`GpuError::NoKernel`] if there is no such kernel; an error of the compiler for an edited source; the
    /// driver's error.
    pub fn kernel(&self, name: &str) -> Result<CudaFunction> {
        self.kernel_of(name, name)
    }

    /// Loads a function of a file with several functions.
    ///
    /// # Errors
    /// As [`kernel`](Self::kernel).
    pub fn kernel_of(&self, file: &str, function: &str) -> Result<CudaFunction> {
        let kernel = Kernel::find(file).ok_or_else(|| GpuError::NoKernel(file.into()))?;
        self.function(function, &source::ptx(&kernel, self.compiler, self.kernels.as_deref())?)
    }

    /// Loads the function `name` from PTX text.
    ///
    /// # Errors
    /// [`GpuError::Load`] with the messages of the driver's compiler.
    pub fn function(&self, name: &str, ptx: &str) -> Result<CudaFunction> {
        let module = self.module(name, ptx)?;
        let missing = |source| GpuError::Load { name: name.into(), source, log: String::new() };
        module.load_function(name).map_err(missing)
    }

    /// Loads PTX text, which may have several functions; `name` is for messages.
    ///
    /// # Errors
    /// [`GpuError::Load`] with the messages of the driver's compiler.
    pub fn module(&self, name: &str, ptx: &str) -> Result<Arc<CudaModule>> {
        self.context.load_module(Ptx::from_src(ptx)).map_err(|source| {
            let log = jit_log::messages(&self.context, ptx);
            GpuError::Load { name: name.into(), source, log }
        })
    }

    /// Loads a CUDA library other than the driver, such as `cublas`, so that cudarc uses it: NVIDIA's library for a
    /// real GPU, the file `emulated` for the emulated GPU. Must be called before cudarc's first call of that library,
    /// because cudarc panics if the library is missing.
    ///
    /// # Errors
    /// [`GpuError::NoLibrary`] or [`GpuError::NoEmulator`] if the library is missing.
    ///
    /// # Safety
    /// The file `emulated`, which is only loaded for the emulated GPU, has initialisers that may run in any process,
    /// and functions with the types that cudarc declares for those of `library`.
    pub unsafe fn install_library(
        &self,
        library: &str,
        emulated: std::result::Result<PathBuf, impl fmt::Display>,
    ) -> Result<()> {
        if !self.is_emulated() {
            return install::load_nvidia(library);
        }
        // SAFETY: as the caller promises.
        unsafe { install::load_emulated(emulated) }
    }
}
