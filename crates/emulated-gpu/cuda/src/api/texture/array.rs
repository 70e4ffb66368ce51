//! CUDA arrays, and the copies that name one and an offset.

use crate::abi::error::{Code, Result};
use crate::abi::ffi::export;
use crate::abi::texture::{Array3dDescription, ArrayDescription};
use crate::abi::{Device, Handle, In, Out, Pointer};
use crate::api::calling_thread;
use crate::api::context::synchronize_users;
use crate::api::device;
use crate::api::driver::driver;
use crate::api::memory::copy::{Waits, copy, place_of};
use crate::device::texture_limits::LINEAR;
use crate::memory::copy::{CopyMemory, End, Transfer};
use crate::stream::capture;
use crate::texture::array;

fn create(out: Out<Handle>, description: Array3dDescription) -> Result {
    out.required()?;
    capture::forbid_unsafe_call(&driver()?.captures)?;
    let context = calling_thread::context()?;
    out.set(driver()?.arrays.create(&context, description)?.handle)
}

/// A range of an array, in bytes from its first one: in one row, or of whole rows.
fn range(handle: Handle, offset: usize, bytes: usize) -> Result<(End, [usize; 2])> {
    let array = driver()?.arrays.array(handle)?;
    let [row, ..] = array.extent();
    let row = row as usize;
    let (x, y) = (offset % row, offset / row);
    if x.checked_add(bytes).is_some_and(|end| end <= row) {
        return Ok((array.part([x, y, 0], [bytes, 1, 1])?, [bytes, 1]));
    }
    if x != 0 || !bytes.is_multiple_of(row) {
        return Err(Code::INVALID_VALUE.because(format!(
            "{bytes} bytes from byte {offset} of an array whose rows have {row}: neither in one row nor \
             whole rows; copy it with cuMemcpy2D"
        )));
    }
    let rows = bytes / row;
    Ok((array.part([0, y, 0], [row, rows, 1])?, [row, rows]))
}

/// Memory beside such a range: rows one behind another.
fn beside(place: CopyMemory, [width, rows]: [usize; 2]) -> End {
    End { place, pitch: width, slice: width * rows, array: None }
}

fn moved(from: End, to: End, [width, height]: [usize; 2]) -> Transfer {
    Transfer { from, to, width, height, depth: 1, given: None }
}

fn into_array(
    (to, offset): (Handle, usize),
    from: CopyMemory,
    size: usize,
    (stream, waits): (Handle, Waits),
) -> Result {
    let (to, shape) = range(to, offset, size)?;
    copy(moved(beside(from, shape), to, shape), stream, waits)
}

fn out_of_array(
    to: CopyMemory,
    (from, offset): (Handle, usize),
    size: usize,
    (stream, waits): (Handle, Waits),
) -> Result {
    let (from, shape) = range(from, offset, size)?;
    copy(moved(from, beside(to, shape), shape), stream, waits)
}

export! {
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
            return Err(Code::INVALID_VALUE.because(
                "the array is a level of a mipmapped one: cuMipmappedArrayDestroy ends them all"
            ));
        }
        synchronize_users(Some(array.context))?;
        arrays.destroy(&array)
    }

    3020 fn cuMemcpyHtoA_v2(to: Handle, offset: usize, from: In<u8>, size: usize)
    also cuMemcpyHtoA_v2_ptds {
        let from = place_of(from.address() as u64)?;
        into_array((to, offset), from, size, (0, Waits::Unless))
    }

    3020 fn cuMemcpyHtoAAsync_v2(
        to: Handle, offset: usize, from: In<u8>, size: usize, stream: Handle,
    ) also cuMemcpyHtoAAsync_v2_ptsz {
        let from = place_of(from.address() as u64)?;
        into_array((to, offset), from, size, (stream, Waits::No))
    }

    3020 fn cuMemcpyAtoH_v2(to: Out<u8>, from: Handle, offset: usize, size: usize)
    also cuMemcpyAtoH_v2_ptds {
        let to = place_of(to.address() as u64)?;
        out_of_array(to, (from, offset), size, (0, Waits::Unless))
    }

    3020 fn cuMemcpyAtoHAsync_v2(
        to: Out<u8>, from: Handle, offset: usize, size: usize, stream: Handle,
    ) also cuMemcpyAtoHAsync_v2_ptsz {
        let to = place_of(to.address() as u64)?;
        out_of_array(to, (from, offset), size, (stream, Waits::No))
    }

    3020 fn cuMemcpyDtoA_v2(to: Handle, offset: usize, from: Pointer, size: usize)
    also cuMemcpyDtoA_v2_ptds {
        into_array((to, offset), CopyMemory::Device(from), size, (0, Waits::Unless))
    }

    3020 fn cuMemcpyAtoD_v2(to: Pointer, from: Handle, offset: usize, size: usize)
    also cuMemcpyAtoD_v2_ptds {
        out_of_array(CopyMemory::Device(to), (from, offset), size, (0, Waits::Unless))
    }

    3020 fn cuMemcpyAtoA_v2(
        to: Handle, to_offset: usize, from: Handle, from_offset: usize, size: usize,
    ) also cuMemcpyAtoA_v2_ptds {
        let (to, shape) = range(to, to_offset, size)?;
        let (from, other) = range(from, from_offset, size)?;
        if shape != other {
            return Err(Code::INVALID_VALUE.because(
                "the range is one row in one of the arrays, and several in the other: copy it with \
                 cuMemcpy2D",
            ));
        }
        copy(moved(from, to, shape), 0, Waits::Unless)
    }

    11010 fn cuDeviceGetTexture1DLinearMaxWidth(
        out as required: Out<usize>, format: u32, channels: u32, device: Device,
    ) {
        device::check(device)?;
        array::format(format, channels)?;
        out.set(LINEAR as usize)
    }
}
