//! Special registers (PTX ISA, "Special Registers").

use crate::limits::RESERVED_SHARED;
use crate::program::special::{COMPONENTS, PLAIN, POSITIONS, Since};
use crate::program::{Special, Type};

/// How a special register is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reads {
    As(Special),
    /// A constant: the fourth component of a position, or a register that hardware always reads as one number.
    Constant(u64),
    /// The register exists, but has no meaning without hardware or a driver.
    Nothing,
}

/// Looks up a special register by its name and component. Also returns its type and its first target and version.
pub(super) fn find_special(name: &str, member: Option<&str>) -> Option<(Reads, Type, Since)> {
    if let Some(member) = member {
        let axis = COMPONENTS.iter().position(|component| *component == member)? as u8;
        let &(_, of, since) = POSITIONS.iter().find(|row| row.0 == name)?;
        let reads = if axis == 3 { Reads::Constant(0) } else { Reads::As(of(axis)) };
        return Some((reads, Type::U32, since));
    }
    if let Some(&(_, special, ty, since)) = PLAIN.iter().find(|row| row.0 == name) {
        return Some((Reads::As(special), ty, since));
    }
    if name == "%current_graph_exec" {
        return Some((Reads::Constant(0), Type::U64, (50, (8, 0))));
    }
    let number = |prefix: &str, from: u32, below: u32, since: Since| {
        let number = name.strip_prefix(prefix)?.parse::<u32>().ok()?;
        (from..below).contains(&number).then_some((Reads::Nothing, Type::U32, since))
    };
    // The reserved shared memory has two parts. Cooperative groups use the second one.
    let reserved = || {
        let special = match name.strip_prefix("%reserved_smem_offset_")? {
            "begin" | "0" => Special::ReservedShared(0),
            "1" => Special::ReservedShared(RESERVED_SHARED / 2),
            "end" => Special::ReservedShared(RESERVED_SHARED),
            "cap" => Special::ReservedSharedSize,
            _ => return None,
        };
        Some((Reads::As(special), Type::U32, (80, (7, 6))))
    };
    let wide = || {
        let middle = name.strip_prefix("%pm")?.strip_suffix("_64")?;
        (middle.parse::<u32>().ok()? < 8).then_some((Reads::Nothing, Type::U64, (50, (4, 0))))
    };
    number("%envreg", 0, 32, (10, (1, 0)))
        .or_else(|| number("%pm", 0, 4, (10, (1, 3))))
        .or_else(|| number("%pm", 4, 8, (20, (3, 0))))
        .or_else(wide)
        .or_else(reserved)
}

/// Whether `name` is the name of a special register with components.
pub(super) fn is_vector(name: &str) -> bool {
    find_special(name, Some("x")).is_some()
}

/// The names to suggest for a misspelt one.
pub(super) fn names<'name>() -> impl Iterator<Item = &'name str> {
    let parts = [
        ["%tid.x", "%tid.y", "%tid.z"],
        ["%ntid.x", "%ntid.y", "%ntid.z"],
        ["%ctaid.x", "%ctaid.y", "%ctaid.z"],
        ["%nctaid.x", "%nctaid.y", "%nctaid.z"],
    ];
    let plain = PLAIN.iter().map(|row| row.0).take_while(|name| *name != "%aggr_smem_size");
    let of_clusters = ["%clusterid.x", "%cluster_ctaid.x", "%cluster_ctarank"];
    parts.into_iter().flatten().chain(plain).chain(of_clusters)
}
