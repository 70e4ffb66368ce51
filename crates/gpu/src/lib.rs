//! Opens the GPU for the levels: NVIDIA's where there is one, the emulated one elsewhere.
//!
//! There is no device abstraction here. A level gets cudarc's own [`CudaContext`], [`CudaStream`]
//! and [`CudaFunction`], and computes with them; the C functions below are the driver's own or the
//! emulated driver's, and cudarc does not notice the difference. What the levels would each write
//! again is here too: the buffers of a layer, the way to a launch, the ways in which batches come.
//!
//! [`CudaContext`]: cudarc::driver::CudaContext
//! [`CudaStream`]: cudarc::driver::CudaStream
//! [`CudaFunction`]: cudarc::driver::CudaFunction
//!
//! ```text
//! choice ── probe          which of the two, and why not the other
//!    |
//!   gpu ── install         opens it; loads kernels, PTX and CUDA's other libraries
//!    |
//! source ── kernels        the PTX beside each kernel, if it is of the source as it is now,
//!    |
//! compiler ── compile ── nvrtc, ptx_version, library      else what a compiler makes of it
//!
//! layer ── memory          what a level computes on
//! function ── launcher ── launch       kernels, their launches into a stream, and grid sizes
//!    |
//! profiler ── timing, work, nvtx      passes them to whatever records them, such as the crate `profile`
//!    |
//! transfer                 how batches get to the device
//! ```
//!
//! # Environment variables
//!
//! | variable | what it says |
//! |---|---|
//! | `FOUR_LEVELS_DEVICE` | what `--device` says: `auto`, `cuda` or `emulated` |
//! | `FOUR_LEVELS_COMPILER` | what `--compiler` says: `nvrtc` or `built-in` |
//! | `FOUR_LEVELS_KERNELS` | the folder of the kernels, instead of `kernels` beside the program or in the repository |
//! | `FOUR_LEVELS_NVRTC` | NVRTC's library; likewise `FOUR_LEVELS_CUBLAS` and so on for the other libraries of CUDA |
//! | `CUDA_PATH`, `CUDA_HOME`, `CUDA_ROOT`, `CUDA_TOOLKIT_ROOT_DIR`, `CONDA_PREFIX` | where a CUDA toolkit is |
//! | `VIRTUAL_ENV` | the active Python environment, which may hold NVIDIA's wheels; a `.venv` that isn't active is reported and not loaded |
//! | `CUDA_VISIBLE_DEVICES` | the driver's own: which cards it shows; the first of them is used |

mod arguments;
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
mod probe;
mod profiler;
pub mod ptx_version;
pub mod source;
mod timing;
pub mod transfer;
mod work;

pub use arguments::DeviceArgs;
pub use choice::Choice;
pub use compiler::{Compiler, CompilerArgs};
#[doc(no_inline)]
pub use cudarc::driver::CudaFunction;
pub use error::{GpuError, Result};
pub use function::{Address, Function, Launch, Read, WritableAddress, Write};
pub use gpu::Gpu;
pub use kernels::{KERNELS, Kernel, PRODUCTS};
pub use launch::loss_code;
pub use launcher::Launcher;
pub use layer::Layer;
pub use memory::{AsView, Buffer, View};
pub use nvtx::{Nvtx, Range};
pub use probe::{DetectedGpu, Unusable};
pub use profiler::{ActivityKind, Profiler, Recorder};
pub use timing::Stretch;
pub use work::{Length, Size, Work, size};
