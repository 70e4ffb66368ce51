//! `cudaDeviceProp` in both layouts: `cudaGetDeviceProperties_v2` returns that of CUDA 12, `cudaGetDeviceProperties`
//! that of CUDA 13.

use c_abi::{Code, export};

use crate::context::device_count;
use crate::driver;
use crate::ffi::{Out, Result};

/// A group of consecutive fields. The numbers are driver device attributes.
#[derive(Clone, Copy, Debug)]
enum PropertyFields {
    /// The fields `name`, `uuid`, `luid`, `luidDeviceNodeMask` and `totalGlobalMem`.
    Identity,
    /// Fields of type `int`, one for each of these device attributes.
    Ints(&'static [i32]),
    /// A `size_t`.
    Size(i32),
    /// This number of fields of type `int` that are 0.
    Zeros(usize),
}
use PropertyFields::{Identity, Ints, Size, Zeros};

/// The layout of CUDA 12: 1032 bytes.
const LAYOUT_12: &[PropertyFields] = &[
    Identity,
    Size(8),
    Ints(&[12, 10]),
    Size(11),
    Ints(&[1, 2, 3, 4, 5, 6, 7, 13]),
    Size(9),
    Ints(&[75, 76]),
    Size(14),
    Size(51),
    Ints(&[15, 16, 17, 18, 19, 20, 21, 77, 69]),
    Ints(TEXTURE_LIMITS),
    Size(30),
    Ints(&[31, 32, 33, 34, 50, 35, 40, 41, 36, 37, 38, 108, 39, 78, 79, 80]),
    Size(81),
    Ints(&[82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 95, 96]),
    Size(97),
    Ints(&[100, 101, 106, 109]),
    Size(111),
    Ints(&[99, 112, 113, 114, 115, 116, 117, 118, 119, 121, 125, 120, 129]),
    Zeros(63),
];

/// The layout of CUDA 13: 1008 bytes.
const LAYOUT_13: &[PropertyFields] = &[
    Identity,
    Size(8),
    Ints(&[12, 10]),
    Size(11),
    Ints(&[1, 2, 3, 4, 5, 6, 7]),
    Size(9),
    Ints(&[75, 76]),
    Size(14),
    Size(51),
    Ints(&[16, 18, 19, 21, 77]),
    Ints(TEXTURE_LIMITS),
    Size(30),
    Ints(&[31, 32, 33, 34, 50, 35, 40, 41, 37, 38, 108, 39, 78, 79, 80]),
    Size(81),
    Ints(&[82, 83, 84, 85, 86, 88, 89, 90, 91, 95]),
    Size(97),
    Ints(&[100, 101, 106, 109]),
    Size(111),
    Ints(&[99, 112, 113, 114, 115, 116, 117, 118, 119, 121, 125, 120, 129, 130, 131, 133, 134]),
    Ints(&[139, 140, 143]),
    Zeros(56),
];

/// Limits of textures in two and more dimensions, and of surfaces.
const TEXTURE_LIMITS: &[i32] = &[
    22, 23, 73, 74, 70, 71, 72, 45, 46, 24, 25, 26, 47, 48, 49, 52, 42, 43, 27, 28, 29, 53, 54, 55,
    56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68,
];

/// A device attribute; 0 if the emulated driver does not support it.
fn attribute(which: i32, device: i32) -> i32 {
    let mut value = 0;
    driver::cuDeviceGetAttribute(&mut value, which, device).map_or(0, |()| value)
}

fn identity(bytes: &mut Vec<u8>, device: i32) -> Result {
    let (mut name, mut uuid, mut total) = ([0; 256], [0; 16], 0usize);
    // SAFETY: `name` has 256 bytes.
    unsafe { driver::cuDeviceGetName(name.as_mut_ptr(), 256, device)? };
    driver::cuDeviceGetUuid_v2(&mut uuid, device)?;
    driver::cuDeviceTotalMem_v2(&mut total, device)?;
    bytes.extend(name);
    bytes.extend(uuid);
    // The LUID and its 4-byte mask exist only on Windows; 4 bytes of padding follow them.
    bytes.extend([0; 16]);
    bytes.extend(total.to_ne_bytes());
    Ok(())
}

fn property_bytes(fields: &[PropertyFields], device: i32) -> Result<Vec<u8>> {
    if !(0..device_count()?).contains(&device) {
        return Err(Code::INVALID_DEVICE.into());
    }
    let mut bytes = Vec::with_capacity(1032);
    for run in fields {
        match *run {
            Identity => identity(&mut bytes, device)?,
            Ints(numbers) => {
                numbers
                    .iter()
                    .for_each(|which| bytes.extend(attribute(*which, device).to_ne_bytes()));
            }
            Size(which) => {
                bytes.resize(bytes.len().next_multiple_of(8), 0);
                bytes.extend((attribute(which, device) as usize).to_ne_bytes());
            }
            Zeros(count) => bytes.resize(bytes.len() + 4 * count, 0),
        }
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    Ok(bytes)
}

/// # Safety
/// `out` must be null or point to enough writable memory for these fields.
unsafe fn write(out: Out<'_, u8>, fields: &[PropertyFields], device: i32) -> Result {
    out.require_as("prop")?;
    out.set_list(&property_bytes(fields, device)?)
}

export! {
    /// Returns the properties of a device in CUDA 13's layout.
    fn cudaGetDeviceProperties(out: Out<'_, u8>, device: i32) {
        write(out, LAYOUT_13, device)
    }

    /// Returns the properties of a device in CUDA 12's layout.
    fn cudaGetDeviceProperties_v2(out: Out<'_, u8>, device: i32) {
        write(out, LAYOUT_12, device)
    }
}
