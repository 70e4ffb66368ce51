//! Texture objects and surface objects.

use std::ffi::c_int;

use c_abi::{Code, export, fail_if};

use crate::abi::texture::{
    Channels, DriverResource, DriverTexture, DriverView, LinearMemory, PitchedMemory, Resource,
    ResourceUnion, Texture, View,
};
use crate::channels;
use crate::context::bind_context;
use crate::driver;
use crate::ffi::{In, Out, Result};

/// `cudaResourceType`, and `CUresourcetype`.
const ARRAY: i32 = 0;
const MIPMAPPED: i32 = 1;
const LINEAR: i32 = 2;
const PITCHED: i32 = 3;

/// `CU_TRSF_…`
const READ_AS_INTEGER: u32 = 1;
const NORMALISED: u32 = 2;
const SRGB: u32 = 0x10;
const NO_TRILINEAR_OPTIMISATION: u32 = 0x20;
const SEAMLESS_CUBE_MAP: u32 = 0x40;

/// Builds a channel description from its fields.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    kind: c_int,
) -> Channels {
    Channels { bits: [x, y, z, w], kind }
}

/// The format and the channel count in one word, as in the driver's structure.
fn packed_format(channels: Channels) -> Result<u64> {
    let (format, count) = channels::format(channels)?;
    Ok(u64::from(format) | u64::from(count) << 32)
}

fn driver_resource(resource: &Resource) -> Result<DriverResource> {
    let mut words = [0; 16];
    // SAFETY: every field of the union consists of plain numbers, and the program must initialise the whole union.
    let (array, linear, pitched) =
        unsafe { (resource.details.array, resource.details.linear, resource.details.pitched) };
    match resource.kind {
        ARRAY | MIPMAPPED => words[0] = array as u64,
        LINEAR => {
            let LinearMemory { address, channels, bytes } = linear;
            words[..3].copy_from_slice(&[address as u64, packed_format(channels)?, bytes as u64]);
        }
        PITCHED => {
            let PitchedMemory { address, channels, width, height, pitch } = pitched;
            let sizes = [width, height, pitch].map(|size| size as u64);
            words[..2].copy_from_slice(&[address as u64, packed_format(channels)?]);
            words[2..5].copy_from_slice(&sizes);
        }
        kind => {
            return Err(Code::INVALID_VALUE.because(format!("resource type {kind} is invalid")));
        }
    }
    Ok(DriverResource { kind: resource.kind, details: words, flags: 0 })
}

fn runtime_resource(driver: &DriverResource) -> Resource {
    let [address, packed, first, second, third, ..] = driver.details;
    let channels = channels::from_format(packed as u32, (packed >> 32) as u32);
    let address = address as usize;
    // The program may read the whole union, so its largest field is initialised first.
    let mut details = ResourceUnion { pitched: PitchedMemory::default() };
    match driver.kind {
        LINEAR => details.linear = LinearMemory { address, channels, bytes: first as usize },
        PITCHED => {
            let [width, height, pitch] = [first, second, third].map(|size| size as usize);
            details.pitched = PitchedMemory { address, channels, width, height, pitch };
        }
        _ => details.array = address,
    }
    Resource { kind: driver.kind, details }
}

/// The driver's texture flags.
fn flags(texture: &Texture) -> u32 {
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    flag(texture.read == 0, READ_AS_INTEGER)
        | flag(texture.normalised != 0, NORMALISED)
        | flag(texture.srgb != 0, SRGB)
        | flag(texture.no_trilinear_optimisation != 0, NO_TRILINEAR_OPTIMISATION)
        | flag(texture.seamless_cube_map != 0, SEAMLESS_CUBE_MAP)
}

fn driver_texture(texture: &Texture) -> Result<DriverTexture> {
    fail_if!(texture.read > 1, INVALID_VALUE, "read mode {} is invalid", texture.read);
    Ok(DriverTexture {
        address: texture.address,
        filter: texture.filter,
        flags: flags(texture),
        anisotropy: texture.anisotropy,
        mipmap_filter: texture.mipmap_filter,
        mipmap_bias: texture.mipmap_bias,
        mipmap_min: texture.mipmap_min,
        mipmap_max: texture.mipmap_max,
        border: texture.border,
        reserved: [0; 12],
    })
}

fn runtime_texture(driver: &DriverTexture) -> Texture {
    let has = |flag: u32| i32::from(driver.flags & flag != 0);
    Texture {
        address: driver.address,
        filter: driver.filter,
        read: u32::from(driver.flags & READ_AS_INTEGER == 0),
        srgb: has(SRGB),
        border: driver.border,
        normalised: has(NORMALISED),
        anisotropy: driver.anisotropy,
        mipmap_filter: driver.mipmap_filter,
        mipmap_bias: driver.mipmap_bias,
        mipmap_min: driver.mipmap_min,
        mipmap_max: driver.mipmap_max,
        no_trilinear_optimisation: has(NO_TRILINEAR_OPTIMISATION),
        seamless_cube_map: has(SEAMLESS_CUBE_MAP),
    }
}

export! {
    /// Creates a texture object from a resource, a description of how it is read, and an optional view.
    fn cudaCreateTextureObject(
        out: Out<'_, u64>, resource: In<'_, Resource>, texture: In<'_, Texture>, view: In<'_, View>
    ) {
        bind_context()?;
        out.require_as("pTexObject")?;
        let resource = driver_resource(&resource.get_as("pResDesc")?)?;
        let texture = driver_texture(&texture.get_as("pTexDesc")?)?;
        let mut driver_view = DriverView::default();
        let view = if view.is_null() {
            0
        } else {
            driver_view.view = view.get_as("pResViewDesc")?;
            &raw const driver_view as usize
        };
        driver::cuTexObjectCreate(
            out.address(),
            &raw const resource as usize,
            &raw const texture as usize,
            view,
        )
    }

    /// Returns the resource description of a texture object.
    fn cudaGetTextureObjectResourceDesc(out: Out<'_, Resource>, texture: u64) {
        bind_context()?;
        out.require_as("pResDesc")?;
        let mut resource = DriverResource::default();
        driver::cuTexObjectGetResourceDesc(&raw mut resource as usize, texture)?;
        out.set_as(runtime_resource(&resource), "pResDesc")
    }

    /// Returns the texture description of a texture object.
    fn cudaGetTextureObjectTextureDesc(out: Out<'_, Texture>, texture: u64) {
        bind_context()?;
        out.require_as("pTexDesc")?;
        let mut description = DriverTexture::default();
        driver::cuTexObjectGetTextureDesc(&raw mut description as usize, texture)?;
        out.set_as(runtime_texture(&description), "pTexDesc")
    }

    /// Returns the resource view of a texture object.
    fn cudaGetTextureObjectResourceViewDesc(out: Out<'_, View>, texture: u64) {
        bind_context()?;
        out.require_as("pResViewDesc")?;
        let mut driver_view = DriverView::default();
        driver::cuTexObjectGetResourceViewDesc(&raw mut driver_view as usize, texture)?;
        out.set_as(driver_view.view, "pResViewDesc")
    }

    /// Creates a surface object, through which kernels read and write an array.
    fn cudaCreateSurfaceObject(out: Out<'_, u64>, resource: In<'_, Resource>) {
        bind_context()?;
        out.require_as("pSurfObject")?;
        let resource = driver_resource(&resource.get_as("pResDesc")?)?;
        driver::cuSurfObjectCreate(out.address(), &raw const resource as usize)
    }

    /// Returns the resource description of a surface object.
    fn cudaGetSurfaceObjectResourceDesc(out: Out<'_, Resource>, surface: u64) {
        bind_context()?;
        out.require_as("pResDesc")?;
        let mut resource = DriverResource::default();
        driver::cuSurfObjectGetResourceDesc(&raw mut resource as usize, surface)?;
        out.set_as(runtime_resource(&resource), "pResDesc")
    }
}
