//! Texture and surface instructions, which access memory by coordinates (PTX ISA, "Texture Instructions" and
//! "Surface Instructions").

use super::modes::Atomic;
use super::operand::{Destination, Operand, Read, Written};
use super::types::Type;
use crate::texture::Opaque;

/// The geometry of a texture or a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Dimensions: 1, 2 or 3.
    pub axes: usize,
    /// `.a1d`, `.a2d`, `.acube`: the first coordinate is the index of a layer.
    pub layered: bool,
    /// `.cube`, `.acube`: the three coordinates are a direction, which selects a point on one of the six sides.
    pub cube: bool,
}

impl Geometry {
    /// The number of coordinates, including the index of a layer.
    #[must_use]
    pub const fn coordinates(self) -> usize {
        self.axes + self.cube as usize + self.layered as usize
    }
}

/// How an access outside of a surface is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfBounds {
    /// A fault.
    Trap,
    /// The coordinate is moved to the nearest position inside the surface.
    Clamp,
    /// A read returns 0, and a write is ignored.
    Zero,
}

/// The property that `txq` or `suq` returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX query of the same name")]
pub enum Query {
    Width,
    Height,
    Depth,
    ChannelDataType,
    ChannelOrder,
    NormalizedCoords,
    FilterMode,
    AddrMode(u8),
    ArraySize,
    NumMipmapLevels,
    NumSamples,
    MemoryLayout,
}

/// A surface and the coordinates of an access.
#[derive(Clone, Debug, PartialEq)]
pub struct SurfaceAddress {
    /// A register with a handle, or a variable that represents a surface.
    pub surface: Operand,
    /// The geometry of the surface.
    pub geometry: Geometry,
    /// The coordinates.
    pub at: Vec<Operand>,
    /// How coordinates outside are handled.
    pub outside: OutOfBounds,
    /// `.p`: the first coordinate is in texels instead of bytes.
    pub formatted: bool,
}

/// A texture or surface instruction.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named as in the ISA: d destination, a b c sources")]
pub enum TextureOp {
    /// `tex`, and `tld4` with the channel that it gathers. The predicate is set if the texels are resident,
    /// which they always are.
    Fetch {
        geometry: Geometry,
        gather: Option<u8>,
        ty: Type,
        d: Vec<Destination>,
        p: Destination,
        texture: Operand,
        /// The type of the coordinates: `.s32` or `.f32`.
        coordinates: Type,
        at: Vec<Operand>,
        /// An offset to the coordinates in texels.
        offset: Vec<Operand>,
        /// The level of the mipmap or the gradients. They have no effect, because textures have one level.
        level: Vec<(Operand, Type)>,
    },
    /// `txq`, `suq`
    Query { kind: Opaque, query: Query, d: Destination, a: Operand, level: Option<Operand> },
    /// `istypep`; `None` for `.samplerref`.
    IsType { kind: Option<Opaque>, d: Destination, a: Operand },
    /// `suld`
    Load { address: SurfaceAddress, ty: Type, d: Vec<Destination> },
    /// `sust`
    Store { address: SurfaceAddress, ty: Type, a: Vec<Operand> },
    /// `sured`
    Reduce { address: SurfaceAddress, op: Atomic, ty: Type, a: Operand },
}

impl SurfaceAddress {
    fn reads(&self) -> Vec<Read> {
        let at = self.at.iter().enumerate().map(|(index, &at)| {
            let layer = self.geometry.layered && index == 0;
            (at, Some(if layer { Type::U32 } else { Type::S32 }))
        });
        handle(self.surface).into_iter().chain(at).collect()
    }
}

/// The handle, if it is in a register.
fn handle(operand: Operand) -> Vec<Read> {
    match operand {
        Operand::Register(_) => vec![(operand, Some(Type::U64))],
        _ => Vec::new(),
    }
}

impl TextureOp {
    /// See [`Op::reads`](super::Op::reads).
    pub(super) fn reads(&self) -> Vec<Read> {
        match self {
            Self::Fetch { geometry, texture, coordinates, at, offset, level, .. } => {
                let at = at.iter().enumerate().map(|(index, &at)| {
                    let layer = geometry.layered && index == 0;
                    (at, Some(if layer { Type::U32 } else { *coordinates }))
                });
                let offset = offset.iter().map(|&offset| (offset, Some(Type::S32)));
                let level = level.iter().map(|&(level, ty)| (level, Some(ty)));
                handle(*texture).into_iter().chain(at).chain(level).chain(offset).collect()
            }
            Self::Query { a, level, .. } => {
                let level = level.iter().map(|&level| (level, Some(Type::U32)));
                handle(*a).into_iter().chain(level).collect()
            }
            Self::IsType { a, .. } => vec![(*a, Some(Type::U64))],
            Self::Load { address, .. } => address.reads(),
            Self::Store { address, ty, a } => {
                let values = a.iter().map(|&a| (a, Some(*ty)));
                address.reads().into_iter().chain(values).collect()
            }
            Self::Reduce { address, ty, a, .. } => {
                address.reads().into_iter().chain([(*a, Some(*ty))]).collect()
            }
        }
    }

    /// See [`Op::writes`](super::Op::writes).
    pub(super) fn writes(&self) -> Vec<Written> {
        let all = |list: &[Destination], ty: Type| -> Vec<Written> {
            list.iter().flatten().map(|&register| (register, Some(ty))).collect()
        };
        match self {
            Self::Fetch { d, ty, p, .. } => [all(d, *ty), all(&[*p], Type::Pred)].concat(),
            Self::Query { d, .. } => all(&[*d], Type::B32),
            Self::IsType { d, .. } => all(&[*d], Type::Pred),
            Self::Load { d, ty, .. } => all(d, *ty),
            Self::Store { .. } | Self::Reduce { .. } => Vec::new(),
        }
    }
}
