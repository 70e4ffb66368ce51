//! What the code that nvcc adds to a program calls before its `main`, and at its end.

use std::cell::RefCell;
use std::ffi::{c_char, c_int};

use c_abi::{Code, export};

use crate::abi::Dim3;
use crate::context;
use crate::ffi::{Out, guard};
use crate::registry;

/// Takes in a fatbin, by the structure around it.
///
/// # Safety
/// It is there until the program calls [`__cudaUnregisterFatBinary`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __cudaRegisterFatBinary(image: usize) -> usize {
    registry::add_image(image)
}

/// Everything of a fatbin has been registered; it is loaded when it is used.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __cudaRegisterFatBinaryEnd(_image: usize) {}

/// Forgets a fatbin.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __cudaUnregisterFatBinary(image: usize) {
    guard("__cudaUnregisterFatBinary", || {
        registry::remove_image(image);
        Ok(())
    });
}

/// A function of the host's stands for a kernel.
///
/// # Safety
/// The name is a text that ends in NUL.
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

/// A variable of the host's stands for one of the device's.
///
/// # Safety
/// As above.
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

/// The same for a managed one, which the host reaches by a pointer.
///
/// # Safety
/// As above.
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

/// Has the managed variables of a fatbin where the host finds them; a program calls it before it
/// touches one.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __cudaInitModule(image: usize) -> c_char {
    let code = guard("__cudaInitModule", || {
        context::bind()?;
        registry::init_managed(image, context::count()?)
    });
    c_char::from(code == Code::SUCCESS)
}

/// How a kernel is to be launched.
#[derive(Clone, Copy, Debug)]
struct Configuration {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: usize,
}

thread_local! {
    /// `<<<…>>>` that have been evaluated, and whose kernels' arguments are evaluated now.
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// `<<<…>>>`, before the kernel's stub is called; 0, so that it is.
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
    /// Gives it to the stub.
    fn __cudaPopCallConfiguration(
        grid: Out<'_, Dim3>, block: Out<'_, Dim3>, shared: Out<'_, usize>, stream: Out<'_, usize>
    ) {
        let last = CONFIGURATIONS.with_borrow_mut(Vec::pop);
        let last = last.ok_or_else(|| {
            Code::MISSING_CONFIGURATION.because("a kernel was called without <<<…>>>")
        })?;
        grid.set_as(last.grid, "gridDim")?;
        block.set_as(last.block, "blockDim")?;
        shared.set_as(last.shared, "sharedMem")?;
        stream.set_as(last.stream, "stream")
    }

    /// The handle of a kernel: the function itself, which stays what it is when a device is reset.
    fn __cudaGetKernel(out: Out<'_, usize>, host: usize) {
        if !registry::is_kernel(host) {
            return Err(Code::INVALID_DEVICE_FUNCTION.because(format!(
                "no kernel is registered at {host:#x}"
            )));
        }
        out.set_as(host, "kernel")
    }
}
