//! Texture objects and surface objects.

use std::ffi::c_int;

use c_abi::{Code, export, fail_if};

use crate::abi::texture::{
    Channels, DriverResource, DriverTexture, DriverView, Linear, PitchedMemory, Resource,
    ResourceUnion, Texture, View,
};
use crate::channels;
use crate::context::bind;
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

/// A description of channels, which is no more than its arguments.
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

/// The format and the count in one word, as they lie in the driver's structure.
fn packed(channels: Channels) -> Result<u64> {
    let (format, count) = channels::format(channels)?;
    Ok(u64::from(format) | u64::from(count) << 32)
}

fn resource(given: &Resource) -> Result<DriverResource> {
    let mut of = [0; 16];
    // SAFETY: every part of the union is of plain numbers, and the program vouches for all of it.
    let (array, linear, pitched) = unsafe { (given.of.array, given.of.linear, given.of.pitched) };
    match given.kind {
        ARRAY | MIPMAPPED => of[0] = array as u64,
        LINEAR => {
            let Linear { address, channels, bytes } = linear;
            of[..3].copy_from_slice(&[address as u64, packed(channels)?, bytes as u64]);
        }
        PITCHED => {
            let PitchedMemory { address, channels, width, height, pitch } = pitched;
            let sizes = [width, height, pitch].map(|size| size as u64);
            of[..2].copy_from_slice(&[address as u64, packed(channels)?]);
            of[2..5].copy_from_slice(&sizes);
        }
        kind => {
            return Err(Code::INVALID_VALUE.because(format!("there is no kind {kind} of resource")));
        }
    }
    Ok(DriverResource { kind: given.kind, of, flags: 0 })
}

fn told(found: &DriverResource) -> Resource {
    let [address, packed, first, second, third, ..] = found.of;
    let channels = channels::of(packed as u32, (packed >> 32) as u32);
    let address = address as usize;
    // What the program reads is all of it: the largest part first.
    let mut of = ResourceUnion { pitched: PitchedMemory::default() };
    match found.kind {
        LINEAR => of.linear = Linear { address, channels, bytes: first as usize },
        PITCHED => {
            let [width, height, pitch] = [first, second, third].map(|size| size as usize);
            of.pitched = PitchedMemory { address, channels, width, height, pitch };
        }
        _ => of.array = address,
    }
    Resource { kind: found.kind, of }
}

/// The driver's flags.
fn flags(given: &Texture) -> u32 {
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    flag(given.read == 0, READ_AS_INTEGER)
        | flag(given.normalised != 0, NORMALISED)
        | flag(given.srgb != 0, SRGB)
        | flag(given.no_trilinear_optimisation != 0, NO_TRILINEAR_OPTIMISATION)
        | flag(given.seamless_cube_map != 0, SEAMLESS_CUBE_MAP)
}

fn texture(given: &Texture) -> Result<DriverTexture> {
    fail_if!(given.read > 1, INVALID_VALUE, "there is no read mode {}", given.read);
    Ok(DriverTexture {
        address: given.address,
        filter: given.filter,
        flags: flags(given),
        anisotropy: given.anisotropy,
        mipmap_filter: given.mipmap_filter,
        mipmap_bias: given.mipmap_bias,
        mipmap_least: given.mipmap_least,
        mipmap_most: given.mipmap_most,
        border: given.border,
        reserved: [0; 12],
    })
}

fn told_texture(found: &DriverTexture) -> Texture {
    let has = |flag: u32| i32::from(found.flags & flag != 0);
    Texture {
        address: found.address,
        filter: found.filter,
        read: u32::from(found.flags & READ_AS_INTEGER == 0),
        srgb: has(SRGB),
        border: found.border,
        normalised: has(NORMALISED),
        anisotropy: found.anisotropy,
        mipmap_filter: found.mipmap_filter,
        mipmap_bias: found.mipmap_bias,
        mipmap_least: found.mipmap_least,
        mipmap_most: found.mipmap_most,
        no_trilinear_optimisation: has(NO_TRILINEAR_OPTIMISATION),
        seamless_cube_map: has(SEAMLESS_CUBE_MAP),
    }
}

export! {
    /// A texture: what is read, and how.
    fn cudaCreateTextureObject(
        out: Out<'_, u64>, given: In<'_, Resource>, how: In<'_, Texture>, view: In<'_, View>
    ) {
        bind()?;
        out.required_as("pTexObject")?;
        let resource = resource(&given.get_as("pResDesc")?)?;
        let texture = texture(&how.get_as("pTexDesc")?)?;
        let mut all = DriverView::default();
        let view = if view.is_null() {
            0
        } else {
            all.view = view.get_as("pResViewDesc")?;
            &raw const all as usize
        };
        driver::cuTexObjectCreate(
            out.address(),
            &raw const resource as usize,
            &raw const texture as usize,
            view,
        )
    }

    /// What it was made of.
    fn cudaGetTextureObjectResourceDesc(out: Out<'_, Resource>, texture: u64) {
        bind()?;
        out.required_as("pResDesc")?;
        let mut found = DriverResource::default();
        driver::cuTexObjectGetResourceDesc(&raw mut found as usize, texture)?;
        out.set_as(told(&found), "pResDesc")
    }

    /// How it is read.
    fn cudaGetTextureObjectTextureDesc(out: Out<'_, Texture>, texture: u64) {
        bind()?;
        out.required_as("pTexDesc")?;
        let mut found = DriverTexture::default();
        driver::cuTexObjectGetTextureDesc(&raw mut found as usize, texture)?;
        out.set_as(told_texture(&found), "pTexDesc")
    }

    /// The view that it was made with.
    fn cudaGetTextureObjectResourceViewDesc(out: Out<'_, View>, texture: u64) {
        bind()?;
        out.required_as("pResViewDesc")?;
        let mut found = DriverView::default();
        driver::cuTexObjectGetResourceViewDesc(&raw mut found as usize, texture)?;
        out.set_as(found.view, "pResViewDesc")
    }

    /// A surface: an array that is read and written.
    fn cudaCreateSurfaceObject(out: Out<'_, u64>, given: In<'_, Resource>) {
        bind()?;
        out.required_as("pSurfObject")?;
        let resource = resource(&given.get_as("pResDesc")?)?;
        driver::cuSurfObjectCreate(out.address(), &raw const resource as usize)
    }

    /// What it was made of.
    fn cudaGetSurfaceObjectResourceDesc(out: Out<'_, Resource>, surface: u64) {
        bind()?;
        out.required_as("pResDesc")?;
        let mut found = DriverResource::default();
        driver::cuSurfObjectGetResourceDesc(&raw mut found as usize, surface)?;
        out.set_as(told(&found), "pResDesc")
    }
}
