//! CUDA arrays, and the one-dimensional copies from and to them.

use crate::abi::error::{Code, Result};
use crate::abi::texture::{Array3dDescription, ArrayDescription};
use crate::abi::{Device, Handle, In, Out, Pointer};
use crate::api::calling_thread;
use crate::api::context::synchronize_users;
use crate::api::device;
use crate::api::driver::driver;
use crate::api::memory::copy::{CallKind, copies, copy, place_of};
use crate::device::texture_limits::LINEAR_WIDTH;
use crate::memory::copy::{CopyMemory, End, Transfer};
use crate::stream::capture;
use crate::texture::array;

fn create(out: Out<Handle>, description: Array3dDescription) -> Result {
    out.required()?;
    capture::forbid_unsafe_call(&driver()?.captures)?;
    let context = calling_thread::context()?;
    out.set(driver()?.arrays.create(&context, description)?.handle)
}

/// Describes a range of an array, which the caller states in bytes: a part of one row, or whole rows. Also returns the
/// width and the height of the range.
fn range(handle: Handle, offset: usize, bytes: usize) -> Result<(End, [usize; 2])> {
    let array = driver()?.arrays.array(handle)?;
    let [row, ..] = array.extent();
    let row = row as usize;
    let (x, y) = (offset % row, offset / row);
    if x.checked_add(bytes).is_some_and(|end| end <= row) {
        return Ok((array.region([x, y, 0], [bytes, 1, 1])?, [bytes, 1]));
    }
    if x != 0 || !bytes.is_multiple_of(row) {
        return Err(Code::INVALID_VALUE.because(format!(
            "{bytes} bytes from byte {offset} of an array with rows of {row} bytes are neither part of one row \
             nor whole rows; copy them with cuMemcpy2D"
        )));
    }
    let rows = bytes / row;
    Ok((array.region([0, y, 0], [row, rows, 1])?, [row, rows]))
}

/// Describes the memory at the other end of a one-dimensional copy, which has contiguous rows.
fn contiguous(place: CopyMemory, [width, rows]: [usize; 2]) -> End {
    End { place, pitch: width, slice: width * rows, array: None }
}

fn transfer(from: End, to: End, [width, height]: [usize; 2]) -> Transfer {
    Transfer { from, to, width, height, depth: 1, given: None }
}

fn into_array(
    (to, offset): (Handle, usize),
    from: CopyMemory,
    size: usize,
    (stream, call): (Handle, CallKind),
) -> Result {
    let (to, shape) = range(to, offset, size)?;
    copy(transfer(contiguous(from, shape), to, shape), stream, call)
}

fn out_of_array(
    to: CopyMemory,
    (from, offset): (Handle, usize),
    size: usize,
    (stream, call): (Handle, CallKind),
) -> Result {
    let (from, shape) = range(from, offset, size)?;
    copy(transfer(from, contiguous(to, shape), shape), stream, call)
}

copies! {
    3020 cuMemcpyHtoA_v2, cuMemcpyHtoA_v2_ptds, cuMemcpyHtoAAsync_v2, cuMemcpyHtoAAsync_v2_ptsz
        (to: Handle, offset: usize, from: In<u8>, size: usize)
        |stream, call| into_array((to, offset), place_of(from.address() as u64)?, size, (stream, call));
    3020 cuMemcpyAtoH_v2, cuMemcpyAtoH_v2_ptds, cuMemcpyAtoHAsync_v2, cuMemcpyAtoHAsync_v2_ptsz
        (to: Out<u8>, from: Handle, offset: usize, size: usize)
        |stream, call| out_of_array(place_of(to.address() as u64)?, (from, offset), size, (stream, call));

    others:
    3020 fn cuArrayCreate_v2(out: Out<Handle>, description: In<ArrayDescription>) {
        let ArrayDescription { width, height, format, channels } = description.get()?;
        let (depth, flags) = (0, 0);
        create(out, Array3dDescription { width, height, depth, format, channels, flags })
    }

    3020 fn cuArrayGetDescriptor_v2(out as required: Out<ArrayDescription>, array: Handle) {
        let Array3dDescription { width, height, format, channels, .. } =
            driver()?.arrays.array(array)?.description;
        out.set(ArrayDescription { width, height, format, channels })
    }

    3020 fn cuArray3DCreate_v2(out: Out<Handle>, description: In<Array3dDescription>) {
        create(out, description.get()?)
    }

    3020 fn cuArray3DGetDescriptor_v2(out as required: Out<Array3dDescription>, array: Handle) {
        out.set(driver()?.arrays.array(array)?.description)
    }

    2000 fn cuArrayDestroy(array: Handle) {
        capture::forbid_unsafe_call(&driver()?.captures)?;
        let array = driver()?.arrays.array(array)?;
        let arrays = &driver()?.arrays;
        if arrays.is_level(&array) {
            return Err(Code::INVALID_VALUE
                .because("the array is a level of a mipmapped array; destroy that with cuMipmappedArrayDestroy"));
        }
        synchronize_users(Some(array.context))?;
        arrays.destroy(&array)
    }

    3020 fn cuMemcpyDtoA_v2(to: Handle, offset: usize, from: Pointer, size: usize)
    also cuMemcpyDtoA_v2_ptds {
        into_array((to, offset), CopyMemory::Device(from), size, (0, CallKind::Synchronous))
    }

    3020 fn cuMemcpyAtoD_v2(to: Pointer, from: Handle, offset: usize, size: usize)
    also cuMemcpyAtoD_v2_ptds {
        out_of_array(CopyMemory::Device(to), (from, offset), size, (0, CallKind::Synchronous))
    }

    3020 fn cuMemcpyAtoA_v2(
        to: Handle, to_offset: usize, from: Handle, from_offset: usize, size: usize,
    ) also cuMemcpyAtoA_v2_ptds {
        let (to, shape) = range(to, to_offset, size)?;
        let (from, other) = range(from, from_offset, size)?;
        if shape != other {
            return Err(Code::INVALID_VALUE.because(
                "the range is part of one row in one array and several rows in the other; copy it with \
                 cuMemcpy2D",
            ));
        }
        copy(transfer(from, to, shape), 0, CallKind::Synchronous)
    }

    11010 fn cuDeviceGetTexture1DLinearMaxWidth(
        out as required: Out<usize>, format: u32, channels: u32, device: Device,
    ) {
        device::check(device)?;
        array::format(format, channels)?;
        out.set(LINEAR_WIDTH as usize)
    }
}
