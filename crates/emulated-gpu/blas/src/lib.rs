//! What the emulated cuBLAS and the emulated cuBLASLt share.
//!
//! - [`Product`]: `d = alpha · a · b + beta · c` on the CPU's cores, over matrices in device memory
//!   of any supported type, order and leading dimension. [`Triangle`]: a matrix of which half is stored.
//! - [`Driver`]: the emulated driver's public C API, found in the library that is loaded already.
//!   Work is put on a stream, where it takes its turn among kernels and copies and is captured into
//!   graphs.
//! - [`Door`]: what work asks for every range of device memory when its turn has come. Arguments are
//!   checked against the driver's allocations when a function is called, so that it can refuse them;
//!   that the memory is there is known only when the work runs.
//! - [`Rejection`]: why a call is refused: a status of the real library's, and a sentence that names
//!   the argument.
//!
//! A device address of the emulated GPU is an address of the host, which is what lets the CPU read
//! operands where they lie.

mod access;
mod bounds;
mod complex;
mod data_type;
mod door;
mod driver;
mod element;
mod matrix;
mod number;
mod product;
mod rejection;
mod report;
mod room;
mod rounding;
mod scalar;
mod scratch;
mod split;
mod status;
mod structured;
pub mod tensor_cores;
mod tiles;
mod vector;
mod view;
mod work;

pub use access::Access;
pub use bounds::check_range;
pub use data_type::{Compute, DataType, Inputs, scale_type};
/// Access to device memory that other threads may be writing: no other way to reach it is sound.
pub use device_memory::words;
pub use door::{Door, Refused};
pub use driver::{Driver, Range, StreamHandle, driver};
pub use element::{load, store};
pub use gemm::{c32, c64};
pub use matrix::{Matrix, Operation, Order};
pub use number::{Number, Real};
pub use product::{Column, Finish, Product};
pub use rejection::Rejection;
pub use report::{Callback, Report};
pub use room::{filled, room};
pub use rounding::TF32_UNIT_ROUNDOFF;
pub use scalar::{PointerMode, Scalar, check_pointer};
pub use split::Split;
pub use status::Status;
pub use structured::{Dense, Structure, Triangle};
pub use view::View;
pub use work::{Run, Work};
