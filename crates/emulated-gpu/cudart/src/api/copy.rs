//! Copies and fills.

use c_abi::{Code, export, fail_if};

use crate::abi::{Copy3D, DriverCopy3D, DriverSide, Extent, PitchedPointer, per_thread};
use crate::context::{bind_context, primary};
use crate::driver;
use crate::ffi::{In, Result, export_copies};

use super::array::{ARRAY, texel};
use super::memory::attribute;

/// `cudaMemcpyKind`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyKind {
    HostToHost,
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    /// The driver determines the direction from the addresses.
    Default,
}

impl CopyKind {
    pub(super) fn from_number(kind: i32) -> Result<Self> {
        Ok(match kind {
            0 => Self::HostToHost,
            1 => Self::HostToDevice,
            2 => Self::DeviceToHost,
            3 => Self::DeviceToDevice,
            4 => Self::Default,
            _ => return Err(Code::INVALID_DIRECTION.because(format!("kind is {kind}"))),
        })
    }

    /// The driver's memory types of source and destination.
    pub(super) fn memory_types(self) -> (i32, i32) {
        const HOST: i32 = 1;
        const DEVICE: i32 = 2;
        const ANY_MEMORY: i32 = 4;
        match self {
            Self::HostToHost => (HOST, HOST),
            Self::HostToDevice => (HOST, DEVICE),
            Self::DeviceToHost => (DEVICE, HOST),
            Self::DeviceToDevice => (DEVICE, DEVICE),
            Self::Default => (ANY_MEMORY, ANY_MEMORY),
        }
    }
}

/// The order of a copy relative to other work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CopyOrder {
    /// The copy is complete before the call returns.
    Now,
    /// The copy takes place in the order of this stream.
    InStream(usize),
}

/// Copies a contiguous range.
pub(super) unsafe fn copy(
    to: usize,
    from: usize,
    bytes: usize,
    kind: i32,
    order: CopyOrder,
) -> Result {
    bind_context()?;
    let kind = CopyKind::from_number(kind)?;
    if bytes == 0 {
        return Ok(());
    }
    match (kind, order) {
        (CopyKind::HostToDevice, CopyOrder::Now) => driver::cuMemcpyHtoD_v2(to, from, bytes),
        (CopyKind::DeviceToHost, CopyOrder::Now) => driver::cuMemcpyDtoH_v2(to, from, bytes),
        (CopyKind::DeviceToDevice, CopyOrder::Now) => driver::cuMemcpyDtoD_v2(to, from, bytes),
        (CopyKind::HostToHost | CopyKind::Default, CopyOrder::Now) => {
            driver::cuMemcpy(to, from, bytes)
        }
        (CopyKind::HostToDevice, CopyOrder::InStream(stream)) => {
            driver::cuMemcpyHtoDAsync_v2(to, from, bytes, stream)
        }
        (CopyKind::DeviceToHost, CopyOrder::InStream(stream)) => {
            driver::cuMemcpyDtoHAsync_v2(to, from, bytes, stream)
        }
        (CopyKind::DeviceToDevice, CopyOrder::InStream(stream)) => {
            driver::cuMemcpyDtoDAsync_v2(to, from, bytes, stream)
        }
        (CopyKind::HostToHost | CopyKind::Default, CopyOrder::InStream(stream)) => {
            driver::cuMemcpyAsync(to, from, bytes, stream)
        }
    }
}

/// The driver's description of a copy in three dimensions. If an array takes part, the runtime counts widths and x
/// offsets in texels of the array, the driver in bytes.
pub(super) fn driver_copy(copy: &Copy3D) -> Result<DriverCopy3D> {
    let (from, to) = CopyKind::from_number(copy.kind)?.memory_types();
    let arrays = [copy.from_array, copy.to_array];
    let texel = match arrays.into_iter().find(|&array| array != 0) {
        Some(array) => texel(array)?,
        None => 1,
    };
    let too_large = || Code::INVALID_VALUE.because("the extent is too large");
    let width = copy.extent.width.checked_mul(texel).ok_or_else(too_large)?;
    let Extent { height, depth, .. } = copy.extent;
    let side = |kind: i32, part: PitchedPointer, array: usize, at: Extent| {
        let (y, z) = (at.height, at.depth);
        if array != 0 {
            let x = at.width.checked_mul(texel).ok_or_else(too_large)?;
            return Ok(DriverSide { x, y, z, kind: ARRAY, array, ..DriverSide::default() });
        }
        if height > 1 && part.pitch < width {
            return Err(Code::INVALID_PITCH
                .because(format!("the rows have {width} bytes, but the pitch is {}", part.pitch)));
        }
        let (host, device) = (part.address, part.address as u64);
        let (x, pitch, height) = (at.width, part.pitch, part.height);
        Ok(DriverSide { x, y, z, kind, host, device, pitch, height, ..DriverSide::default() })
    };
    let from = side(from, copy.from, copy.from_array, copy.from_at)?;
    let to = side(to, copy.to, copy.to_array, copy.to_at)?;
    Ok(DriverCopy3D { from, to, width, height, depth })
}

/// Runs a copy through the driver; an empty copy is a no-op.
pub(super) unsafe fn run(copy: &DriverCopy3D, order: CopyOrder) -> Result {
    if copy.width == 0 || copy.height == 0 || copy.depth == 0 {
        return Ok(());
    }
    let at = std::ptr::from_ref(copy) as usize;
    match order {
        CopyOrder::Now => driver::cuMemcpy3D_v2(at),
        CopyOrder::InStream(stream) => driver::cuMemcpy3DAsync_v2(at, stream),
    }
}

unsafe fn fill_3d(part: PitchedPointer, value: i32, extent: Extent, order: CopyOrder) -> Result {
    bind_context()?;
    let Extent { width, height, depth } = extent;
    if width == 0 || height == 0 || depth == 0 {
        return Ok(());
    }
    let PitchedPointer { address, pitch, height: rows, .. } = part;
    let invalid = |why: &str| Code::INVALID_VALUE.because(why);
    if depth > 1 && rows < height {
        return Err(invalid(&format!(
            "a slice has {height} rows, but the next one starts after {rows} rows"
        )));
    }
    if (height > 1 || depth > 1) && pitch < width {
        return Err(invalid(&format!("the rows have {width} bytes, but the pitch is {pitch}")));
    }
    let reach = || {
        // Computes the end of the last row of the last slice.
        let all = rows.checked_mul(depth - 1)?.checked_add(height - 1)?;
        all.checked_mul(pitch)?.checked_add(width)?.checked_add(address)
    };
    let end = reach().ok_or_else(|| invalid("the extent ends beyond the address space"))?;
    if depth == 1 || rows == height {
        return fill_2d(address, pitch, value, (width, height * depth), order);
    }
    check_writable(address, end)?;
    for z in 0..depth {
        fill_2d(address + pitch * rows * z, pitch, value, (width, height), order)?;
    }
    Ok(())
}

/// Returns `cudaErrorInvalidValue` unless kernels may write to the whole range. Without this check, a fill of several
/// slices could fail when some of them are already filled.
fn check_writable(address: usize, end: usize) -> Result {
    /// `CU_POINTER_ATTRIBUTE_RANGE_START_ADDR`, `…_RANGE_SIZE`, `…_ACCESS_FLAGS`
    const RANGE_START: i32 = 11;
    const RANGE_SIZE: i32 = 12;
    const ACCESS: i32 = 16;
    /// `CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE`
    const READ_AND_WRITE: u64 = 3;
    let mut at = address;
    // The range may span several adjacent mappings.
    while at < end {
        let after = attribute(RANGE_START, at)?.checked_add(attribute(RANGE_SIZE, at)?);
        match after.map(|after| after as usize) {
            Some(after) if after > at && attribute(ACCESS, at)? == READ_AND_WRITE => at = after,
            _ => {
                return Err(Code::INVALID_VALUE
                    .because(format!("the memory at {at:#x} is not writable by kernels")));
            }
        }
    }
    Ok(())
}

unsafe fn fill_2d(
    at: usize,
    pitch: usize,
    value: i32,
    (width, height): (usize, usize),
    order: CopyOrder,
) -> Result {
    // Like C's `memset`, uses the lowest byte of the value.
    let byte = value as u8;
    match order {
        CopyOrder::Now => driver::cuMemsetD2D8_v2(at, pitch, byte, width, height),
        CopyOrder::InStream(stream) => {
            driver::cuMemsetD2D8Async(at, pitch, byte, width, height, stream)
        }
    }
}

export! {
    /// [`cudaMemcpy`] on the per-thread default stream.
    fn cudaMemcpy_ptds(to: usize, from: usize, bytes: usize, kind: i32) {
        copy(to, from, bytes, kind, CopyOrder::InStream(per_thread(0)))?;
        driver::cuStreamSynchronize(per_thread(0))
    }

    /// [`cudaMemset`] on the per-thread default stream.
    fn cudaMemset_ptds(at: usize, value: i32, bytes: usize) {
        bind_context()?;
        driver::cuMemsetD8Async(at, value as u8, bytes, per_thread(0))
    }
}

export_copies! {
    /// Copies a range.
    fn cudaMemcpy, cudaMemcpyAsync / cudaMemcpyAsync_ptsz(to: usize, from: usize, bytes: usize, kind: i32; order) {
        copy(to, from, bytes, kind, order)
    }

    /// Copies a range from one device's memory to another's.
    fn cudaMemcpyPeer, cudaMemcpyPeerAsync / cudaMemcpyPeerAsync_ptsz(
        to: usize, to_device: i32, from: usize, from_device: i32, bytes: usize; order
    ) {
        bind_context()?;
        let (to_context, from_context) = (primary(to_device)?, primary(from_device)?);
        match order {
            CopyOrder::Now => driver::cuMemcpyPeer(to, to_context, from, from_context, bytes),
            CopyOrder::InStream(stream) => driver::cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, stream),
        }
    }

    /// Copies rows of a pitched range.
    fn cudaMemcpy2D, cudaMemcpy2DAsync / cudaMemcpy2DAsync_ptsz(
        to: usize, to_pitch: usize, from: usize, from_pitch: usize, width: usize, height: usize, kind: i32; order
    ) {
        let pitches = to_pitch.min(from_pitch);
        fail_if!(width > pitches, INVALID_PITCH, "the rows have {width} bytes, but the pitch is {pitches}");
        bind_context()?;
        let pitched = |address, pitch| PitchedPointer { address, pitch, width, height };
        let (from, to) = (pitched(from, from_pitch), pitched(to, to_pitch));
        let extent = Extent { width, height, depth: 1 };
        run(&driver_copy(&Copy3D { from, to, extent, kind, ..Copy3D::default() })?, order)
    }

    /// Copies a three-dimensional extent.
    fn cudaMemcpy3D, cudaMemcpy3DAsync / cudaMemcpy3DAsync_ptsz(parameters: In<'_, Copy3D>; order) {
        let parameters = parameters.get_as("p")?;
        bind_context()?;
        run(&driver_copy(&parameters)?, order)
    }

    /// Fills a range with a byte.
    fn cudaMemset, cudaMemsetAsync / cudaMemsetAsync_ptsz(at: usize, value: i32, bytes: usize; order) {
        bind_context()?;
        match order {
            CopyOrder::Now => driver::cuMemsetD8_v2(at, value as u8, bytes),
            CopyOrder::InStream(stream) => driver::cuMemsetD8Async(at, value as u8, bytes, stream),
        }
    }

    /// Fills rows with a byte.
    fn cudaMemset2D, cudaMemset2DAsync / cudaMemset2DAsync_ptsz(
        at: usize, pitch: usize, value: i32, width: usize, height: usize; order
    ) {
        bind_context()?;
        fill_2d(at, pitch, value, (width, height), order)
    }

    /// Fills a three-dimensional extent with a byte.
    fn cudaMemset3D, cudaMemset3DAsync / cudaMemset3DAsync_ptsz(at: PitchedPointer, value: i32, extent: Extent; order) {
        fill_3d(at, value, extent, order)
    }
}
