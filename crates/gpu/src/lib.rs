//! The GPU for the levels: NVIDIA's if one works, otherwise the emulated one.
//!
//! This is no abstraction over devices. A level gets cudarc's own [`CudaContext`], [`CudaStream`]
//! and [`CudaFunction`]; cudarc calls NVIDIA's driver or the emulated one, which has the same C functions.
//! The crate also has the code that all levels share: the buffers of a layer, launches, and the copies of
//! batches to the device.
//!
//! [`CudaContext`]: cudarc::driver::CudaContext
//! [`CudaStream`]: cudarc::driver::CudaStream
//! [`CudaFunction`]: cudarc::driver::CudaFunction
//!
//! ```text
//! choice ── probe          chooses the real or the emulated GPU
//!    |
//!   gpu ── install         opens it; loads kernels, PTX and CUDA's other libraries
//!    |
//! source ── kernels        finds the PTX of each kernel, if it is up to date with its source,
//!    |
//! compiler ── compile ── nvrtc, ptx_version, library      otherwise compiles the source
//!
//! state ── layer ── memory      the buffers of a training step
//! function ── launcher ── launch       kernels, their launches into a stream, and grid sizes
//!    |
//! profiler ── timing, work, nvtx      passes launches to a recorder, such as the crate `profile`
//!    |
//! transfer                 copies batches to the device
//! ```
//!
//! # Environment variables
//!
//! | variable | meaning |
//! |---|---|
//! | `FOUR_LEVELS_DEVICE` | default of `--device`: `auto`, `cuda` or `emulated` |
//! | `FOUR_LEVELS_COMPILER` | default of `--compiler`: `nvrtc` or `built-in` |
//! | `FOUR_LEVELS_KERNELS` | the folder of the kernels, instead of `kernels` next to the program or in the repository |
//! | `FOUR_LEVELS_NVRTC` | NVRTC's library; likewise `FOUR_LEVELS_CUBLAS` and so on for the other libraries of CUDA |
//! | `CUDA_PATH`, `CUDA_HOME`, `CUDA_ROOT`, `CUDA_TOOLKIT_ROOT_DIR`, `CONDA_PREFIX` | the folder of a CUDA toolkit |
//! | `VIRTUAL_ENV` | the active Python environment, which may contain NVIDIA's wheels; a `.venv` that isn't active is reported and not loaded |
//! | `CUDA_VISIBLE_DEVICES` | a variable of the driver: the cards that it shows; the first of them is used |

mod choice;
pub mod compile;
mod compiler;
mod error;
mod function;
mod gpu;
mod install;
mod jit_log;
mod kernels;
pub mod launch;
mod launcher;
mod layer;
pub mod library;
pub mod memory;
mod nvrtc;
mod nvtx;
pub mod phases;
mod probe;
mod profiler;
pub mod ptx_version;
pub mod source;
mod state;
mod timing;
pub mod transfer;
mod work;

pub use choice::{Choice, DeviceArgs};
pub use compiler::{Compiler, CompilerArgs};
#[doc(no_inline)]
pub use cudarc::driver::CudaFunction;
pub use error::{GpuError, Result};
pub use function::{Address, Function, Launch, Read, WritableAddress, Write};
pub use gpu::Gpu;
pub use kernels::{KERNELS, Kernel, PRODUCTS};
pub use launch::loss_code;
pub use launcher::{Launcher, Substitute, Substitutes};
pub use layer::Layer;
pub use memory::{AsView, Buffer, View};
pub use nvtx::{Nvtx, Range};
pub use probe::{DetectedGpu, Unusable};
pub use profiler::{ActivityKind, Profiler, Recorder};
pub use state::State;
pub use timing::Stretch;
pub use work::{Size, Work, length, size};
