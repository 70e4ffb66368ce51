//! Types of the C ABI: pointers, handles, and structures of `cuda.h`.

#![allow(unsafe_code, reason = "callers promise that each pointer is null or valid for the call")]

pub(crate) mod copy;
pub(crate) mod enumeration;
pub(crate) mod error;
pub(crate) mod ffi;
pub(crate) mod green_context;
pub(crate) mod host_memory;
pub(crate) mod interprocess;
pub(crate) mod process;
pub(crate) mod registry;
pub(crate) mod texture;
mod virtual_memory;

use std::ffi::{c_int, c_void};

use ptx_emulator::room::vector;

use crate::abi::error::{Code, Error, Result, out_of_memory};
pub(crate) use virtual_memory::AllocationProperties;

/// An opaque handle: never dereferenced, only looked up.
pub(crate) type Handle = usize;
/// `CUdevice`
pub(crate) type Device = c_int;
/// `CUdeviceptr`
pub(crate) type Pointer = u64;
/// `CUhostFn`
pub(crate) type HostFunction = Option<unsafe extern "C" fn(*mut c_void)>;
/// The value of a `CUjit_option`: a pointer, or a number cast to a pointer.
pub(crate) type JitValue<'a> = Out<'a, u8>;
/// `CUstreamCallback`
pub(crate) type StreamCallback = Option<unsafe extern "C" fn(Handle, Code, *mut c_void)>;
/// The callback `CUoccupancyB2DSize`, which returns the dynamic shared memory for a block size.
pub(crate) type SharedBytesForBlock = Option<unsafe extern "C" fn(c_int) -> usize>;

/// An output pointer of the program.
pub(crate) type Out<'a, T> = c_abi::Out<'a, T, Error>;
/// An input pointer of the program.
pub(crate) type In<'a, T> = c_abi::In<'a, T, Error>;
/// A NUL-terminated string of the program.
pub(crate) type Text<'a> = c_abi::Text<'a, Error>;

/// A list in the program's memory.
pub(crate) trait List<T> {
    /// Copies the elements of the list.
    ///
    /// # Safety
    /// Unless the pointer is null, it points to `count` elements, or the system can detect that it doesn't.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the pointer is null although `count` isn't 0, or the memory can't be read.
    unsafe fn list(self, count: usize) -> Result<Vec<T>>;
}

impl<T: Copy> List<T> for In<'_, T> {
    unsafe fn list(self, count: usize) -> Result<Vec<T>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        self.get()?;
        // A count that exceeds the readable memory is wrong.
        host_memory::check(self.address(), count.saturating_mul(size_of::<T>()))?;
        let mut list = vector(count).map_err(out_of_memory)?;
        // SAFETY: guaranteed by the caller.
        list.extend(unsafe { self.elements(count)? });
        Ok(list)
    }
}

/// `CUmemLocation`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Location {
    pub(crate) kind: c_int,
    pub(crate) id: c_int,
}

/// `CUmemPoolProps`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct PoolProperties {
    pub(crate) allocation_type: c_int,
    pub(crate) handle_types: c_int,
    pub(crate) location: Location,
    pub(crate) security: *mut c_void,
    pub(crate) max_size: usize,
    pub(crate) usage: u16,
    pub(crate) reserved: [u8; 54],
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct AllocationNode {
    pub(crate) pool: PoolProperties,
    pub(crate) access: *const AccessDescription,
    pub(crate) access_count: usize,
    pub(crate) size: usize,
    pub(crate) address: Pointer,
}

impl AllocationNode {
    /// The parameters for memory on a device: pinned, not shared with other processes or devices.
    pub(crate) fn pinned_on(address: Pointer, size: usize, device: u32) -> Self {
        let pool = PoolProperties {
            allocation_type: 1,
            handle_types: 0,
            location: Location { kind: 1, id: device as c_int },
            security: std::ptr::null_mut(),
            max_size: 0,
            usage: 0,
            reserved: [0; 54],
        };
        Self { pool, access: std::ptr::null(), access_count: 0, size, address }
    }
}

/// `CUmemAccessDesc`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct AccessDescription {
    pub(crate) location: Location,
    pub(crate) flags: c_int,
}

/// `CUlaunchConfig`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LaunchConfig<'a> {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) stream: Handle,
    pub(crate) attributes: In<'a, LaunchAttribute>,
    pub(crate) attribute_count: u32,
}

/// `CUlaunchAttribute`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LaunchAttribute {
    pub(crate) id: c_int,
    pub(crate) pad: [u8; 4],
    /// A union of 64 bytes.
    pub(crate) value: [u64; 8],
}

/// The second form of `CUDA_KERNEL_NODE_PARAMS`; the first form ends before `kernel`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct KernelNode<'a> {
    pub(crate) function: Handle,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) parameters: In<'a, usize>,
    pub(crate) extra: In<'a, usize>,
    pub(crate) kernel: Handle,
    pub(crate) context: Handle,
}

/// The first form of `CUDA_KERNEL_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct KernelNodeV1<'a> {
    pub(crate) function: Handle,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) parameters: In<'a, usize>,
    pub(crate) extra: In<'a, usize>,
}

/// `CUDA_MEMSET_NODE_PARAMS`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct SetNode {
    pub(crate) target: Pointer,
    pub(crate) pitch: usize,
    pub(crate) value: u32,
    pub(crate) element: u32,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// `CUDA_HOST_NODE_PARAMS`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct HostNode {
    pub(crate) function: HostFunction,
    pub(crate) data: usize,
}
