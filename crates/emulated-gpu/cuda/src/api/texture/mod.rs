//! Texture objects and surface objects.

pub(crate) mod array;
pub(crate) mod mipmap;
pub(crate) mod reference;

use ptx_emulator::texture::Opaque;

use crate::abi::error::{Code, Result};
use crate::abi::ffi::export;
use crate::abi::texture::{ResourceDescription, TextureDescription, ViewDescription};
use crate::abi::{In, Out};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::texture::{Object, surface_resource, texture_resource};

/// The texture object with this handle.
///
/// # Errors
/// `INVALID_VALUE` if the handle is unknown.
fn texture(handle: u64) -> Result<Object> {
    driver()?.textures.find(handle, "texture")
}

export! {
    5000 fn cuTexObjectCreate(
        out as required: Out<u64>, resource: In<ResourceDescription>, texture: In<TextureDescription>,
        view: In<ViewDescription>,
    ) {
        let context = calling_thread::context()?.handle;
        let view = if view.is_null() { None } else { Some(view.get()?) };
        let object = Object { context, resource: resource.get()?, texture: texture.get()?, view };
        let driver = driver()?;
        let resource = texture_resource(&object, driver.hardware.memory(), &driver.arrays)?;
        out.set(driver.textures.create(resource, object))
    }

    5000 fn cuTexObjectDestroy(texture: u64) {
        driver()?.textures.destroy(texture, Opaque::Texture)
    }

    5000 fn cuTexObjectGetResourceDesc(out as required: Out<ResourceDescription>, handle: u64) {
        out.set(texture(handle)?.resource)
    }

    5000 fn cuTexObjectGetTextureDesc(out as required: Out<TextureDescription>, handle: u64) {
        out.set(texture(handle)?.texture)
    }

    5000 fn cuTexObjectGetResourceViewDesc(out as required: Out<ViewDescription>, handle: u64) {
        match texture(handle)?.view {
            Some(view) => out.set(view),
            None => Err(Code::INVALID_VALUE.because("the texture was made without a view")),
        }
    }

    5000 fn cuSurfObjectCreate(out as required: Out<u64>, resource: In<ResourceDescription>) {
        let context = calling_thread::context()?.handle;
        let resource = resource.get()?;
        let (texture, view) = (TextureDescription::default(), None);
        let object = Object { context, resource, texture, view };
        let driver = driver()?;
        out.set(driver.surfaces.create(surface_resource(&resource, &driver.arrays)?, object))
    }

    5000 fn cuSurfObjectDestroy(surface: u64) {
        driver()?.surfaces.destroy(surface, Opaque::Surface)
    }

    5000 fn cuSurfObjectGetResourceDesc(out as required: Out<ResourceDescription>, surface: u64) {
        out.set(driver()?.surfaces.find(surface, "surface")?.resource)
    }
}
