//! The code that the emulated cuBLAS and the emulated cuBLASLt share.
//!
//! - [`Product`]: `d = alpha · a · b + beta · c` on the CPU's cores, over matrices in device memory
//!   of any supported type, order and leading dimension. [`Triangle`]: a matrix of which only one
//!   triangle is stored.
//! - [`Driver`]: the emulated driver's public C API, taken from the library that is already loaded.
//!   Work is enqueued on a stream, so that it runs in order with kernels and copies and can be
//!   captured into graphs.
//! - [`AccessRequester`]: the handle with which running work requests access to every range of device memory.
//!   Arguments are already checked against the driver's allocations when a function is called, so
//!   that the call can fail; but only when the work runs is it certain that the memory still
//!   exists.
//! - [`Rejection`]: the error of a refused call: a status of the real library, and a message that
//!   names the argument.
//!
//! A device address of the emulated GPU is a host address, so the CPU can read operands in place.

mod access;
mod access_requester;
mod allocation;
mod bounds;
mod complex;
mod data_type;
mod driver;
mod element;
mod matrix;
mod message_log;
mod number;
mod product;
mod rejection;
mod rounding;
mod scalar;
mod scratch;
mod split;
mod status;
mod structured;
pub mod tensor_cores;
mod thin;
mod tiles;
mod vector;
mod view;
mod work;

pub use access::Access;
pub use access_requester::{AccessRequester, Refused};
pub use allocation::{filled, vec_with_capacity};
pub use bounds::check_range;
pub use data_type::{Compute, DataType, InputRounding, scale_type};
/// Access to device memory that other threads may be writing. Every other way to access it is unsound.
pub use device_memory::words;
pub use driver::{Allocation, Driver, StreamHandle, driver};
pub use element::{load, store};
pub use gemm::{c32, c64};
pub use matrix::{Matrix, MatrixOperation, Order};
pub use message_log::{Callback, MessageLog};
pub use number::{Number, Real};
pub use product::{Column, FinishColumn, Product};
pub use rejection::{Rejection, Result};
pub use rounding::TF32_UNIT_ROUNDOFF;
pub use scalar::{PointerMode, Scalar, check_pointer};
pub use split::Split;
pub use status::Status;
pub use structured::{Dense, Structure, Triangle};
pub use view::View;
pub use work::{RunWork, StreamWork};
