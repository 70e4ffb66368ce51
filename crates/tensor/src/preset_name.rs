//! Current and former names of presets.

use serde::{Deserialize, Deserializer};

/// The former and the current name of each preset. Formerly, a preset had the name of its source. Dumps, checkpoints,
/// reports and command lines may still use the former name.
pub const FORMER_PRESET_NAMES: [(&str, &str); 5] = [
    ("nvmath", "small"),
    ("manning", "medium"),
    ("mnist-cuda", "large"),
    ("ptx-mnist", "race"),
    ("ptx-3layer", "deep"),
];

/// The current name of a preset; `name` may be its former name.
#[must_use]
pub fn current_preset_name(name: &str) -> &str {
    let former = FORMER_PRESET_NAMES.iter().find(|(former, _)| *former == name);
    former.map_or(name, |(_, current)| current)
}

/// Reads the name of a preset, for serde's `deserialize_with`: a former name becomes the current one.
///
/// # Errors
/// If the value isn't a string.
pub fn deserialize_preset_name<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    let mut name = String::deserialize(input)?;
    let current = current_preset_name(&name);
    if current != name {
        name = current.to_owned();
    }
    Ok(name)
}
