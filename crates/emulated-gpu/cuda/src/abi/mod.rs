//! Types of the C ABI: pointers that a caller vouches for, handles, and structures of CUDA's `cuda.h`.

#![allow(
    unsafe_code,
    reason = "pointers come from C; who calls a function of the driver vouches that each is null or \
              points at what the function's documentation says, for as long as the call takes"
)]

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

use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;

use ptx_emulator::room::vector;

use crate::abi::error::{Code, Result};
pub(crate) use virtual_memory::AllocationProperties;

/// An opaque handle: never dereferenced, only looked up.
pub(crate) type Handle = usize;
/// `CUdevice`
pub(crate) type Device = c_int;
/// `CUdeviceptr`
pub(crate) type Pointer = u64;
/// `CUhostFn`
pub(crate) type HostFunction = Option<unsafe extern "C" fn(*mut c_void)>;
/// The value of an option of `CUjit_option`: a pointer, or a number passed as if it were one.
pub(crate) type JitValue<'a> = Out<'a, u8>;
/// `CUstreamCallback`
pub(crate) type StreamCallback = Option<unsafe extern "C" fn(Handle, Code, *mut c_void)>;
/// `CUoccupancyB2DSize`
pub(crate) type SharedBytesOf = Option<unsafe extern "C" fn(c_int) -> usize>;

/// A pointer of the program's to which a result is written: null, or at room for a `T`, aligned or not, while `'a`
/// lasts. That is the call that it was passed to, since the program alone makes such pointers, in its call of
/// an exported function, whose caller vouches for them; and functions here that are `unsafe`.
#[repr(transparent)]
pub(crate) struct Out<'a, T>(*mut T, PhantomData<&'a ()>);

impl<T> Clone for Out<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<'_, T> {}

impl<'a, T> Out<'a, T> {
    /// A null pointer is an error; to be asked before anything is done that would need undoing.
    pub(crate) fn required(self) -> Result {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE.because("a pointer for the result is null"));
        }
        Ok(())
    }

    /// Writes the result.
    ///
    /// # Errors
    /// When the pointer is null.
    pub(crate) fn set(self, value: T) -> Result {
        self.required()?;
        self.set_if_wanted(value);
        Ok(())
    }

    /// Writes the result, unless the pointer is null.
    pub(crate) fn set_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: it is not null, so there is room for a `T`.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// Writes the results one after another, as many as there are.
    ///
    /// # Safety
    /// There is room for as many.
    pub(crate) unsafe fn set_all(self, values: impl IntoIterator<Item = T>) {
        for (index, value) in values.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { self.0.add(index).write_unaligned(value) };
        }
    }

    /// Whether it is null.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// What stands there now.
    ///
    /// # Safety
    /// Unless it is null, the program has written a `T` there.
    ///
    /// # Errors
    /// When the pointer is null.
    pub(crate) unsafe fn get(self) -> Result<T>
    where
        T: Copy,
    {
        self.required()?;
        // SAFETY: the caller's promise.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Its address.
    pub(crate) fn address(self) -> usize {
        self.0 as usize
    }

    /// The same place, for something of another type.
    ///
    /// # Safety
    /// Unless it is null, there is room for a `U`.
    pub(crate) unsafe fn cast<U>(self) -> Out<'a, U> {
        Out(self.0.cast(), PhantomData)
    }

    /// The place `count` elements further.
    ///
    /// # Safety
    /// Unless it is null, there is room for as many, and one more.
    pub(crate) unsafe fn offset(self, count: usize) -> Self {
        Self(self.0.wrapping_add(count), PhantomData)
    }

    /// The same place, to read there.
    ///
    /// # Safety
    /// As of [`get`](Self::get).
    pub(crate) unsafe fn read_only(self) -> In<'a, T> {
        In(self.0, PhantomData)
    }

    /// A null pointer.
    pub(crate) const fn null() -> Self {
        Self(std::ptr::null_mut(), PhantomData)
    }
}

/// A pointer of the program's to something that is read: null, or at a `T`, aligned or not, while `'a` lasts. Made
/// as an [`Out`] is.
#[repr(transparent)]
pub(crate) struct In<'a, T>(*const T, PhantomData<&'a ()>);

impl<T> Clone for In<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<'_, T> {}

impl<T: Copy> In<'_, T> {
    /// What stands there.
    ///
    /// # Errors
    /// When the pointer is null.
    pub(crate) fn get(self) -> Result<T> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE.because("a pointer to an argument is null"));
        }
        // SAFETY: it is not null, so there is a `T`.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// What stands there, `count` times.
    ///
    /// # Safety
    /// Unless it is null, there are as many, or the system knows that nothing is there.
    ///
    /// # Errors
    /// When the pointer is null although there is something, or nothing can be read there.
    pub(crate) unsafe fn list(self, count: usize) -> Result<Vec<T>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        self.get()?;
        // Said of memory that is not there, the count is wrong.
        crate::abi::host_memory::check(self.address(), count.saturating_mul(size_of::<T>()))?;
        let mut list = vector(count)?;
        // SAFETY: the caller's promise.
        list.extend((0..count).map(|index| unsafe { self.0.add(index).read_unaligned() }));
        Ok(list)
    }
}

impl<T> In<'_, T> {
    /// A null pointer.
    pub(crate) fn null() -> Self {
        Self(std::ptr::null(), PhantomData)
    }

    /// A list of the driver's own, for the program to read.
    ///
    /// # Safety
    /// The list stays where it is as long as the program may read it, by what the documentation says.
    pub(crate) unsafe fn of(list: &[T]) -> Self {
        Self(list.as_ptr(), PhantomData)
    }

    /// Whether it is null.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Its address.
    pub(crate) fn address(self) -> usize {
        self.0 as usize
    }
}

/// A text of the program's that ends in NUL, or null, while `'a` lasts. Made as an [`Out`] is.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Text<'a>(*const c_char, PhantomData<&'a ()>);

impl<'a> Text<'a> {
    /// The text.
    ///
    /// # Errors
    /// When the pointer is null.
    pub(crate) fn get(self) -> Result<String> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    /// Its bytes, without the NUL.
    ///
    /// # Errors
    /// When the pointer is null.
    pub(crate) fn bytes(self) -> Result<&'a [u8]> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE.because("a text is null"));
        }
        // SAFETY: it is not null, so it ends in NUL.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_bytes())
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
    /// Of memory on a device: pinned, for this process alone, for no other device.
    pub(crate) fn of(address: Pointer, size: usize, device: u32) -> Self {
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

/// `CUDA_KERNEL_NODE_PARAMS` in its second form; the first ends before `kernel`.
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

/// `CUDA_KERNEL_NODE_PARAMS` in its first form.
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
