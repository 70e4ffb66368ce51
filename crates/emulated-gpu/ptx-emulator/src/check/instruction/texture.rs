//! Special rules for texture instructions, and for queries of textures and surfaces (PTX ISA, "Texture
//! Instructions").

use crate::check::context::Result;
use crate::check::operands::{Check, Width, is_sink};
use crate::check::types;
use crate::diagnostic::Problem;
use crate::program::{Destination, Geometry, Op, Operand, Query, TextureOp, Type};
use crate::syntax::OperandKind;
use crate::texture::Opaque;

const fn flat(axes: usize, layered: bool) -> Geometry {
    Geometry { axes, layered, cube: false }
}

/// The geometries that both surfaces and textures can have.
pub(super) const FLAT: [(&str, Geometry); 5] = [
    ("1d", flat(1, false)),
    ("2d", flat(2, false)),
    ("3d", flat(3, false)),
    ("a1d", flat(1, true)),
    ("a2d", flat(2, true)),
];

/// Geometries of textures only.
const CUBES: [(&str, Geometry); 2] = [
    ("cube", Geometry { axes: 2, layered: false, cube: true }),
    ("acube", Geometry { axes: 2, layered: true, cube: true }),
];

/// How the mipmap level is chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mipmap {
    Base,
    Level,
    Gradient,
}

/// Wraps a texture or surface instruction.
pub(super) fn texture_op(op: TextureOp) -> Result<Op> {
    Ok(Op::Texture(Box::new(op)))
}

/// Takes the geometry.
fn geometry(check: &mut Check<'_, '_>) -> Result<Geometry> {
    if check.modifiers.word("2dms|a2dms").is_some() {
        let message = format!("`{}`: textures of several samples are not emulated", check.title());
        let help = "textures have one, two or three dimensions, and layers, or are cubes";
        return Err(check.error(message, help));
    }
    match check.modifiers.take_one_of(&CUBES) {
        Some(cube) => Ok(cube),
        None => check.modifiers.require_one_of("a geometry", &FLAT),
    }
}

/// The destinations: a vector of `count` elements. Its predicate is read by [`residency_predicate`].
fn destinations(check: &mut Check<'_, '_>, ty: Type, count: usize) -> Result<Vec<Destination>> {
    let written = check.written;
    let operand = &written.operands[0];
    let parts = check.parts_of(operand);
    if parts.len() != count {
        return Err(Problem::new(operand.span, format!("{} destinations", parts.len()))
            .help(format!("`{}` gives {count}: put them into braces", check.title())));
    }
    if let OperandKind::Vector(list) | OperandKind::VectorPair(list, _) = &operand.kind
        && list.iter().all(is_sink)
    {
        return Err(Problem::new(operand.span, "every destination is `_`")
            .help("name a register for one channel at least"));
    }
    check.part_destinations(&parts, ty, Width::Exact)
}

/// The optional predicate `|p`.
fn residency_predicate(check: &mut Check<'_, '_>) -> Result<Destination> {
    let written = check.written;
    let OperandKind::VectorPair(_, node) = &written.operands[0].kind else { return Ok(None) };
    check.require(60, (7, 1))?;
    check.written_register(node, Type::Pred, Width::Exact).map(Some)
}

/// The optional offset in texels that follows the coordinates. A depth to compare with is an error.
fn offset(check: &mut Check<'_, '_>, index: usize, geometry: Geometry) -> Result<Vec<Operand>> {
    let axes = geometry.axes;
    let written = check.written;
    let Some(operand) = written.operands.get(index) else { return Ok(Vec::new()) };
    check.require(30, (4, 3))?;
    let depth = |span| {
        Problem::new(span, "depth textures are not emulated")
            .help("compare what the texture holds with setp")
    };
    if let OperandKind::Plain(node) = &operand.kind
        && check.is_register(node)
        && let Some(register) = check.read_register(node)?
        && types::is_float(check.register_type(register))
    {
        return Err(depth(operand.span));
    }
    if let Some(last) = written.operands.get(index + 1) {
        return Err(depth(last.span));
    }
    if geometry.cube {
        return Err(Problem::new(operand.span, "a cube has no offsets")
            .help("remove the offset, and change the direction"));
    }
    let parts = check.parts_of(operand);
    let wanted = if axes == 3 { 4 } else { axes };
    if parts.len() != wanted {
        return Err(Problem::new(operand.span, format!("an offset of {} numbers", parts.len()))
            .help(format!("`{}` takes {wanted}, in texels", check.title())));
    }
    let mut list = check.part_sources(&parts, Type::S32, Width::Exact)?;
    list.truncate(axes);
    Ok(list)
}

/// The level or the gradients that follow the coordinates. They are checked but have no effect, because
/// textures have one level.
fn level(
    check: &mut Check<'_, '_>,
    level: Mipmap,
    coordinates: Type,
    geometry: Geometry,
) -> Result<Vec<(Operand, Type)>> {
    match level {
        Mipmap::Base => Ok(Vec::new()),
        Mipmap::Level => Ok(vec![(check.source(2, coordinates)?, coordinates)]),
        Mipmap::Gradient => {
            let mut list = Vec::new();
            let wanted = if geometry.axes == 3 || geometry.cube { 4 } else { geometry.axes };
            for index in [2, 3] {
                let parts = check.parts(index)?;
                if parts.len() != wanted {
                    let message = format!("a gradient of {} numbers", parts.len());
                    let help = format!("`{}` takes {wanted}", check.title());
                    return Err(check.operand_error(index, message, help));
                }
                list.extend(check.part_sources(&parts, Type::F32, Width::Exact)?);
            }
            Ok(list.into_iter().map(|number| (number, Type::F32)).collect())
        }
    }
}

pub(super) fn tex(check: &mut Check<'_, '_>) -> Result<Op> {
    let levels = [("base", Mipmap::Base), ("level", Mipmap::Level), ("grad", Mipmap::Gradient)];
    let mipmap = check.modifiers.take_one_of(&levels).unwrap_or(Mipmap::Base);
    let geometry = geometry(check)?;
    let vector = check.modifiers.require_one_of("`.v4`", &[("v4", 4), ("v2", 2)])?;
    let ty = check.modifiers.ty("u32|s32|f32|f16|f16x2")?;
    let coordinates = check.modifiers.ty(if geometry.cube { "f32" } else { "s32|f32" })?;
    if (vector == 2) != (ty == Type::F16x2) {
        let message = format!("`{}` returns a different vector", check.title());
        return Err(check.error(message, "write .v2.f16x2, or .v4 with another type"));
    }
    fetch(check, (geometry, coordinates), (ty, vector), mipmap, None)
}

pub(super) fn tld4(check: &mut Check<'_, '_>) -> Result<Op> {
    let channels = [("r", 0), ("g", 1), ("b", 2), ("a", 3)];
    let gather = Some(check.modifiers.require_one_of("a channel", &channels)?);
    let geometry = geometry(check)?;
    if geometry.axes != 2 {
        let help = "write .2d, .a2d, .cube or .acube";
        return Err(check.error("tld4 gathers four texels of two dimensions", help));
    }
    check.take("v4")?;
    let ty = check.modifiers.ty("u32|s32|f32")?;
    let coordinates = check.modifiers.ty("f32")?;
    fetch(check, (geometry, coordinates), (ty, 4), Mipmap::Base, gather)
}

/// Reads the operands of `tex` and `tld4`.
fn fetch(
    check: &mut Check<'_, '_>,
    (geometry, coordinates): (Geometry, Type),
    (ty, count): (Type, usize),
    mipmap: Mipmap,
    gather: Option<u8>,
) -> Result<Op> {
    let (offset_index, shape) = match mipmap {
        Mipmap::Base => (2, "d, a, {e}, {f}"),
        Mipmap::Level => (3, "d, a, lod, {e}, {f}"),
        Mipmap::Gradient => (4, "d, a, dPdx, dPdy, {e}, {f}"),
    };
    check.shape(shape)?;
    let d = destinations(check, ty, count)?;
    let p = residency_predicate(check)?;
    let (texture, more) = check.reference(1, Opaque::Texture)?;
    let at = check.coordinates(more, geometry, coordinates)?;
    let level = level(check, mipmap, coordinates, geometry)?;
    let offset = offset(check, offset_index, geometry)?;
    texture_op(TextureOp::Fetch {
        geometry,
        gather,
        ty,
        d,
        p,
        texture,
        coordinates,
        at,
        offset,
        level,
    })
}

const QUERIES: [(&str, Query); 14] = [
    ("width", Query::Width),
    ("height", Query::Height),
    ("depth", Query::Depth),
    ("channel_data_type", Query::ChannelDataType),
    ("channel_order", Query::ChannelOrder),
    ("normalized_coords", Query::NormalizedCoords),
    ("filter_mode", Query::FilterMode),
    ("addr_mode_0", Query::AddrMode(0)),
    ("addr_mode_1", Query::AddrMode(1)),
    ("addr_mode_2", Query::AddrMode(2)),
    ("array_size", Query::ArraySize),
    ("num_mipmap_levels", Query::NumMipmapLevels),
    ("num_samples", Query::NumSamples),
    ("memory_layout", Query::MemoryLayout),
];

pub(super) fn txq(check: &mut Check<'_, '_>) -> Result<Op> {
    let level = check.modifiers.flag("level");
    let queries = if level { &QUERIES[..3] } else { &QUERIES[..13] };
    let query = check.modifiers.require_one_of("a query", queries)?;
    check.take(".b32")?;
    check.shape(if level { "d, a, lod" } else { "d, a" })?;
    self::query(check, Opaque::Texture, query, level)
}

pub(super) fn suq(check: &mut Check<'_, '_>) -> Result<Op> {
    let queries = [&QUERIES[..5], &[QUERIES[10], QUERIES[13]]].concat();
    let query = check.modifiers.require_one_of("a query", &queries)?;
    check.take(".b32")?;
    check.shape("d, a")?;
    self::query(check, Opaque::Surface, query, false)
}

fn query(check: &mut Check<'_, '_>, kind: Opaque, query: Query, level: bool) -> Result<Op> {
    let d = check.destination(0, Type::B32)?;
    let (a, more) = check.reference(1, kind)?;
    if let Some(operand) = more.first() {
        return Err(Problem::new(operand.span, "a query takes no coordinates")
            .help("write only the handle between the brackets"));
    }
    let level = if level { Some(check.source(2, Type::U32)?) } else { None };
    texture_op(TextureOp::Query { kind, query, d, a, level })
}
