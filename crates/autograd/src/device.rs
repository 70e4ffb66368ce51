//! Devices: where the elements of an array lie and who computes with them.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

pub use gpu::Choice;

use crate::Result;
use crate::cuda::Cuda;

/// A place where tensors live. An operation takes all its operands from one device, and leaves its
/// result there.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Device {
    /// This computer's processor and memory, in `f32` or `f64`.
    #[default]
    Cpu,
    /// An NVIDIA GPU, real or emulated, in `f32`.
    Cuda(Arc<Cuda>),
}

impl Device {
    /// Opens the GPU: the real one, the emulated one, or whichever there is.
    ///
    /// # Errors
    /// When the GPU that was asked for can't be used, or its kernels can't be loaded.
    #[track_caller]
    pub fn cuda(choice: Choice) -> Result<Self> {
        let at = Location::caller();
        Cuda::open(choice).map(|cuda| Self::Cuda(Arc::new(cuda))).map_err(|error| error.at(at))
    }
}

/// A process has one driver and uses the first GPU that it shows, so there are just these two.
impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Cpu, Self::Cpu) | (Self::Cuda(_), Self::Cuda(_)))
    }
}

impl Eq for Device {}

impl fmt::Display for Device {
    /// As dumps and reports name it: an emulated GPU never passes for a real one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.pad("cpu"),
            Self::Cuda(cuda) => f.pad(cuda.name()),
        }
    }
}
