//! Variables that represent textures and surfaces (PTX ISA, "Texture, Sampler and Surface Types").

use crate::diagnostic::{Problem, closest};
use crate::program::{Linkage, Space, Type};
use crate::syntax::{Declaration, Declarator, Expression, Initializer, Name, Node, Opacity};
use crate::texture::{AddressMode, Filter, Opaque, Sampling};

use super::constants;
use super::context::{ModuleContext, Result};

/// The fields for address modes.
const MODES: [(&str, usize); 3] = [("addr_mode_0", 0), ("addr_mode_1", 1), ("addr_mode_2", 2)];

/// The fields that describe the object. They are checked and ignored, because the bound object has its own
/// description.
const NUMBERS: [&str; 8] = [
    "width",
    "height",
    "depth",
    "channel_data_type",
    "channel_order",
    "array_size",
    "num_mipmap_levels",
    "num_samples",
];

/// The kind of object that a declaration's variable represents, and its initial sampling.
///
/// # Errors
/// If there can be no such variable.
pub(super) fn declared_opaque(
    context: &ModuleContext,
    declaration: &Declaration,
    declarator: &Declarator,
) -> Result<Option<(Opaque, Sampling)>> {
    let Declaration { space, ty, ty_span, linkage, lanes, .. } = *declaration;
    let span = declarator.name.span;
    let kind = match declaration.opaque {
        None => return Ok(None),
        Some(Opacity::Space) => {
            if context.module.version >= (1, 5) {
                return Err(Problem::new(span, "there is no `.tex` space from PTX 1.5 on")
                    .help("declare the texture `.global .texref`"));
            }
            if !matches!(ty, Type::U32 | Type::U64) {
                return Err(Problem::new(ty_span, "a `.tex` variable is .u32 or .u64")
                    .help("it stands for a texture, whatever the type of its texels"));
            }
            Opaque::Texture
        }
        Some(Opacity::Type(kind)) => kind,
    };
    if context.separate_samplers {
        return Err(Problem::new(span, "separate textures and samplers are not emulated")
            .help("remove texmode_independent, so that each .texref has its own sampler"));
    }
    if !matches!(space, Space::Global | Space::Param) {
        return Err(Problem::new(span, "a texture or a surface is declared .global")
            .help("change the state space in front of it"));
    }
    if !declarator.lengths.is_empty() || lanes > 1 || linkage == Linkage::Common {
        return Err(Problem::new(span, "arrays of textures and surfaces are not emulated")
            .help("declare them one by one"));
    }
    let Some(initial) = &declarator.initial else { return Ok(Some((kind, Sampling::default()))) };
    match initial {
        Initializer::Fields(fields, _)
            if space == Space::Global && declaration.opaque != Some(Opacity::Space) =>
        {
            Ok(Some((kind, sampling(fields)?)))
        }
        _ => Err(Problem::new(
            span,
            format!("`{}` can't have this initial value", declarator.name.text),
        )
        .help("name its fields: { normalized_coords = 1, filter_mode = linear }")),
    }
}

fn sampling(fields: &[(Name, Node)]) -> Result<Sampling> {
    let mut sampling = Sampling::default();
    for (field, value) in fields {
        if let Some((_, axis)) = MODES.iter().find(|(name, _)| *name == field.text) {
            sampling.address[*axis] = field_word(
                value,
                &[
                    ("wrap", AddressMode::Wrap),
                    ("mirror", AddressMode::Mirror),
                    ("clamp_ogl", AddressMode::Clamp),
                    ("clamp_to_edge", AddressMode::Clamp),
                    ("clamp_to_border", AddressMode::Border),
                ],
            )?;
        } else if field.text == "filter_mode" {
            let filters = [("nearest", Filter::Point), ("linear", Filter::Linear)];
            sampling.filter = field_word(value, &filters)?;
        } else if field.text == "normalized_coords" {
            sampling.normalised = field_number(value)? != 0;
        } else if NUMBERS.contains(&field.text) {
            field_number(value)?;
        } else {
            let names = MODES.iter().map(|(name, _)| *name).chain(NUMBERS);
            let names = names.chain(["filter_mode", "normalized_coords"]);
            let help = closest(field.text, names).map(|name| format!("did you mean `{name}`?"));
            let message = format!("`{}` is not a field of a texture or a surface", field.text);
            return Err(Problem::new(field.span, message).maybe_help(help));
        }
    }
    Ok(sampling)
}

fn field_word<T: Copy>(value: &Node, words: &[(&'static str, T)]) -> Result<T> {
    let entry = match value.expression {
        Expression::Name(name) => words.iter().find(|(word, _)| *word == name),
        _ => None,
    };
    entry.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Problem::new(value.span, "this is not a value of the field")
            .help(format!("write one of {}", names.join(", ")))
    })
}

fn field_number(value: &Node) -> Result<u64> {
    Ok(constants::integer(constants::evaluate(value)?, value)?.0)
}
