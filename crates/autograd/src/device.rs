//! Devices: the processor that computes an operation, and the memory that holds its operands.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

pub use gpu::Choice;

use crate::Result;
use crate::cuda::Cuda;

/// The processor and memory that tensors are on. All operands of an operation have to be on one device, and
/// its result is there, too.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Device {
    /// The host's processor and memory, with `f32` or `f64`.
    #[default]
    Cpu,
    /// An NVIDIA GPU, real or emulated, with `f32`.
    Cuda(Arc<Cuda>),
}

impl Device {
    /// Opens a GPU: a real one, the emulated one, or whichever is available.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) if that GPU can't be used, or its kernels can't be loaded.
    #[track_caller]
    pub fn cuda(choice: Choice) -> Result<Self> {
        let at = Location::caller();
        Cuda::open(choice).map(|cuda| Self::Cuda(Arc::new(cuda))).map_err(|error| error.at(at))
    }
}

/// Two GPU devices are always equal: a process has one driver, and uses the first GPU that the driver reports.
impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Cpu, Self::Cpu) | (Self::Cuda(_), Self::Cuda(_)))
    }
}

impl Eq for Device {}

impl fmt::Display for Device {
    /// The name in dumps and reports. The name of an emulated GPU always says that it is emulated.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.pad("cpu"),
            Self::Cuda(cuda) => f.pad(cuda.name()),
        }
    }
}
