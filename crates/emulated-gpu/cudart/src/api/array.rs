//! Arrays, and copies of rectangles from and to them.

use c_abi::{Code, export};

use crate::abi::texture::{Channels, DriverArray};
use crate::abi::{DriverCopy3D, DriverSide, Extent};
use crate::channels;
use crate::context::bind;
use crate::driver;
use crate::ffi::{In, Out, Result, export_on_stream};

use super::copy::{CopyKind, When, run};

/// The driver's kind of memory that is an array.
pub(super) const ARRAY: i32 = 3;

/// What the driver says of an array.
pub(super) fn describe(array: usize) -> Result<DriverArray> {
    let mut found = DriverArray::default();
    // SAFETY: the description is written to a place for one.
    unsafe { driver::cuArray3DGetDescriptor_v2(&raw mut found as usize, array)? };
    Ok(found)
}

/// The bytes of an array's texel.
pub(super) fn texel(array: usize) -> Result<usize> {
    let DriverArray { format, channels, .. } = describe(array)?;
    Ok(channels::bytes(format, channels).max(1))
}

/// What the driver is told of an array that goes to `out`.
///
/// # Safety
/// The addresses are the program's, as the driver's function wants them.
unsafe fn described(
    out: Out<'_, usize>,
    channels: In<'_, Channels>,
    extent: Extent,
    flags: u32,
) -> Result<DriverArray> {
    bind()?;
    out.required_as("array")?;
    let (format, channels) = channels::format(channels.get_as("desc")?)?;
    Ok(DriverArray { extent, format, channels, flags })
}

/// # Safety
/// The addresses are the program's, as the driver's function wants them.
unsafe fn make(
    out: Out<'_, usize>,
    channels: In<'_, Channels>,
    extent: Extent,
    flags: u32,
) -> Result {
    let description = described(out, channels, extent, flags)?;
    driver::cuArray3DCreate_v2(out.address(), &raw const description as usize)
}

/// A side of a copy that is an array, from a byte of a row on.
fn in_array(array: usize, (x, y): (usize, usize)) -> DriverSide {
    DriverSide { kind: ARRAY, array, x, y, ..DriverSide::default() }
}

/// One that is memory of rows.
fn in_memory(kind: i32, address: usize, pitch: usize) -> DriverSide {
    DriverSide { kind, host: address, device: address as u64, pitch, ..DriverSide::default() }
}

/// A rectangle, in bytes and rows.
///
/// # Safety
/// The addresses are the program's, as the driver's function wants them.
unsafe fn rectangle(from: DriverSide, to: DriverSide, size: (usize, usize), when: When) -> Result {
    bind()?;
    let (width, height) = size;
    for side in [from, to] {
        if side.kind != ARRAY && height > 1 && side.pitch < width {
            return Err(Code::INVALID_PITCH
                .because(format!("rows of {width} bytes are {} bytes apart", side.pitch)));
        }
    }
    run(&DriverCopy3D { from, to, width, height, depth: 1 }, when)
}

/// This many bytes from a byte of a row of an array on: of that row, or of whole rows.
fn line(array: usize, (x, y): (usize, usize), bytes: usize) -> Result<(usize, usize)> {
    let row = describe(array)?.extent.width.saturating_mul(texel(array)?).max(1);
    if x.checked_add(bytes).is_some_and(|end| end <= row) {
        return Ok((bytes, 1));
    }
    if x == 0 && bytes.is_multiple_of(row) {
        return Ok((row, bytes / row));
    }
    Err(Code::INVALID_VALUE.because(format!(
        "{bytes} bytes from byte {x} of row {y} of an array whose rows have {row}: neither in one row nor \
         whole rows; copy it with cudaMemcpy2DToArray or cudaMemcpy2DFromArray"
    )))
}

/// # Safety
/// The addresses are the program's, as the driver's function wants them.
unsafe fn into_array(
    (to, at): (usize, (usize, usize)),
    (from, pitch): (usize, usize),
    size: (usize, usize),
    (kind, when): (i32, When),
) -> Result {
    let (from_kind, _) = CopyKind::of(kind)?.sides();
    rectangle(in_memory(from_kind, from, pitch), in_array(to, at), size, when)
}

/// # Safety
/// The addresses are the program's, as the driver's function wants them.
unsafe fn out_of_array(
    (to, pitch): (usize, usize),
    (from, at): (usize, (usize, usize)),
    size: (usize, usize),
    (kind, when): (i32, When),
) -> Result {
    let (_, to_kind) = CopyKind::of(kind)?.sides();
    rectangle(in_array(from, at), in_memory(to_kind, to, pitch), size, when)
}

export! {
    /// An array of one dimension, or of two.
    fn cudaMallocArray(
        out: Out<'_, usize>, channels: In<'_, Channels>, width: usize, height: usize, flags: u32
    ) {
        make(out, channels, Extent { width, height, depth: 0 }, flags)
    }

    /// One of three, or of layers.
    fn cudaMalloc3DArray(out: Out<'_, usize>, channels: In<'_, Channels>, extent: Extent, flags: u32) {
        make(out, channels, extent, flags)
    }

    /// Gives it back; null is nothing.
    fn cudaFreeArray(array: usize) {
        bind()?;
        if array == 0 { Ok(()) } else { driver::cuArrayDestroy(array) }
    }

    /// An array for each level, each half as large as the one before.
    fn cudaMallocMipmappedArray(
        out: Out<'_, usize>, channels: In<'_, Channels>, extent: Extent, levels: u32, flags: u32
    ) {
        let description = described(out, channels, extent, flags)?;
        driver::cuMipmappedArrayCreate(out.address(), &raw const description as usize, levels)
    }

    /// The array of a level.
    fn cudaGetMipmappedArrayLevel(out: Out<'_, usize>, mipmap: usize, level: u32) {
        bind()?;
        out.required_as("levelArray")?;
        driver::cuMipmappedArrayGetLevel(out.address(), mipmap, level)
    }

    /// Gives it back, with its levels; null is nothing.
    fn cudaFreeMipmappedArray(mipmap: usize) {
        bind()?;
        if mipmap == 0 { Ok(()) } else { driver::cuMipmappedArrayDestroy(mipmap) }
    }

    /// What an array is.
    fn cudaArrayGetInfo(channels: Out<'_, Channels>, extent: Out<'_, Extent>, flags: Out<'_, u32>, array: usize) {
        bind()?;
        let found = describe(array)?;
        channels.set_if_wanted(channels::of(found.format, found.channels));
        extent.set_if_wanted(found.extent);
        flags.set_if_wanted(found.flags);
        Ok(())
    }

    /// What its texels are.
    fn cudaGetChannelDesc(out: Out<'_, Channels>, array: usize) {
        bind()?;
        out.required_as("desc")?;
        let found = describe(array)?;
        out.set_as(channels::of(found.format, found.channels), "desc")
    }

    /// How many texels of memory a texture can have.
    fn cudaDeviceGetTexture1DLinearMaxWidth(
        out: Out<'_, usize>, channels: In<'_, Channels>, device: i32
    ) {
        bind()?;
        out.required_as("maxWidthInElements")?;
        let (format, channels) = channels::format(channels.get_as("fmtDesc")?)?;
        driver::cuDeviceGetTexture1DLinearMaxWidth(out.address(), format, channels, device)
    }

    /// Copies rows into an array.
    fn cudaMemcpy2DToArray(
        to: usize, x: usize, y: usize, from: usize, pitch: usize, width: usize, height: usize,
        kind: i32
    ) {
        into_array((to, (x, y)), (from, pitch), (width, height), (kind, When::Now))
    }

    /// Copies rows out of an array.
    fn cudaMemcpy2DFromArray(
        to: usize, pitch: usize, from: usize, x: usize, y: usize, width: usize, height: usize,
        kind: i32
    ) {
        out_of_array((to, pitch), (from, (x, y)), (width, height), (kind, When::Now))
    }

    /// Copies rows from one array to another.
    fn cudaMemcpy2DArrayToArray(
        to: usize, to_x: usize, to_y: usize, from: usize, from_x: usize, from_y: usize,
        width: usize, height: usize, kind: i32
    ) {
        CopyKind::of(kind)?;
        let (from, to) = (in_array(from, (from_x, from_y)), in_array(to, (to_x, to_y)));
        rectangle(from, to, (width, height), When::Now)
    }

    /// Copies bytes into an array, row behind row.
    fn cudaMemcpyToArray(to: usize, x: usize, y: usize, from: usize, bytes: usize, kind: i32) {
        bind()?;
        let size = line(to, (x, y), bytes)?;
        into_array((to, (x, y)), (from, size.0), size, (kind, When::Now))
    }

    /// Copies bytes out of an array, row behind row.
    fn cudaMemcpyFromArray(to: usize, from: usize, x: usize, y: usize, bytes: usize, kind: i32) {
        bind()?;
        let size = line(from, (x, y), bytes)?;
        out_of_array((to, size.0), (from, (x, y)), size, (kind, When::Now))
    }
}

export_on_stream! {
    /// Copies rows into an array when their turn has come.
    fn cudaMemcpy2DToArrayAsync / cudaMemcpy2DToArrayAsync_ptsz(
        to: usize, x: usize, y: usize, from: usize, pitch: usize, width: usize, height: usize,
        kind: i32; stream
    ) {
        into_array((to, (x, y)), (from, pitch), (width, height), (kind, When::In(stream)))
    }

    /// Copies rows out of an array when their turn has come.
    fn cudaMemcpy2DFromArrayAsync / cudaMemcpy2DFromArrayAsync_ptsz(
        to: usize, pitch: usize, from: usize, x: usize, y: usize, width: usize, height: usize,
        kind: i32; stream
    ) {
        out_of_array((to, pitch), (from, (x, y)), (width, height), (kind, When::In(stream)))
    }

    /// Copies bytes into an array when their turn has come.
    fn cudaMemcpyToArrayAsync / cudaMemcpyToArrayAsync_ptsz(
        to: usize, x: usize, y: usize, from: usize, bytes: usize, kind: i32; stream
    ) {
        bind()?;
        let size = line(to, (x, y), bytes)?;
        into_array((to, (x, y)), (from, size.0), size, (kind, When::In(stream)))
    }

    /// Copies bytes out of an array when their turn has come.
    fn cudaMemcpyFromArrayAsync / cudaMemcpyFromArrayAsync_ptsz(
        to: usize, from: usize, x: usize, y: usize, bytes: usize, kind: i32; stream
    ) {
        bind()?;
        let size = line(from, (x, y), bytes)?;
        out_of_array((to, size.0), (from, (x, y)), size, (kind, When::In(stream)))
    }
}
