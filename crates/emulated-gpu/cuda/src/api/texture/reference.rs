//! Texture and surface references.

use std::sync::Arc;

use ptx_emulator::texture::{Opaque, Sampling};

use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::texture::ArrayDescription;
use crate::abi::{Handle, In, Out, Pointer, Text};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::device::texture_limits::BASE_ALIGNMENT;
use crate::texture::array;
use crate::texture::reference::{Reference, ReferenceState, Source, check_flags};

/// The flag `CU_TRSA_OVERRIDE_FORMAT`, which requests the array's texel format. It has no effect,
/// because that format is always used.
const OVERRIDE_FORMAT: u32 = 1;

/// The reference with this name in a module; the same name always gives the same handle.
fn module_reference(out: Out<Handle>, module: Handle, name: Text, kind: Opaque) -> Result {
    out.required()?;
    let device = calling_thread::context()?.device;
    let name = name.get()?;
    let module = driver()?.module(module)?;
    let variable = module.opaque(&name, device, kind)?;
    let references = driver()?.references.all();
    let same = |reference: &&Arc<Reference>| {
        reference.module == module.handle && reference.variable() == Some(variable.0)
    };
    if let Some(reference) = references.iter().find(same) {
        return out.set(reference.handle);
    }
    create(out, module.handle, kind, Some(variable))
}

fn create(
    out: Out<Handle>,
    module: Handle,
    kind: Opaque,
    variable: Option<(u64, Sampling)>,
) -> Result {
    let driver = driver()?;
    let reference = Reference::new(module, kind, variable, Arc::clone(&driver.hardware));
    let handle = reference.handle;
    driver.references.insert(handle, Arc::new(reference));
    out.set(handle)
}

/// The reference with this handle.
///
/// # Errors
/// `INVALID_VALUE` if the handle is unknown, or the reference is of another kind.
fn find(handle: Handle, kind: Opaque) -> Result<Arc<Reference>> {
    let missing = || Code::INVALID_VALUE.because(format!("there is no reference {handle:#x}"));
    driver()?.references.get(handle).filter(|reference| reference.kind == kind).ok_or_else(missing)
}

fn texture(handle: Handle) -> Result<Arc<Reference>> {
    find(handle, Opaque::Texture)
}

/// Checks that the handle is a texture reference's.
///
/// # Errors
/// `INVALID_VALUE` if it isn't.
pub(crate) fn check_texture(handle: Handle) -> Result {
    texture(handle).map(|_| ())
}

/// Changes the state of a texture reference.
fn set(handle: Handle, change: impl FnOnce(&mut ReferenceState)) -> Result {
    texture(handle)?.set(&driver()?.arrays, change)
}

fn bind_array(handle: Handle, kind: Opaque, array: Handle, flags: u32) -> Result {
    let allowed = if kind == Opaque::Texture { OVERRIDE_FORMAT } else { 0 };
    fail_if!(flags & !allowed != 0, INVALID_VALUE, "unknown flags {flags:#x}");
    let reference = find(handle, kind)?;
    driver()?.arrays.array(array)?;
    reference.set(&driver()?.arrays, |state| state.source = Source::Array(array))
}

fn bound_array(out: Out<Handle>, handle: Handle, kind: Opaque) -> Result {
    out.required()?;
    match find(handle, kind)?.get().source {
        Source::Array(array) => out.set(array),
        _ => Err(Code::INVALID_VALUE.because("no array is bound to the reference")),
    }
}

/// The axis (0: x, 1: y, 2: z) of a dimension.
fn axis(dimension: i32) -> Result<usize> {
    let axis = usize::try_from(dimension).ok().filter(|axis| *axis < 3);
    axis.ok_or_else(|| {
        Code::INVALID_VALUE.because(format!("a texture has no dimension {dimension}"))
    })
}

export! {
    2000 fn cuModuleGetTexRef(out: Out<Handle>, module: Handle, name: Text) {
        module_reference(out, module, name, Opaque::Texture)
    }

    3000 fn cuModuleGetSurfRef(out: Out<Handle>, module: Handle, name: Text) {
        module_reference(out, module, name, Opaque::Surface)
    }

    2000 fn cuTexRefCreate(out as required: Out<Handle>) {
        calling_thread::context()?;
        create(out, 0, Opaque::Texture, None)
    }

    2000 fn cuTexRefDestroy(reference: Handle) {
        if texture(reference)?.module != 0 {
            return Err(Code::INVALID_VALUE
                .because("the reference belongs to a module, which destroys it"));
        }
        driver()?.references.remove(reference);
        Ok(())
    }

    2000 fn cuTexRefSetArray(reference: Handle, array: Handle, flags: u32) {
        bind_array(reference, Opaque::Texture, array, flags)
    }

    2000 fn cuTexRefGetArray(out: Out<Handle>, reference: Handle) {
        bound_array(out, reference, Opaque::Texture)
    }

    3000 fn cuSurfRefSetArray(reference: Handle, array: Handle, flags: u32) {
        bind_array(reference, Opaque::Surface, array, flags)
    }

    3000 fn cuSurfRefGetArray(out: Out<Handle>, reference: Handle) {
        bound_array(out, reference, Opaque::Surface)
    }

    3020 fn cuTexRefSetAddress_v2(
        offset: Out<usize>, reference: Handle, address: Pointer, bytes: usize,
    ) {
        let begin = address - address % BASE_ALIGNMENT;
        let before = (address - begin) as usize;
        if before != 0 && offset.is_null() {
            return Err(Code::INVALID_VALUE
                .because(format!("{address:#x} is not a multiple of {BASE_ALIGNMENT}, so the pointer for the offset must not be null")));
        }
        let size = bytes.checked_add(before);
        let size = size.ok_or_else(|| Code::INVALID_VALUE.because("the memory is too large"))?;
        set(reference, |state| state.source = Source::Memory(begin, size))?;
        offset.set_if_wanted(before);
        Ok(())
    }

    3020 fn cuTexRefGetAddress_v2(out as required: Out<Pointer>, reference: Handle) {
        match texture(reference)?.get().source {
            Source::Memory(address, _) | Source::Rows(address, _) => out.set(address),
            _ => Err(Code::INVALID_VALUE.because("no memory is bound to the reference")),
        }
    }

    4010 fn cuTexRefSetAddress2D_v3(
        reference: Handle, description: In<ArrayDescription>, address: Pointer, pitch: usize,
    ) {
        let ArrayDescription { width, height, format, channels } = description.get()?;
        set(reference, |state| {
            state.format = (format, channels);
            state.source = Source::Rows(address, [width, height, pitch]);
        })
    }

    2000 fn cuTexRefSetFormat(reference: Handle, format: u32, channels: i32) {
        let channels = u32::try_from(channels).unwrap_or(0);
        array::format(format, channels)?;
        set(reference, |state| state.format = (format, channels))
    }

    2000 fn cuTexRefGetFormat(format: Out<u32>, channels: Out<i32>, reference: Handle) {
        let state = texture(reference)?.get();
        let (format_number, count) = match state.source {
            Source::Array(array) => {
                let description = driver()?.arrays.array(array)?.description;
                (description.format, description.channels)
            }
            _ => state.format,
        };
        format.set_if_wanted(format_number);
        channels.set_if_wanted(count as i32);
        Ok(())
    }

    2000 fn cuTexRefSetAddressMode(reference: Handle, dimension: i32, mode: u32) {
        let axis = axis(dimension)?;
        set(reference, |state| state.texture.address[axis] = mode)
    }

    2000 fn cuTexRefGetAddressMode(mode: Out<u32>, reference: Handle, dimension: i32) {
        let axis = axis(dimension)?;
        mode.set(texture(reference)?.get().texture.address[axis])
    }

    2000 fn cuTexRefSetFilterMode(reference: Handle, mode: u32) {
        set(reference, |state| state.texture.filter = mode)
    }

    2000 fn cuTexRefGetFilterMode(mode: Out<u32>, reference: Handle) {
        mode.set(texture(reference)?.get().texture.filter)
    }

    2000 fn cuTexRefSetFlags(reference: Handle, flags: u32) {
        check_flags(flags)?;
        set(reference, |state| state.texture.flags = flags)
    }

    2000 fn cuTexRefGetFlags(flags: Out<u32>, reference: Handle) {
        flags.set(texture(reference)?.get().texture.flags)
    }

    5000 fn cuTexRefSetMaxAnisotropy(reference: Handle, anisotropy: u32) {
        set(reference, |state| state.texture.anisotropy = anisotropy)
    }

    5000 fn cuTexRefGetMaxAnisotropy(anisotropy: Out<i32>, reference: Handle) {
        anisotropy.set(texture(reference)?.get().texture.anisotropy.max(1) as i32)
    }

    8000 fn cuTexRefSetBorderColor(reference: Handle, colour: In<[f32; 4]>) {
        let colour = colour.get()?;
        set(reference, |state| state.texture.border = colour)
    }

    8000 fn cuTexRefGetBorderColor(colour: Out<[f32; 4]>, reference: Handle) {
        colour.set(texture(reference)?.get().texture.border)
    }
}
