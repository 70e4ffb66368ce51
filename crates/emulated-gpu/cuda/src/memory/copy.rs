//! Copies and fills: their descriptions, checks and execution.

#![allow(unsafe_code, reason = "reads and writes the program's memory")]

use std::sync::Arc;

use ptx_emulator::Memory;
use ptx_emulator::memory::AccessError;
use ptx_emulator::room::vector;

use crate::abi::copy::Copy3d;
use crate::abi::error::{Code, Result, fail_if, out_of_memory};
use crate::abi::host_memory;
use crate::abi::{Handle, Pointer};

/// The memory of a copy's source or destination.
#[derive(Clone, Debug)]
pub(crate) enum CopyMemory {
    /// Memory that kernels can access.
    Device(Pointer),
    /// Host memory of the program.
    Host(HostMemory),
    /// A copy of the program's memory, made when the program requested the transfer.
    Staged(Arc<Vec<u8>>),
}

/// The address of host memory that the program keeps valid until the copy has finished. Only `unsafe` functions
/// create it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostMemory(usize);

impl HostMemory {
    pub(crate) fn address(self) -> usize {
        self.0
    }
}

impl CopyMemory {
    /// Classifies an address: memory in the table of allocations is `Device`, everything else is `Host`.
    ///
    /// # Safety
    /// If the address is not in the table, the program keeps the copied range valid until the copy has finished.
    pub(crate) unsafe fn classify(memory: &Memory, address: Pointer) -> Self {
        let known = memory.range_of(address).is_some();
        if known { Self::Device(address) } else { Self::Host(HostMemory(address as usize)) }
    }

    /// The memory `by` bytes later.
    ///
    /// # Safety
    /// See [`classify`](Self::classify), for that memory.
    pub(crate) unsafe fn offset(self, by: usize) -> Self {
        match self {
            Self::Device(address) => Self::Device(address.wrapping_add(by as u64)),
            Self::Host(HostMemory(address)) => Self::Host(HostMemory(address.wrapping_add(by))),
            staged @ Self::Staged(_) => staged,
        }
    }
}

/// The source or the destination of a copy: the memory, and the distances in bytes between rows and between slices.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) place: CopyMemory,
    pub(crate) pitch: usize,
    pub(crate) slice: usize,
    /// If the memory belongs to an array: the array's handle, and the position in the array as byte, row and slice.
    pub(crate) array: Option<(Handle, [usize; 3])>,
}

/// A copy of `depth` slices of `height` rows of `width` bytes.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) from: End,
    pub(crate) to: End,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
    /// The description of the copy that the program passed, if any.
    pub(crate) given: Option<Copy3d>,
}

impl Transfer {
    /// A copy of contiguous bytes.
    pub(crate) fn linear(from: CopyMemory, to: CopyMemory, width: usize) -> Self {
        let end = |place| End { place, pitch: width, slice: width, array: None };
        Self { from: end(from), to: end(to), width, height: 1, depth: 1, given: None }
    }

    /// The number of bytes from the first to the last byte of the source or destination `end`.
    fn byte_length(&self, end: &End) -> Option<usize> {
        let rows = (self.height - 1).checked_mul(end.pitch)?;
        let slices = (self.depth - 1).checked_mul(end.slice)?;
        rows.checked_add(slices)?.checked_add(self.width)
    }

    /// Whether the copy has no bytes.
    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// Whether a device can do the copy without the host: source and destination are device memory, and neither is an
    /// array.
    pub(crate) fn needs_only_device(&self) -> bool {
        let device = |end: &End| end.array.is_none() && matches!(end.place, CopyMemory::Device(_));
        device(&self.from) && device(&self.to)
    }

    /// Checks that both ends are valid, as the driver does when the copy is requested.
    ///
    /// # Errors
    /// `INVALID_VALUE` if an end is not valid memory, a pitch is too small, or the copy is too large.
    pub(crate) fn check(&self, memory: &Memory) -> Result {
        if self.is_empty() {
            return Ok(());
        }
        for (end, write) in [(&self.from, false), (&self.to, true)] {
            let reach = self
                .byte_length(end)
                .ok_or_else(|| Code::INVALID_VALUE.because("the copy is too large"))?;
            let rows = self.height > 1 && end.pitch < self.width;
            let slice = end.pitch.saturating_mul(self.height).max(self.width);
            if rows || self.depth > 1 && end.slice < slice {
                return Err(
                    Code::INVALID_VALUE.because("the pitch of the copy is less than its width")
                );
            }
            match end.place {
                CopyMemory::Device(address) => check_access(memory, address, reach as u64, write)?,
                CopyMemory::Host(HostMemory(address)) => {
                    host_memory::check(address, reach)?;
                    check_host(memory, address, reach as u64)?;
                }
                CopyMemory::Staged(_) => {}
            }
        }
        Ok(())
    }

    /// Copies the source to memory of the driver now, as the driver does with pageable memory, so that the program may
    /// change it after the call.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` if the host is out of memory.
    pub(crate) fn stage(&mut self) -> Result {
        let CopyMemory::Host(HostMemory(address)) = self.from.place else { return Ok(()) };
        let Some(reach) = self.byte_length(&self.from).filter(|_| !self.is_empty()) else {
            return Ok(());
        };
        let mut bytes = vector(reach).map_err(out_of_memory)?;
        // SAFETY: the program keeps the range valid during the call. The vector has a capacity of `reach` bytes, and
        // all of them are written before its length is set.
        unsafe {
            Memory::copy_on_host(bytes.as_mut_ptr(), address as *const u8, reach);
            bytes.set_len(reach);
        }
        self.from.place = CopyMemory::Staged(Arc::new(bytes));
        Ok(())
    }

    /// Performs the copy.
    ///
    /// # Errors
    /// If an end is no longer inside one allocation.
    pub(crate) fn run(&self, memory: &Memory) -> Result<(), AccessError> {
        if self.is_empty() {
            return Ok(());
        }
        if self.depth == 1 && (self.height == 1 || self.is_contiguous()) {
            return self.row(memory, 0, 0, self.width * self.height);
        }
        for z in 0..self.depth {
            for y in 0..self.height {
                let from = z * self.from.slice + y * self.from.pitch;
                let to = z * self.to.slice + y * self.to.pitch;
                self.row(memory, from, to, self.width)?;
            }
        }
        Ok(())
    }

    fn is_contiguous(&self) -> bool {
        self.from.pitch == self.width && self.to.pitch == self.width
    }

    fn row(&self, memory: &Memory, from: usize, to: usize, len: usize) -> Result<(), AccessError> {
        match (&self.from.place, &self.to.place) {
            (CopyMemory::Device(source), CopyMemory::Device(target)) => {
                memory.copy(target + to as u64, source + from as u64, len as u64)
            }
            // No Rust reference to the program's memory is created, because other threads may access it meanwhile.
            (CopyMemory::Device(source), CopyMemory::Host(HostMemory(target))) => {
                // SAFETY: the program keeps the range valid until the copy has finished.
                unsafe { memory.read_to(source + from as u64, (target + to) as *mut u8, len) }
            }
            (CopyMemory::Host(HostMemory(source)), CopyMemory::Device(target)) => {
                // SAFETY: as above.
                unsafe { memory.write_from(target + to as u64, (source + from) as *const u8, len) }
            }
            (CopyMemory::Staged(bytes), CopyMemory::Device(target)) => {
                memory.write(target + to as u64, bytes.get(from..from + len).unwrap_or_default())
            }
            (CopyMemory::Host(HostMemory(source)), CopyMemory::Host(HostMemory(target))) => {
                let (source, target) = ((source + from) as *const u8, (target + to) as *mut u8);
                // SAFETY: as above, for both.
                unsafe { Memory::copy_on_host(target, source, len) };
                Ok(())
            }
            (CopyMemory::Staged(bytes), CopyMemory::Host(HostMemory(target))) => {
                let bytes = bytes.get(from..from + len).unwrap_or_default();
                let target = (target + to) as *mut u8;
                // SAFETY: the program keeps the target valid until the copy has finished; the source belongs to the
                // driver.
                unsafe { Memory::copy_on_host(target, bytes.as_ptr(), bytes.len()) };
                Ok(())
            }
            // A staged source is never the destination of a copy.
            (_, CopyMemory::Staged(_)) => Ok(()),
        }
    }
}

/// Checks that a range of host memory doesn't touch device memory.
fn check_host(memory: &Memory, address: usize, len: u64) -> Result {
    if !memory.is_astray(address as u64, len) {
        return Ok(());
    }
    if memory.reservation(address as u64).is_some() {
        let error = memory.check(address as u64, len, false).err();
        let why = error.map(|error| error.to_string()).unwrap_or_default();
        return Err(Code::INVALID_VALUE.because(why));
    }
    Err(Code::INVALID_VALUE.because(format!(
        "{len} bytes at {address:#x} are not the program's memory: they are next to an allocation, or in one \
         that was freed"
    )))
}

/// Checks that a range is inside one allocation, or in contiguous mappings.
pub(crate) fn check_device(memory: &Memory, address: Pointer, len: u64) -> Result {
    if memory.holds(address, len) {
        return Ok(());
    }
    Err(Code::INVALID_VALUE
        .because(format!("{len} bytes at {address:#x} are not inside one allocation")))
}

/// Checks that a range is inside one allocation, or in contiguous mappings that may be read (or
/// written, if `write`).
fn check_access(memory: &Memory, address: Pointer, len: u64, write: bool) -> Result {
    check_device(memory, address, len)?;
    let is_mapped = memory.mapping(address).is_some();
    let denied = if is_mapped { memory.check(address, len, write).err() } else { None };
    denied.map_or(Ok(()), |error| Err(Code::INVALID_VALUE.because(error.to_string())))
}

/// A fill of `height` rows of `width` elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub(crate) address: Pointer,
    pub(crate) pitch: u64,
    /// The value of an element, in the lowest `size` bytes.
    pub(crate) value: u32,
    /// The size of an element: 1, 2 or 4 bytes.
    pub(crate) size: u64,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

impl Fill {
    /// Checks that the range is valid.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the range is not valid, or the fill is misaligned, too large or has a pitch that is too
    /// small.
    pub(crate) fn check(&self, memory: &Memory) -> Result {
        if self.width == 0 || self.height == 0 {
            return Ok(());
        }
        let row = self.width.checked_mul(self.size);
        let reach = row.and_then(|row| (self.height - 1).checked_mul(self.pitch)?.checked_add(row));
        let reach = reach.ok_or_else(|| Code::INVALID_VALUE.because("the fill is too large"))?;
        fail_if!(!matches!(self.size, 1 | 2 | 4), INVALID_VALUE, "an element has 1, 2 or 4 bytes");
        if !self.address.is_multiple_of(self.size)
            || self.height > 1 && !self.pitch.is_multiple_of(self.size)
        {
            return Err(Code::INVALID_VALUE.because("the fill is not aligned to its element size"));
        }
        if self.height > 1 && Some(self.pitch) < row {
            return Err(Code::INVALID_VALUE.because("the pitch of the fill is less than its width"));
        }
        check_access(memory, self.address, reach, true)
    }

    /// Performs the fill.
    ///
    /// # Errors
    /// If the range is no longer inside one allocation.
    pub(crate) fn run(&self, memory: &Memory) -> Result<(), AccessError> {
        if self.width == 0 || self.height == 0 {
            return Ok(());
        }
        let bytes = self.value.to_le_bytes();
        let element = bytes.get(..self.size as usize).unwrap_or(&bytes);
        // If all bytes of the element are equal, bytes are filled instead, because that is faster.
        let is_uniform = element.iter().all(|byte| *byte == element[0]);
        for row in 0..self.height {
            let at = self.address + row * self.pitch;
            if is_uniform {
                memory.fill(at, &element[..1], self.width * self.size)?;
            } else {
                memory.fill(at, element, self.width)?;
            }
        }
        Ok(())
    }
}
