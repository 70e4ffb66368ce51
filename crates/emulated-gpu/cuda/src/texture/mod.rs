//! Textures and surfaces, as programs describe them: what the emulator is told of them, and what was
//! asked for, for those who ask again.

#![allow(unsafe_code, reason = "which part of a union counts, the kind beside it says")]

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
use crate::device::texture_limits::{ALIGNMENT, LINEAR, PITCH, PITCHED};
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
    /// Of a texture.
    pub(crate) texture: TextureDescription,
    pub(crate) view: Option<ViewDescription>,
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Object").field("texture", &self.texture).finish_non_exhaustive()
    }
}

/// The objects, by handle.
#[derive(Debug)]
pub(crate) struct Objects {
    list: Mutex<HashMap<u64, Object>>,
    hardware: Arc<Hardware>,
}

impl Objects {
    /// None yet.
    pub(crate) fn new(hardware: Arc<Hardware>) -> Self {
        Self { list: Mutex::default(), hardware }
    }

    fn list(&self) -> MutexGuard<'_, HashMap<u64, Object>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one.
    pub(crate) fn create(&self, resource: Resource, object: Object) -> u64 {
        let handle = self.hardware.memory().bindings().create(resource);
        self.list().insert(handle, object);
        handle
    }

    /// What was asked for.
    ///
    /// # Errors
    /// `INVALID_VALUE`, and what there is none of.
    pub(crate) fn find(&self, handle: u64, what: &str) -> Result<Object> {
        let found = self.list().get(&handle).copied();
        found.ok_or_else(|| invalid(format!("there is no {what} {handle:#x}")))
    }

    /// Forgets one.
    ///
    /// # Errors
    /// `INVALID_VALUE`
    pub(crate) fn destroy(&self, handle: u64, kind: Opaque) -> Result {
        let destroyed = self.hardware.memory().bindings().destroy(handle, kind);
        destroyed.map_err(|error| Code::INVALID_VALUE.because(error.to_string()))?;
        self.list().remove(&handle);
        Ok(())
    }

    /// Forgets those of a context.
    pub(crate) fn end_context(&self, context: Handle) {
        let bindings = self.hardware.memory().bindings();
        self.list().retain(|&handle, object| {
            let stays = object.context != context;
            if !stays {
                // It is of one of the two kinds.
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

/// The texels of memory without dimensions.
///
/// # Errors
/// `INVALID_VALUE`
pub(crate) fn linear(memory: &Memory, given: LinearResource) -> Result<Texels> {
    let LinearResource { address, format, channels, bytes } = given;
    let format = array::format(format, channels)?;
    aligned(address)?;
    let width = bytes as u64 / format.bytes();
    if width == 0 || width > LINEAR {
        return Err(invalid(format!("{width} texels: a texture of memory has 1 to {LINEAR}")));
    }
    check_device(memory, address, width * format.bytes())?;
    let (pitch, slice) = (width * format.bytes(), width * format.bytes());
    let (height, depth, layers, linear, cube) = (0, 0, 0, true, false);
    Ok(Texels { base: address, format, width, height, depth, layers, pitch, slice, linear, cube })
}

/// The texels of memory of rows.
///
/// # Errors
/// `INVALID_VALUE`
pub(crate) fn pitched(memory: &Memory, given: PitchedResource) -> Result<Texels> {
    let PitchedResource { address, format, channels, width, height, pitch } = given;
    let format = array::format(format, channels)?;
    aligned(address)?;
    let shape = [width, height, pitch].map(|length| length as u64);
    if shape.contains(&0) || shape.iter().zip(PITCHED).any(|(length, most)| *length > most) {
        return Err(invalid(format!(
            "a texture of {width} × {height} texels, rows {pitch} bytes apart: at most {PITCHED:?}, and \
             none of them 0"
        )));
    }
    let [width, height, pitch] = shape;
    if !pitch.is_multiple_of(PITCH) || width * format.bytes() > pitch {
        return Err(invalid(format!(
            "rows of {} bytes, {pitch} bytes apart: that is a multiple of {PITCH}, and no less than a row",
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

fn aligned(address: u64) -> Result {
    if address.is_multiple_of(ALIGNMENT) {
        return Ok(());
    }
    Err(invalid(format!(
        "a texture begins at a multiple of {ALIGNMENT} bytes, and not at {address:#x}"
    )))
}

/// How a texture is read.
///
/// # Errors
/// `INVALID_VALUE` for what makes no sense, `NOT_SUPPORTED` for what is not emulated.
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
    let unsupported = |what: &str| Err(Code::NOT_SUPPORTED.because(format!("{what} not emulated")));
    if given.flags & SRGB != 0 {
        return unsupported("conversion from sRGB is");
    }
    let known = READ_AS_INTEGER | NORMALISED | NO_TRILINEAR_OPTIMISATION | SEAMLESS_CUBE_MAP;
    if given.flags & !known != 0 {
        return Err(invalid(format!("unknown flags {:#x} of a texture", given.flags)));
    }
    if given.anisotropy > 1 {
        return unsupported("anisotropic filtering is");
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

/// A texture of these texels.
///
/// # Errors
/// `INVALID_VALUE` for a mixture of numbers that are read as integers.
pub(crate) fn texture(texels: Texels, sampling: Sampling) -> Result<Resource> {
    let channel = texels.format.channel;
    let fractions = channel.is_float() || sampling.scaled && channel.is_scalable();
    if sampling.filter == Filter::Linear && !fractions && !texels.linear {
        return Err(invalid(
            "integers are not filtered: read them as fractions (without CU_TRSF_READ_AS_INTEGER, 8 or \
             16 bits), or take the nearest (CU_TR_FILTER_MODE_POINT)",
        ));
    }
    Ok(Resource::Texture(texels, sampling))
}

/// What a texture object stands for, of memory or of one of the arrays.
///
/// # Errors
/// `INVALID_VALUE`, `NOT_SUPPORTED`
pub(crate) fn of(object: &Object, memory: &Memory, arrays: &Arrays) -> Result<Resource> {
    let ResourceDescription { kind, resource, flags } = object.resource;
    if flags != 0 {
        return Err(invalid("the flags of a resource have to be 0"));
    }
    // SAFETY: every part of the union is of plain numbers, and all its bytes came from the program.
    let (handle, linear_memory, rows) =
        unsafe { (resource.array, resource.linear, resource.pitched) };
    let texels = match kind {
        ARRAY => {
            arrays.array(handle).map_err(|error| Code::INVALID_VALUE.because(why(error)))?.texels
        }
        MIPMAPPED => {
            let found = arrays.mipmap(handle);
            let mipmap = found.map_err(|error| Code::INVALID_VALUE.because(why(error)))?;
            let [level] = &mipmap.levels[..] else {
                return Err(Code::NOT_SUPPORTED.because(
                    "textures of several levels are not emulated: make one of a level \
                     (cuMipmappedArrayGetLevel)",
                ));
            };
            level.texels
        }
        MEMORY => linear(memory, linear_memory)?,
        ROWS => pitched(memory, rows)?,
        _ => return Err(invalid(format!("there is no kind {kind} of resource"))),
    };
    if let Some(view) = &object.view {
        check_view(kind, &texels, view)?;
    }
    texture(texels, sampling(&object.texture)?)
}

/// A view that is the whole array as it is says nothing new.
fn check_view(kind: i32, texels: &Texels, view: &ViewDescription) -> Result {
    if kind != ARRAY {
        return Err(invalid("memory has no views: pass a null pointer"));
    }
    let shape = [view.width, view.height, view.depth].map(|length| length as u64);
    let own = [texels.width, texels.height, texels.depth];
    let layers = [view.first_layer, view.last_layer].map(u64::from);
    let levels = [view.first_level, view.last_level];
    let all = shape == own && levels == [0, 0] && layers == [0, texels.layers.saturating_sub(1)];
    if view.format == 0 && all {
        return Ok(());
    }
    Err(Code::NOT_SUPPORTED.because(
        "views are not emulated, but for those of a whole array in its own format \
         (CU_RES_VIEW_FORMAT_NONE)",
    ))
}

/// What a surface object stands for, of one of the arrays.
///
/// # Errors
/// `INVALID_VALUE`
pub(crate) fn surface(given: &ResourceDescription, arrays: &Arrays) -> Result<Resource> {
    if given.kind != ARRAY || given.flags != 0 {
        return Err(invalid("a surface is made of an array"));
    }
    // SAFETY: as above.
    surface_of(unsafe { given.resource.array }, arrays)
}

/// A surface of an array.
///
/// # Errors
/// `INVALID_VALUE`
pub(crate) fn surface_of(handle: Handle, arrays: &Arrays) -> Result<Resource> {
    let array = arrays.array(handle).map_err(|error| Code::INVALID_VALUE.because(why(error)))?;
    if array.description.flags & SURFACE == 0 {
        return Err(invalid(
            "the array was not made for surfaces: give cuArray3DCreate CUDA_ARRAY3D_SURFACE_LDST",
        ));
    }
    Ok(Resource::Surface(array.texels))
}

fn why(error: crate::abi::error::Error) -> String {
    error.why.unwrap_or_default()
}
