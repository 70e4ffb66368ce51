//! Arrays, and copies of rectangles to and from them.

use c_abi::{Code, export};

use crate::abi::texture::{Channels, DriverArray};
use crate::abi::{DriverCopy3D, DriverSide, Extent};
use crate::channels;
use crate::context::bind_context;
use crate::driver;
use crate::ffi::{In, Out, Result, export_copies};

use super::copy::{CopyKind, CopyOrder, run};

/// `CU_MEMORYTYPE_ARRAY`
pub(super) const ARRAY: i32 = 3;

/// Returns the driver's description of an array.
pub(super) fn describe(array: usize) -> Result<DriverArray> {
    let mut description = DriverArray::default();
    // SAFETY: the driver writes a description to `description`, which has that type.
    unsafe { driver::cuArray3DGetDescriptor_v2(&raw mut description as usize, array)? };
    Ok(description)
}

/// The size of an array's texel in bytes.
pub(super) fn texel(array: usize) -> Result<usize> {
    let DriverArray { format, channels, .. } = describe(array)?;
    Ok(channels::bytes(format, channels).max(1))
}

/// Builds the driver's description of a new array whose handle will be written to `out`.
unsafe fn description(
    out: Out<'_, usize>,
    channels: In<'_, Channels>,
    extent: Extent,
    flags: u32,
) -> Result<DriverArray> {
    bind_context()?;
    out.require_as("array")?;
    let (format, channels) = channels::format(channels.get_as("desc")?)?;
    Ok(DriverArray { extent, format, channels, flags })
}

unsafe fn create_array(
    out: Out<'_, usize>,
    channels: In<'_, Channels>,
    extent: Extent,
    flags: u32,
) -> Result {
    let description = description(out, channels, extent, flags)?;
    driver::cuArray3DCreate_v2(out.address(), &raw const description as usize)
}

/// Describes an array as one side of a copy, starting at byte `x` of row `y`.
fn in_array(array: usize, (x, y): (usize, usize)) -> DriverSide {
    DriverSide { kind: ARRAY, array, x, y, ..DriverSide::default() }
}

/// Describes pitched memory as one side of a copy.
fn in_memory(kind: i32, address: usize, pitch: usize) -> DriverSide {
    DriverSide { kind, host: address, device: address as u64, pitch, ..DriverSide::default() }
}

/// Copies a rectangle; `size` is in bytes and rows.
unsafe fn rectangle(
    from: DriverSide,
    to: DriverSide,
    size: (usize, usize),
    order: CopyOrder,
) -> Result {
    bind_context()?;
    let (width, height) = size;
    for side in [from, to] {
        if side.kind != ARRAY && height > 1 && side.pitch < width {
            return Err(Code::INVALID_PITCH
                .because(format!("the rows have {width} bytes, but the pitch is {}", side.pitch)));
        }
    }
    run(&DriverCopy3D { from, to, width, height, depth: 1 }, order)
}

/// Converts a number of bytes, starting at byte `x` of row `y`, to a width and a number of rows: part of one row, or
/// whole rows.
fn row_range(array: usize, (x, y): (usize, usize), bytes: usize) -> Result<(usize, usize)> {
    let row = describe(array)?.extent.width.saturating_mul(texel(array)?).max(1);
    if x.checked_add(bytes).is_some_and(|end| end <= row) {
        return Ok((bytes, 1));
    }
    if x == 0 && bytes.is_multiple_of(row) {
        return Ok((row, bytes / row));
    }
    Err(Code::INVALID_VALUE.because(format!(
        "{bytes} bytes from byte {x} of row {y} are neither within one row nor whole rows: a row has {row} \
         bytes; use cudaMemcpy2DToArray or cudaMemcpy2DFromArray"
    )))
}

unsafe fn into_array(
    (to, at): (usize, (usize, usize)),
    (from, pitch): (usize, usize),
    size: (usize, usize),
    (kind, order): (i32, CopyOrder),
) -> Result {
    let (from_kind, _) = CopyKind::from_number(kind)?.memory_types();
    rectangle(in_memory(from_kind, from, pitch), in_array(to, at), size, order)
}

unsafe fn out_of_array(
    (to, pitch): (usize, usize),
    (from, at): (usize, (usize, usize)),
    size: (usize, usize),
    (kind, order): (i32, CopyOrder),
) -> Result {
    let (_, to_kind) = CopyKind::from_number(kind)?.memory_types();
    rectangle(in_array(from, at), in_memory(to_kind, to, pitch), size, order)
}

export! {
    /// Creates an array of one or two dimensions.
    fn cudaMallocArray(
        out: Out<'_, usize>, channels: In<'_, Channels>, width: usize, height: usize, flags: u32
    ) {
        create_array(out, channels, Extent { width, height, depth: 0 }, flags)
    }

    /// Creates an array of three dimensions or with layers.
    fn cudaMalloc3DArray(out: Out<'_, usize>, channels: In<'_, Channels>, extent: Extent, flags: u32) {
        create_array(out, channels, extent, flags)
    }

    /// Frees an array; null is a no-op.
    fn cudaFreeArray(array: usize) {
        bind_context()?;
        if array == 0 { Ok(()) } else { driver::cuArrayDestroy(array) }
    }

    /// Creates an array for each mipmap level; each level is half as large as the previous one.
    fn cudaMallocMipmappedArray(
        out: Out<'_, usize>, channels: In<'_, Channels>, extent: Extent, levels: u32, flags: u32
    ) {
        let description = description(out, channels, extent, flags)?;
        driver::cuMipmappedArrayCreate(out.address(), &raw const description as usize, levels)
    }

    /// Returns the array of a level.
    fn cudaGetMipmappedArrayLevel(out: Out<'_, usize>, mipmap: usize, level: u32) {
        bind_context()?;
        out.require_as("levelArray")?;
        driver::cuMipmappedArrayGetLevel(out.address(), mipmap, level)
    }

    /// Frees a mipmapped array and its levels; null is a no-op.
    fn cudaFreeMipmappedArray(mipmap: usize) {
        bind_context()?;
        if mipmap == 0 { Ok(()) } else { driver::cuMipmappedArrayDestroy(mipmap) }
    }

    /// Returns the format, extent and flags of an array.
    fn cudaArrayGetInfo(channels: Out<'_, Channels>, extent: Out<'_, Extent>, flags: Out<'_, u32>, array: usize) {
        bind_context()?;
        let description = describe(array)?;
        channels.set_if_wanted(channels::from_format(description.format, description.channels));
        extent.set_if_wanted(description.extent);
        flags.set_if_wanted(description.flags);
        Ok(())
    }

    /// Returns the texel format of an array.
    fn cudaGetChannelDesc(out: Out<'_, Channels>, array: usize) {
        bind_context()?;
        out.require_as("desc")?;
        let description = describe(array)?;
        out.set_as(channels::from_format(description.format, description.channels), "desc")
    }

    /// Returns the maximum number of texels of a texture in linear memory.
    fn cudaDeviceGetTexture1DLinearMaxWidth(
        out: Out<'_, usize>, channels: In<'_, Channels>, device: i32
    ) {
        bind_context()?;
        out.require_as("maxWidthInElements")?;
        let (format, channels) = channels::format(channels.get_as("fmtDesc")?)?;
        driver::cuDeviceGetTexture1DLinearMaxWidth(out.address(), format, channels, device)
    }

    /// Copies rows from one array to another.
    fn cudaMemcpy2DArrayToArray(
        to: usize, to_x: usize, to_y: usize, from: usize, from_x: usize, from_y: usize,
        width: usize, height: usize, kind: i32
    ) {
        CopyKind::from_number(kind)?;
        let (from, to) = (in_array(from, (from_x, from_y)), in_array(to, (to_x, to_y)));
        rectangle(from, to, (width, height), CopyOrder::Now)
    }
}

export_copies! {
    /// Copies rows into an array.
    fn cudaMemcpy2DToArray, cudaMemcpy2DToArrayAsync / cudaMemcpy2DToArrayAsync_ptsz(
        to: usize, x: usize, y: usize, from: usize, pitch: usize, width: usize, height: usize, kind: i32; order
    ) {
        into_array((to, (x, y)), (from, pitch), (width, height), (kind, order))
    }

    /// Copies rows out of an array.
    fn cudaMemcpy2DFromArray, cudaMemcpy2DFromArrayAsync / cudaMemcpy2DFromArrayAsync_ptsz(
        to: usize, pitch: usize, from: usize, x: usize, y: usize, width: usize, height: usize, kind: i32; order
    ) {
        out_of_array((to, pitch), (from, (x, y)), (width, height), (kind, order))
    }

    /// Copies bytes into consecutive rows of an array.
    fn cudaMemcpyToArray, cudaMemcpyToArrayAsync / cudaMemcpyToArrayAsync_ptsz(
        to: usize, x: usize, y: usize, from: usize, bytes: usize, kind: i32; order
    ) {
        bind_context()?;
        let size = row_range(to, (x, y), bytes)?;
        into_array((to, (x, y)), (from, size.0), size, (kind, order))
    }

    /// Copies bytes out of consecutive rows of an array.
    fn cudaMemcpyFromArray, cudaMemcpyFromArrayAsync / cudaMemcpyFromArrayAsync_ptsz(
        to: usize, from: usize, x: usize, y: usize, bytes: usize, kind: i32; order
    ) {
        bind_context()?;
        let size = row_range(from, (x, y), bytes)?;
        out_of_array((to, size.0), (from, (x, y)), size, (kind, order))
    }
}
