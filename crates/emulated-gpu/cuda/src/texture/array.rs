//! CUDA arrays: texels that are only accessed by copies, textures and surfaces. NVIDIA's memory layout of arrays is
//! opaque; the emulator's layout is row-major.

use std::sync::Arc;

use ptx_emulator::texture::{Channel, Format, Texels};

use crate::abi::Handle;
use crate::abi::error::{Code, Result};
use crate::abi::registry::new_handle;
use crate::abi::texture::Array3dDescription;
use crate::context::Context;
use crate::context::hardware::Hardware;
use crate::device::texture_limits::{PITCH_ALIGNMENT, limits};
use crate::memory::allocations::AllocationKind;
use crate::memory::copy::{CopyMemory, End};

/// `CUDA_ARRAY3D_…`
const LAYERED: u32 = 1;
pub(crate) const SURFACE: u32 = 2;
const CUBE_MAP: u32 = 4;
const GATHER: u32 = 8;
const DEPTH: u32 = 0x10;
const COLOUR_ATTACHMENT: u32 = 0x20;
const SPARSE: u32 = 0x40;
const DEFERRED: u32 = 0x80;

/// Whether the depth of an array with these flags counts layers or cube faces.
pub(crate) fn is_layered(flags: u32) -> bool {
    flags & (LAYERED | CUBE_MAP) != 0
}

/// The supported values of `CUarray_format`: the formats that textures can filter and surfaces can store.
const FORMATS: [(u32, Channel); 8] = [
    (0x01, Channel::U8),
    (0x02, Channel::U16),
    (0x03, Channel::U32),
    (0x08, Channel::S8),
    (0x09, Channel::S16),
    (0x0a, Channel::S32),
    (0x10, Channel::F16),
    (0x20, Channel::F32),
];

/// An array.
#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) handle: Handle,
    pub(crate) context: Handle,
    /// The description with which the array was created.
    pub(crate) description: Array3dDescription,
    pub(crate) texels: Texels,
    hardware: Arc<Hardware>,
}

/// The texel format for a `CUarray_format` and a number of channels.
///
/// # Errors
/// `INVALID_VALUE` if there is no such format, `NOT_SUPPORTED` if it is not emulated.
pub(crate) fn format(number: u32, channels: u32) -> Result<Format> {
    let row = FORMATS.iter().find(|(format, _)| *format == number);
    let Some(&(_, channel)) = row else {
        // The other existing formats: video planes, normalised formats and block-compressed formats.
        let exists = matches!(number, 0x50 | 0x60..=0x7f | 0x90..=0xdf);
        let code = if exists { Code::NOT_SUPPORTED } else { Code::INVALID_VALUE };
        return Err(code.because(format!(
            "the texel format {number:#x} is not emulated; use integers of 8, 16 or 32 bits, half \
             or float"
        )));
    };
    if !matches!(channels, 1 | 2 | 4) {
        return Err(Code::INVALID_VALUE
            .because(format!("a texel must have 1, 2 or 4 channels, and not {channels}")));
    }
    Ok(Format { channel, channels })
}

impl Array {
    /// Creates an array on the context's device.
    ///
    /// # Errors
    /// `INVALID_VALUE` for a description that is not valid, `NOT_SUPPORTED` for features that are not emulated,
    /// `OUT_OF_MEMORY` if not enough memory is free.
    pub(crate) fn new(context: &Context, description: Array3dDescription) -> Result<Self> {
        let texels = layout(&description)?;
        let hardware = Arc::clone(&context.hardware);
        let size = texels.reach().ok_or_else(too_large)?;
        let base = hardware.allocations.device(size, AllocationKind::Array, context.owner())?;
        let (handle, texels) = (new_handle(), Texels { base, ..texels });
        Ok(Self { handle, context: context.handle, description, texels, hardware })
    }

    /// Frees the array's memory. Work that already uses the memory keeps it.
    ///
    /// # Errors
    /// The errors of [`Allocations::free`](crate::memory::allocations::Allocations::free).
    pub(crate) fn destroy(&self) -> Result {
        let is_array = |kind: &AllocationKind| matches!(kind, AllocationKind::Array);
        self.hardware.allocations.free(self.texels.base, is_array).map(|_| ())
    }

    /// The width in bytes, the number of rows, and the number of slices or layers; each is at least 1.
    pub(crate) fn extent(&self) -> [u64; 3] {
        let [width, height, depth] = self.texels.lengths();
        [width * self.texels.format.bytes(), height, depth * self.texels.layers.max(1)]
    }

    /// A region of the array as one end of a copy. `at` and `size` are in bytes, rows and slices.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the region is not inside the array, or begins inside a texel.
    pub(crate) fn region(&self, at: [usize; 3], size: [usize; 3]) -> Result<End> {
        let extent = self.extent();
        let outside = at.iter().zip(size).zip(extent).any(|((&at, size), length)| {
            at.checked_add(size).is_none_or(|end| end as u64 > length)
        });
        if outside {
            return Err(Code::INVALID_VALUE.because(format!(
                "{size:?} bytes, rows and slices at {at:?} are not inside an array of {extent:?}"
            )));
        }
        let texels = &self.texels;
        let size = texels.format.bytes();
        if !at.first().is_some_and(|&x| (x as u64).is_multiple_of(size)) {
            return Err(Code::INVALID_VALUE.because(format!(
                "a copy must begin at a texel boundary of the array ({size} bytes per texel)"
            )));
        }
        let [x, y, z] = at.map(|index| index as u64);
        let address = texels.base + x + y * texels.pitch + z * texels.slice;
        let (pitch, slice) = (texels.pitch as usize, texels.slice as usize);
        let array = Some((self.handle, at));
        Ok(End { place: CopyMemory::Device(address), pitch, slice, array })
    }
}

fn too_large() -> crate::abi::error::Error {
    Code::INVALID_VALUE.because("the array is too large")
}

/// The layout of an array's texels, with a base address of 0.
fn layout(description: &Array3dDescription) -> Result<Texels> {
    let Array3dDescription { width, height, depth, format: number, channels, flags } = *description;
    let format = format(number, channels)?;
    let unsupported = [
        (DEPTH, "depth textures"),
        (SPARSE, "sparse arrays"),
        (DEFERRED, "deferred-mapping arrays"),
    ];
    if let Some((_, what)) = unsupported.iter().find(|(flag, _)| flags & flag != 0) {
        return Err(Code::NOT_SUPPORTED.because(format!("{what} are not emulated")));
    }
    if flags & !(LAYERED | SURFACE | CUBE_MAP | GATHER | COLOUR_ATTACHMENT) != 0 {
        return Err(Code::INVALID_VALUE.because(format!("unknown flags {flags:#x} of an array")));
    }
    // The faces of a cube, or of several, are layers.
    let cube = flags & CUBE_MAP != 0;
    let layered = is_layered(flags);
    let has_whole_cubes = if flags & LAYERED == 0 { depth == 6 } else { depth.is_multiple_of(6) };
    if cube && (width != height || !has_whole_cubes) {
        return Err(Code::INVALID_VALUE
            .because(format!("{depth} faces of {width} × {height}: a cube has six square faces, and layered cubes a multiple of six")));
    }
    let layers = if layered { depth } else { 0 };
    let max = limits(height, depth, layered, flags & SURFACE != 0);
    let shape = [width, height, depth].map(|length| length as u64);
    let invalid = width == 0
        || height == 0 && depth > 0 && !layered
        || layered && depth == 0
        || shape.iter().zip(max).any(|(length, max)| *length > max);
    if invalid {
        return Err(Code::INVALID_VALUE.because(format!(
            "an array of {width} × {height} × {depth}{}: the maximum is {max:?}, the width must not be 0, and a \
             depth needs a height",
            if layered { " layers" } else { "" }
        )));
    }
    let row = (width as u64).checked_mul(format.bytes()).ok_or_else(too_large)?;
    let pitch = row.checked_next_multiple_of(PITCH_ALIGNMENT).ok_or_else(too_large)?;
    let slice = pitch.checked_mul(height.max(1) as u64).ok_or_else(too_large)?;
    let texels = Texels {
        base: 0,
        format,
        width: width as u64,
        height: height as u64,
        depth: if layered { 0 } else { depth as u64 },
        layers: layers as u64,
        pitch,
        slice,
        linear: false,
        cube,
    };
    texels.reach().ok_or_else(too_large)?;
    Ok(texels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texels_of(width: usize, height: usize, depth: usize, flags: u32) -> Result<Texels> {
        layout(&Array3dDescription { width, height, depth, format: 0x20, channels: 2, flags })
    }

    #[test]
    fn rows_are_padded_and_slices_follow_each_other() {
        let flat = texels_of(5, 3, 0, 0).unwrap();
        assert_eq!((flat.pitch, flat.slice, flat.reach()), (64, 192, Some(2 * 64 + 40)));
        let layered = texels_of(5, 0, 7, LAYERED).unwrap();
        assert_eq!((layered.depth, layered.layers, layered.slice), (0, 7, 64));
        let deep = texels_of(2, 2, 2, SURFACE).unwrap();
        assert_eq!((deep.depth, deep.layers, deep.reach()), (2, 0, Some(32 + 64 + 16)));
    }

    #[test]
    fn invalid_descriptions_are_rejected() {
        let code = |result: Result<Texels>| result.unwrap_err().code;
        for (width, height, depth, flags) in [
            (0, 0, 0, 0),
            (4, 0, 4, 0),
            (4, 4, 0, LAYERED),
            (131_073, 0, 0, 0),
            (4, 4, 2049, LAYERED),
            (usize::MAX, usize::MAX, usize::MAX, 0),
            (4, 4, 0, 0x100),
        ] {
            let result = code(texels_of(width, height, depth, flags));
            assert_eq!(result, Code::INVALID_VALUE, "{width} {height} {depth} {flags}");
        }
        assert_eq!(texels_of(4, 4, 6, CUBE_MAP).unwrap().layers, 6);
        assert_eq!(texels_of(4, 4, 24, LAYERED | CUBE_MAP).unwrap().layers, 24);
        for (height, depth, flags) in
            [(4, 5, CUBE_MAP), (4, 12, CUBE_MAP), (3, 6, CUBE_MAP), (4, 9, 5)]
        {
            assert_eq!(code(texels_of(4, height, depth, flags)), Code::INVALID_VALUE);
        }
        assert_eq!(code(texels_of(4, 4, 0, SPARSE)), Code::NOT_SUPPORTED);
        assert_eq!(format(3, 3).unwrap_err().code, Code::INVALID_VALUE);
        assert_eq!(format(4, 1).unwrap_err().code, Code::INVALID_VALUE);
        assert_eq!(format(0xb0, 1).unwrap_err().code, Code::NOT_SUPPORTED);
    }
}
