//! Textures and surfaces: converts the descriptions that programs pass to the emulator's resources, and back.

#![allow(unsafe_code, reason = "reads unions, whose valid member the kind selects")]

pub(crate) mod array;
pub(crate) mod arrays;
mod mipmap;
pub(crate) mod reference;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptx_emulator::Memory;
use ptx_emulator::texture::{AddressMode, Filter, Opaque, Resource, Sampling, Texels};

use crate::abi::Handle;
use crate::abi::error::{Code, Result};
use crate::abi::texture::{
    LinearResource, PitchedResource, ResourceDescription, TextureDescription, ViewDescription,
};
use crate::context::hardware::Hardware;
use crate::device::texture_limits::{BASE_ALIGNMENT, LINEAR_WIDTH, PITCH_ALIGNMENT, PITCHED_SIZES};
use crate::memory::copy::check_device;
use crate::texture::array::SURFACE;
use crate::texture::arrays::Arrays;

/// `CUresourcetype`
const ARRAY: i32 = 0;
const MIPMAPPED: i32 = 1;
const MEMORY: i32 = 2;
const ROWS: i32 = 3;

/// `CU_TRSF_…`
pub(crate) const READ_AS_INTEGER: u32 = 1;
pub(crate) const NORMALISED: u32 = 2;
const SRGB: u32 = 0x10;
const NO_TRILINEAR_OPTIMISATION: u32 = 0x20;
const SEAMLESS_CUBE_MAP: u32 = 0x40;

/// A texture object, or a surface object.
#[derive(Clone, Copy)]
pub(crate) struct Object {
    pub(crate) context: Handle,
    pub(crate) resource: ResourceDescription,
    /// The texture's parameters; the default for a surface.
    pub(crate) texture: TextureDescription,
    pub(crate) view: Option<ViewDescription>,
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Object").field("texture", &self.texture).finish_non_exhaustive()
    }
}

/// The texture or surface objects by handle.
#[derive(Debug)]
pub(crate) struct Objects {
    list: Mutex<HashMap<u64, Object>>,
    hardware: Arc<Hardware>,
}

impl Objects {
    /// An empty registry.
    pub(crate) fn new(hardware: Arc<Hardware>) -> Self {
        Self { list: Mutex::default(), hardware }
    }

    fn list(&self) -> MutexGuard<'_, HashMap<u64, Object>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates an object.
    pub(crate) fn create(&self, resource: Resource, object: Object) -> u64 {
        let handle = self.hardware.memory().bindings().create(resource);
        self.list().insert(handle, object);
        handle
    }

    /// The object with this handle.
    ///
    /// # Errors
    /// `INVALID_VALUE`, naming the kind of object, if the handle is unknown.
    pub(crate) fn find(&self, handle: u64, what: &str) -> Result<Object> {
        let object = self.list().get(&handle).copied();
        object.ok_or_else(|| invalid(format!("there is no {what} {handle:#x}")))
    }

    /// Destroys an object.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the handle is unknown.
    pub(crate) fn destroy(&self, handle: u64, kind: Opaque) -> Result {
        let destroyed = self.hardware.memory().bindings().destroy(handle, kind);
        destroyed.map_err(|error| Code::INVALID_VALUE.because(error.to_string()))?;
        self.list().remove(&handle);
        Ok(())
    }

    /// Destroys the objects of a destroyed context.
    pub(crate) fn remove_context(&self, context: Handle) {
        let bindings = self.hardware.memory().bindings();
        self.list().retain(|&handle, object| {
            let stays = object.context != context;
            if !stays {
                // The object is either a texture or a surface.
                let _ = bindings
                    .destroy(handle, Opaque::Texture)
                    .or_else(|_| bindings.destroy(handle, Opaque::Surface));
            }
            stays
        });
    }
}

fn invalid(why: impl Into<String>) -> crate::abi::error::Error {
    Code::INVALID_VALUE.because(why)
}

/// The texels of a one-dimensional texture in linear memory.
///
/// # Errors
/// `INVALID_VALUE` if the memory or the format is not valid.
pub(crate) fn linear(memory: &Memory, given: LinearResource) -> Result<Texels> {
    let LinearResource { address, format, channels, bytes } = given;
    let format = array::format(format, channels)?;
    check_alignment(address)?;
    let width = bytes as u64 / format.bytes();
    if width == 0 || width > LINEAR_WIDTH {
        return Err(invalid(format!(
            "{width} texels; a texture in linear memory has 1 to {LINEAR_WIDTH}"
        )));
    }
    check_device(memory, address, width * format.bytes())?;
    let (pitch, slice) = (width * format.bytes(), width * format.bytes());
    let (height, depth, layers, linear, cube) = (0, 0, 0, true, false);
    Ok(Texels { base: address, format, width, height, depth, layers, pitch, slice, linear, cube })
}

/// The texels of a two-dimensional texture in pitched memory.
///
/// # Errors
/// `INVALID_VALUE` if the memory, the format or the pitch is not valid.
pub(crate) fn pitched(memory: &Memory, given: PitchedResource) -> Result<Texels> {
    let PitchedResource { address, format, channels, width, height, pitch } = given;
    let format = array::format(format, channels)?;
    check_alignment(address)?;
    let shape = [width, height, pitch].map(|length| length as u64);
    if shape.contains(&0) || shape.iter().zip(PITCHED_SIZES).any(|(length, max)| *length > max) {
        return Err(invalid(format!(
            "a texture of {width} × {height} texels with a pitch of {pitch} bytes: the maximum is {PITCHED_SIZES:?}, \
             and none may be 0"
        )));
    }
    let [width, height, pitch] = shape;
    if !pitch.is_multiple_of(PITCH_ALIGNMENT) || width * format.bytes() > pitch {
        return Err(invalid(format!(
            "a pitch of {pitch} bytes for rows of {} bytes: it must be a multiple of {PITCH_ALIGNMENT}, and at least a row",
            width * format.bytes()
        )));
    }
    let slice = pitch * height;
    let (depth, layers, linear, cube) = (0, 0, false, false);
    let texels =
        Texels { base: address, format, width, height, depth, layers, pitch, slice, linear, cube };
    check_device(memory, address, texels.reach().unwrap_or(u64::MAX))?;
    Ok(texels)
}

fn check_alignment(address: u64) -> Result {
    if address.is_multiple_of(BASE_ALIGNMENT) {
        return Ok(());
    }
    Err(invalid(format!(
        "a texture must begin at a multiple of {BASE_ALIGNMENT} bytes, and not at {address:#x}"
    )))
}

/// Converts a texture's parameters.
///
/// # Errors
/// `INVALID_VALUE` for invalid parameters, `NOT_SUPPORTED` for features that are not emulated.
pub(crate) fn sampling(given: &TextureDescription) -> Result<Sampling> {
    let address = |mode: u32| match mode {
        0 => Ok(AddressMode::Wrap),
        1 => Ok(AddressMode::Clamp),
        2 => Ok(AddressMode::Mirror),
        3 => Ok(AddressMode::Border),
        _ => Err(invalid(format!("there is no address mode {mode}"))),
    };
    let [x, y, z] = given.address;
    let address = [address(x)?, address(y)?, address(z)?];
    let filter = match given.filter {
        0 => Filter::Point,
        1 => Filter::Linear,
        other => return Err(invalid(format!("there is no filter mode {other}"))),
    };
    let unsupported =
        |what: &str| Err(Code::NOT_SUPPORTED.because(format!("{what} is not emulated")));
    if given.flags & SRGB != 0 {
        return unsupported("conversion from sRGB");
    }
    let all_flags = READ_AS_INTEGER | NORMALISED | NO_TRILINEAR_OPTIMISATION | SEAMLESS_CUBE_MAP;
    if given.flags & !all_flags != 0 {
        return Err(invalid(format!("unknown flags {:#x} of a texture", given.flags)));
    }
    if given.anisotropy > 1 {
        return unsupported("anisotropic filtering");
    }
    Ok(Sampling {
        address,
        filter,
        normalised: given.flags & NORMALISED != 0,
        scaled: given.flags & READ_AS_INTEGER == 0,
        border: given.border,
        seamless: given.flags & SEAMLESS_CUBE_MAP != 0,
    })
}

/// A texture with these texels and this sampling.
///
/// # Errors
/// `INVALID_VALUE` for linear filtering of texels that are read as integers.
pub(crate) fn texture(texels: Texels, sampling: Sampling) -> Result<Resource> {
    let channel = texels.format.channel;
    let fractions = channel.is_float() || sampling.scaled && channel.is_scalable();
    if sampling.filter == Filter::Linear && !fractions && !texels.linear {
        return Err(invalid(
            "integers can't be filtered: read 8-bit or 16-bit ones as fractions (without CU_TRSF_READ_AS_INTEGER), \
             or use CU_TR_FILTER_MODE_POINT",
        ));
    }
    Ok(Resource::Texture(texels, sampling))
}

/// The emulator's resource for a texture object, in memory or in an array.
///
/// # Errors
/// `INVALID_VALUE` for an invalid description, `NOT_SUPPORTED` for features that are not emulated.
pub(crate) fn texture_resource(
    object: &Object,
    memory: &Memory,
    arrays: &Arrays,
) -> Result<Resource> {
    let ResourceDescription { kind, resource, flags } = object.resource;
    if flags != 0 {
        return Err(invalid("the flags of a resource must be 0"));
    }
    // SAFETY: every member of the union consists of plain numbers, and the program initialised all its bytes.
    let (handle, linear_memory, rows) =
        unsafe { (resource.array, resource.linear, resource.pitched) };
    let texels = match kind {
        ARRAY => {
            arrays.array(handle).map_err(|error| Code::INVALID_VALUE.because(reason(error)))?.texels
        }
        MIPMAPPED => {
            let mipmap = arrays.mipmap(handle);
            let mipmap = mipmap.map_err(|error| Code::INVALID_VALUE.because(reason(error)))?;
            let [level] = &mipmap.levels[..] else {
                return Err(Code::NOT_SUPPORTED.because(
                    "textures with several levels are not emulated; make one of a single level \
                     (cuMipmappedArrayGetLevel)",
                ));
            };
            level.texels
        }
        MEMORY => linear(memory, linear_memory)?,
        ROWS => pitched(memory, rows)?,
        _ => return Err(invalid(format!("there is no resource type {kind}"))),
    };
    if let Some(view) = &object.view {
        check_view(kind, &texels, view)?;
    }
    texture(texels, sampling(&object.texture)?)
}

/// Checks that a view shows the whole array in its format; other views are not emulated.
fn check_view(kind: i32, texels: &Texels, view: &ViewDescription) -> Result {
    if kind != ARRAY {
        return Err(invalid("a texture in memory has no view; pass a null pointer"));
    }
    let shape = [view.width, view.height, view.depth].map(|length| length as u64);
    let extent = [texels.width, texels.height, texels.depth];
    let layers = [view.first_layer, view.last_layer].map(u64::from);
    let levels = [view.first_level, view.last_level];
    let all = shape == extent && levels == [0, 0] && layers == [0, texels.layers.saturating_sub(1)];
    if view.format == 0 && all {
        return Ok(());
    }
    Err(Code::NOT_SUPPORTED.because(
        "views are not emulated, except those of a whole array in its format \
         (CU_RES_VIEW_FORMAT_NONE)",
    ))
}

/// The emulator's resource for a surface object, which is always in an array.
///
/// # Errors
/// `INVALID_VALUE` if the resource is not an array for surfaces.
pub(crate) fn surface_resource(given: &ResourceDescription, arrays: &Arrays) -> Result<Resource> {
    if given.kind != ARRAY || given.flags != 0 {
        return Err(invalid("a surface needs an array, and flags of 0"));
    }
    // SAFETY: every member of the union consists of plain numbers, and the program initialised all its bytes.
    surface_of(unsafe { given.resource.array }, arrays)
}

/// A surface of an array.
///
/// # Errors
/// `INVALID_VALUE` if the handle is unknown, or the array was not created for surfaces.
pub(crate) fn surface_of(handle: Handle, arrays: &Arrays) -> Result<Resource> {
    let array = arrays.array(handle).map_err(|error| Code::INVALID_VALUE.because(reason(error)))?;
    if array.description.flags & SURFACE == 0 {
        return Err(invalid(
            "the array was not created for surfaces; pass CUDA_ARRAY3D_SURFACE_LDST to cuArray3DCreate",
        ));
    }
    Ok(Resource::Surface(array.texels))
}

fn reason(error: crate::abi::error::Error) -> String {
    error.why.unwrap_or_default()
}
