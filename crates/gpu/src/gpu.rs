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
use crate::probe::{self, EMULATED, Unusable, dotted};
use crate::{Compiler, GpuError, Result, install, jit_log, source};

/// The first GPU of the driver that was chosen, with cudarc's own types to compute on it.
#[derive(Clone, Debug)]
pub struct Gpu {
    context: Arc<CudaContext>,
    driver: Driver,
    compiler: Option<Compiler>,
    kernels: Option<PathBuf>,
}

/// Which driver the process computes through. It is chosen once: cudarc opens the library at its
/// first call, and keeps it.
#[derive(Clone, Debug)]
struct Driver {
    /// The device, as dumps and reports name it.
    device: String,
    /// Whether it is the emulated one.
    emulated: bool,
    /// Why it is not the real one, where that was not asked for.
    instead: Option<Unusable>,
}

static CHOSEN: Mutex<Option<Driver>> = Mutex::new(None);

/// The context of one of at least `count` devices.
fn context(ordinal: usize, count: usize) -> Result<Arc<CudaContext>> {
    if count > 1 {
        let there = usize::try_from(CudaContext::device_count()?).unwrap_or(0);
        if there < count {
            return Err(GpuError::Devices { there, asked: count });
        }
    }
    Ok(CudaContext::new(ordinal)?)
}

/// Whether this process computes on the emulated GPU.
pub(crate) fn is_emulated() -> bool {
    let chosen = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
    chosen.as_ref().is_some_and(|driver| driver.emulated)
}

impl Gpu {
    /// Opens the GPU. The first call decides for the whole process which driver it has.
    ///
    /// # Errors
    /// When the real GPU was asked for and can't be used, with the reason; when another choice was
    /// made before; when the emulated GPU's library is missing; and what the driver says.
    pub fn open(choice: Choice) -> Result<Self> {
        Self::open_one(choice, 0, 1)
    }

    /// Opens one of several GPUs, counted from 0: there have to be `count` of them. The emulated
    /// driver has as many as it is asked for the first time, unless `EMULATED_GPU_DEVICES` says.
    ///
    /// # Errors
    /// As [`open`](Self::open), and when there are fewer.
    pub fn open_one(choice: Choice, ordinal: usize, count: usize) -> Result<Self> {
        let mut chosen = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = &*chosen {
            let other = match choice {
                Choice::Auto => false,
                Choice::Cuda => driver.emulated,
                Choice::Emulated => !driver.emulated,
            };
            if other {
                return Err(GpuError::AlreadyChosen { device: driver.device.clone() });
            }
            let (driver, context) = (driver.clone(), context(ordinal, count)?);
            return Ok(Self { context, driver, compiler: None, kernels: None });
        }
        let decision = choice::decide(choice, probe::probe)?;
        if let Decision::Emulated(_) = decision {
            let missing = |reason: emulated_cuda::NotFound| reason.to_string();
            let path = emulated_cuda::library_path().map_err(missing);
            let path = path.map_err(|reason| GpuError::NoEmulator { reason })?;
            // SAFETY: it is this workspace's driver, which stands in for NVIDIA's.
            unsafe { install::emulated(&path) }?;
        }
        if count > 1 && matches!(decision, Decision::Emulated(_) | Decision::EmulatedAlready) {
            install::emulated_devices(count)?;
        }
        // Nothing of cudarc is called before this line.
        let context = context(ordinal, count)?;
        // Whatever was decided, what computes says what it is.
        let name = context.name()?;
        let emulated = |instead| Driver {
            device: name.replacen(EMULATED, "emulated", 1),
            emulated: true,
            instead,
        };
        let driver = match (decision, name.starts_with(EMULATED)) {
            (Decision::Real(found), false) => Driver {
                device: format!(
                    "{} (compute capability {}, driver of CUDA {})",
                    found.name,
                    dotted(&found.capability),
                    dotted(&found.driver)
                ),
                emulated: false,
                instead: None,
            },
            (Decision::Emulated(instead), true) => emulated(instead),
            (Decision::EmulatedAlready | Decision::Real(_), true) if choice == Choice::Auto => {
                emulated(Some(Unusable::Emulated))
            }
            (_, true) => return Err(GpuError::NoGpu(Unusable::Emulated)),
            // Something called cudarc before.
            (_, false) => return Err(GpuError::AlreadyChosen { device: name }),
        };
        *chosen = Some(driver.clone());
        Ok(Self { context, driver, compiler: None, kernels: None })
    }

    /// How many GPUs the driver shows.
    ///
    /// # Errors
    /// What the driver says.
    pub fn count(&self) -> Result<usize> {
        Ok(usize::try_from(CudaContext::device_count()?).unwrap_or(0))
    }

    /// The same GPU, with the kernels that this compiler makes; without one, NVIDIA's compiler, and
    /// the built-in one for edited kernels where that is missing.
    #[must_use]
    pub const fn compiling_by(mut self, compiler: Option<Compiler>) -> Self {
        self.compiler = compiler;
        self
    }

    /// The same GPU, with the kernels of this folder, which holds a source for each.
    ///
    /// # Safety
    /// Levels launch these kernels with the arguments of those that they replace. A kernel reads and
    /// writes what it likes; on the emulated GPU each access is checked.
    #[must_use]
    pub unsafe fn with_kernels(mut self, folder: PathBuf) -> Self {
        self.kernels = Some(folder);
        self
    }

    /// The device as dumps and reports name it: `emulated (…)`, or the card's name with its
    /// compute capability and driver.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.driver.device
    }

    /// Whether it is the emulated GPU.
    #[must_use]
    pub const fn is_emulated(&self) -> bool {
        self.driver.emulated
    }

    /// Fails if the device's compute capability is below `least`, major and minor, which `option` needs, such
    /// as `--products wmma`. The message recommends the option `instead`.
    ///
    /// # Errors
    /// [`training::Error::Usage`] if it is below; the driver's error.
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
            "{option} wants compute capability {}, and {} has {}{instead}",
            dotted(&least),
            self.device(),
            dotted(&found)
        )))
    }

    /// Why this is not the real GPU, where any was welcome.
    #[must_use]
    pub const fn why_not_real(&self) -> Option<&Unusable> {
        self.driver.instead.as_ref()
    }

    /// cudarc's context, the device's primary one.
    #[must_use]
    pub const fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// The default stream.
    #[must_use]
    pub fn stream(&self) -> Arc<CudaStream> {
        self.context.default_stream()
    }

    /// Loads a kernel of the folder `kernels`: the PTX that is kept beside the source, or, where
    /// the source was edited or the built-in compiler was chosen, what a compiler makes of it now.
    /// Anyone who may write to that folder is trusted like the author of the program.
    ///
    /// # Errors
    /// When there is no such kernel, when an edited source can't be compiled, and what the driver
    /// says.
    pub fn kernel(&self, name: &str) -> Result<CudaFunction> {
        self.kernel_of(name, name)
    }

    /// Loads a function of a file that has several.
    ///
    /// # Errors
    /// As [`kernel`](Self::kernel).
    pub fn kernel_of(&self, file: &str, function: &str) -> Result<CudaFunction> {
        let kernel = Kernel::find(file).ok_or_else(|| GpuError::NoKernel(file.into()))?;
        self.function(function, &source::ptx(&kernel, self.compiler, self.kernels.as_deref())?)
    }

    /// Loads a function of that name from PTX text.
    ///
    /// # Errors
    /// What the driver and its compiler say.
    pub fn function(&self, name: &str, ptx: &str) -> Result<CudaFunction> {
        let module = self.module(name, ptx)?;
        let missing = |source| GpuError::Load { name: name.into(), source, log: String::new() };
        module.load_function(name).map_err(missing)
    }

    /// Loads PTX text, which may hold several functions; `name` is for messages.
    ///
    /// # Errors
    /// What the driver and its compiler say.
    pub fn module(&self, name: &str, ptx: &str) -> Result<Arc<CudaModule>> {
        self.context.load_module(Ptx::from_src(ptx)).map_err(|source| {
            let log = jit_log::of(&self.context, ptx);
            GpuError::Load { name: name.into(), source, log }
        })
    }

    /// Makes one of CUDA's other libraries, such as `cublas`, the one that cudarc opens: NVIDIA's
    /// on its GPU, from wherever it is; on the emulated GPU the file that `emulated` names. To be
    /// called before cudarc's first call of that library, which panics where there is none.
    ///
    /// # Errors
    /// When the library is missing.
    ///
    /// # Safety
    /// The file `emulated`, which is only loaded on the emulated GPU, has initialisers that may run in
    /// any process, and functions of the types that cudarc gives those of `library`.
    pub unsafe fn install_library(
        &self,
        library: &str,
        emulated: std::result::Result<PathBuf, impl fmt::Display>,
    ) -> Result<()> {
        if !self.is_emulated() {
            return install::nvidia(library);
        }
        let missing =
            |reason: &dyn fmt::Display| GpuError::NoEmulator { reason: reason.to_string() };
        // SAFETY: as the caller promises.
        unsafe { install::emulated(&emulated.map_err(|reason| missing(&reason))?) }
    }
}
