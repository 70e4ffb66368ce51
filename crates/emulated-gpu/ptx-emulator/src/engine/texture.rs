//! Texture and surface instructions: looking up handles, and accessing texels. Each access is
//! checked like an access of any other instruction.
//!
//! initcheck and racecheck cover the texels that are read (only those with a nonzero weight) or
//! written. One problem is not reported: a texture may be cached, so a kernel that reads a texel
//! which it has written itself may get the old value, even if the accesses are ordered (CUDA C++
//! Programming Guide, "Read/Write Coherency"). Here it reads the new value, and racecheck only
//! reports unordered accesses.

#![allow(unsafe_code, reason = "texels are read through checked pointers")]

mod fetch;
mod surface;

use std::sync::Arc;

pub(super) use self::fetch::Fetch;
pub(super) use self::surface::{SurfaceOperation, SurfaceStep};
use super::access::instruction::Access;
use super::core::{Core, Outcome, Problem};
use super::race::{Effect, Semantics};
use super::registers::{LANES, Slot, lanes};
use crate::fault::FaultKind;
use crate::memory::words;
use crate::program::Query;
use crate::texture::cube::FACES;
use crate::texture::{AddressMode, Channel, Filter, HandleLookup, Opaque, Resource};

/// A texture or surface step.
pub(super) enum TextureStep {
    Fetch(Fetch),
    Surface(SurfaceStep),
    Query { access: Access, d: Slot, query: HandleQuery },
}

/// A query about a handle.
#[derive(Clone, Copy)]
pub(super) enum HandleQuery {
    Query(Opaque, Query),
    IsType(Option<Opaque>),
}

/// Runs a step for the active lanes.
pub(super) fn run(core: &mut Core<'_>, step: &TextureStep, mask: u32) -> Outcome {
    match step {
        TextureStep::Fetch(fetch) => {
            for_each_handle(core, &fetch.access, mask, Opaque::Texture, |core, resource, mask| {
                fetch.run(core, resource, mask)
            })
        }
        TextureStep::Surface(step) => {
            for_each_handle(core, &step.access, mask, Opaque::Surface, |core, resource, mask| {
                step.run(core, resource.texels(), mask)
            })
        }
        TextureStep::Query { access, d, query: HandleQuery::Query(kind, query) } => {
            for_each_handle(core, access, mask, *kind, |core, resource, mask| {
                let value = query_resource(resource, *query);
                lanes(mask).for_each(|lane| core.registers.set(*d, lane, value));
                Ok(())
            })
        }
        TextureStep::Query { access, d, query: HandleQuery::IsType(kind) } => {
            for lane in lanes(mask) {
                let found = match core.memory.bindings().find(access.lane_address(core, lane)) {
                    HandleLookup::Bound(resource) => Some(resource.kind()),
                    HandleLookup::Empty(kind) => Some(kind),
                    HandleLookup::Destroyed | HandleLookup::Unknown => None,
                };
                let yes = found.is_some() && found == *kind;
                core.registers.set(*d, lane, u64::from(yes));
            }
            Ok(())
        }
    }
}

/// Looks up the handles of the active lanes, and calls `body` once for all lanes with the same
/// handle.
fn for_each_handle(
    core: &mut Core<'_>,
    access: &Access,
    mask: u32,
    kind: Opaque,
    mut body: impl FnMut(&mut Core<'_>, &Resource, u32) -> Outcome,
) -> Outcome {
    let mut left = mask;
    while left != 0 {
        let first = left.trailing_zeros() as usize;
        let handle = access.lane_address(core, first);
        let same = lanes(left).filter(|&lane| access.lane_address(core, lane) == handle);
        let group = same.fold(0, |group, lane| group | 1 << lane);
        left &= !group;
        let resource = find(core, handle, kind).map_err(|problem| problem.lane(first))?;
        body(core, &resource, group)?;
    }
    Ok(())
}

/// The resource of a handle. The launch keeps it alive.
fn find(core: &mut Core<'_>, handle: u64, kind: Opaque) -> Outcome<Arc<Resource>> {
    let name = |kind| match kind {
        Opaque::Texture => "texture",
        Opaque::Surface => "surface",
    };
    let wrong = |what: String, note: &str| {
        let problem = Problem::new(FaultKind::InvalidInstruction, what);
        Err(problem.address(handle).note(note.to_owned()))
    };
    let own = name(kind);
    if let Some((_, resource)) = core.resources.iter().find(|(known, _)| *known == handle)
        && resource.kind() == kind
    {
        return Ok(Arc::clone(resource));
    }
    match core.memory.bindings().find(handle) {
        HandleLookup::Bound(resource) if resource.kind() == kind => {
            core.resources.push((handle, Arc::clone(&resource)));
            Ok(resource)
        }
        HandleLookup::Bound(_) => {
            let other = if kind == Opaque::Texture { "surface" } else { "texture" };
            let what = format!("{handle:#x} is the handle of a {other}, not of a {own}");
            wrong(what, "textures are read with tex and tld4, surfaces with suld, sust and sured")
        }
        HandleLookup::Empty(found) => {
            let what = format!("no memory is bound to the {} at {handle:#x}", name(found));
            wrong(what, "bind memory or an array to it on the host, before the launch")
        }
        HandleLookup::Destroyed => {
            let what = format!("the {own} with the handle {handle:#x} has been destroyed");
            wrong(what, "keep it until the kernel has ended")
        }
        HandleLookup::Unknown => {
            let what = format!("{handle:#x} is not the handle of a {own}");
            wrong(what, "pass the handle that the host created to the kernel, all 64 bits of it")
        }
    }
}

/// The result of `txq` or `suq`. Channel formats are numbered as in OpenCL, modes as in the ISA.
fn query_resource(resource: &Resource, query: Query) -> u64 {
    let texels = resource.texels();
    let Resource::Texture(_, sampling) = resource else {
        return match query {
            Query::NormalizedCoords | Query::FilterMode | Query::AddrMode(_) => 0,
            _ => query_texels(resource, query),
        };
    };
    match query {
        Query::NormalizedCoords => u64::from(sampling.normalised),
        Query::FilterMode => u64::from(sampling.filter == Filter::Linear && !texels.linear),
        Query::AddrMode(axis) => match sampling.mode(axis.into()) {
            AddressMode::Wrap => 0,
            AddressMode::Mirror => 1,
            AddressMode::Clamp => 3,
            AddressMode::Border => 4,
        },
        _ => query_texels(resource, query),
    }
}

fn query_texels(resource: &Resource, query: Query) -> u64 {
    let texels = resource.texels();
    let scaled = matches!(resource, Resource::Texture(_, sampling) if sampling.scaled);
    match query {
        Query::Width => texels.width,
        Query::Height => texels.height,
        Query::Depth => texels.depth,
        // The number of cubes; 0 unless there are several.
        Query::ArraySize if texels.cube => {
            Some(texels.layers / FACES).filter(|&n| n > 1).unwrap_or(0)
        }
        Query::ArraySize => texels.layers,
        Query::MemoryLayout => u64::from(texels.linear),
        Query::ChannelOrder => match texels.format.channels {
            1 => 0x10b0,
            2 => 0x10b2,
            _ => 0x10b5,
        },
        Query::ChannelDataType => match texels.format.channel {
            Channel::S8 if scaled => 0x10d0,
            Channel::S16 if scaled => 0x10d1,
            Channel::U8 if scaled => 0x10d2,
            Channel::U16 if scaled => 0x10d3,
            Channel::S8 => 0x10d7,
            Channel::S16 => 0x10d8,
            Channel::S32 => 0x10d9,
            Channel::U8 => 0x10da,
            Channel::U16 => 0x10db,
            Channel::U32 => 0x10dc,
            Channel::F16 => 0x10dd,
            Channel::F32 => 0x10de,
        },
        // Mipmaps and multisampling are not supported.
        _ => 0,
    }
}

/// Reads `bytes` bytes (1 to 16) for each active lane.
fn read(
    core: &mut Core<'_>,
    access: &Access,
    addresses: &[u64; LANES],
    mask: u32,
    bytes: u64,
) -> Outcome<[u128; LANES]> {
    let mut texels = [0; LANES];
    if mask == 0 {
        return Ok(texels);
    }
    for lane in lanes(mask) {
        let at = access.lane_access(addresses[lane], bytes, lane);
        let host = core.resolve(at, false)?;
        core.check_written(at, Effect::Read)?;
        let mut buffer = [0; 16];
        // SAFETY: `resolve` has checked `bytes` bytes.
        unsafe { words::read(host, &mut buffer[..bytes as usize]) };
        texels[lane] = u128::from_le_bytes(buffer);
    }
    core.race(access, addresses, mask, (bytes, Semantics::default()), Effect::Read)?;
    Ok(texels)
}
