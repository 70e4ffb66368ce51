//! The functions called by the code that nvcc adds to a program: registration before `main`, clean-up at exit, and
//! launches with `<<<…>>>`.

use std::cell::RefCell;
use std::ffi::{c_char, c_int};

use c_abi::{Code, export, fail_if};

use crate::abi::Dim3;
use crate::context;
use crate::ffi::{Out, guard};
use crate::registry;

/// Registers a fatbin, given the address of its wrapper structure.
///
/// # Safety
/// The fatbin must stay valid until the program calls [`__cudaUnregisterFatBinary`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __cudaRegisterFatBinary(image: usize) -> usize {
    registry::add_image(image)
}

/// Called after everything in a fatbin has been registered. A no-op, because the fatbin is loaded on first use.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __cudaRegisterFatBinaryEnd(_image: usize) {}

/// Removes a fatbin.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __cudaUnregisterFatBinary(image: usize) {
    guard("__cudaUnregisterFatBinary", || {
        registry::remove_image(image);
        Ok(())
    });
}

/// Registers a host function as the stub of a kernel.
///
/// # Safety
/// The name must be NUL-terminated.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __cudaRegisterFunction(
    image: usize,
    host: usize,
    _device: usize,
    name: *const c_char,
    _thread_limit: c_int,
    _thread: usize,
    _block_index: usize,
    _block: usize,
    _grid: usize,
    _warp: usize,
) {
    registry::add_kernel(image, host, name);
}

/// Registers a host variable as the shadow of a device variable.
///
/// # Safety
/// The name must be NUL-terminated.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __cudaRegisterVar(
    image: usize,
    host: usize,
    _device: usize,
    name: *const c_char,
    _external: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    registry::add_variable(image, host, name, None);
}

/// Registers a managed variable, which the host accesses through a pointer.
///
/// # Safety
/// The name must be NUL-terminated.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __cudaRegisterManagedVar(
    image: usize,
    pointer: usize,
    _device: usize,
    name: *const c_char,
    _external: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    registry::add_variable(image, pointer, name, Some(pointer));
}

/// Sets the pointers to the managed variables of a fatbin. A program calls this before it accesses one of them.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __cudaInitModule(image: usize) -> c_char {
    let code = guard("__cudaInitModule", || {
        context::bind_context()?;
        registry::init_managed(image, context::device_count()?)
    });
    c_char::from(code == Code::SUCCESS)
}

/// The configuration of a launch with `<<<…>>>`.
#[derive(Clone, Copy, Debug)]
struct Configuration {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: usize,
}

thread_local! {
    /// A stack of launch configurations: those of `<<<…>>>` whose kernel arguments are still being evaluated.
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// Called for `<<<…>>>` before the kernel's stub; returning 0 lets the program call the stub.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: usize,
) -> u32 {
    CONFIGURATIONS.with_borrow_mut(|all| all.push(Configuration { grid, block, shared, stream }));
    0
}

export! {
    /// Returns the innermost configuration to the kernel's stub.
    fn __cudaPopCallConfiguration(
        grid: Out<'_, Dim3>, block: Out<'_, Dim3>, shared: Out<'_, usize>, stream: Out<'_, usize>
    ) {
        let last = CONFIGURATIONS.with_borrow_mut(Vec::pop);
        let last = last.ok_or_else(|| {
            Code::MISSING_CONFIGURATION.because("a kernel stub was called without <<<…>>>")
        })?;
        grid.set_as(last.grid, "gridDim")?;
        block.set_as(last.block, "blockDim")?;
        shared.set_as(last.shared, "sharedMem")?;
        stream.set_as(last.stream, "stream")
    }

    /// Returns the handle of a kernel: the address of the host function, which stays valid after a device reset.
    fn __cudaGetKernel(out: Out<'_, usize>, host: usize) {
        fail_if!(!registry::is_kernel(host), INVALID_DEVICE_FUNCTION, "no kernel is registered at {host:#x}");
        out.set_as(host, "kernel")
    }
}
