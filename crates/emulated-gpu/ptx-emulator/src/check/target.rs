//! The architectures, and the first version of PTX that has each (PTX ISA, "Release History").

use crate::diagnostic::{Problem, closest};
use crate::syntax::Name;

use super::context::Result;

/// Each architecture, and the first version of PTX that has it.
const TARGETS: [(u32, (u32, u32)); 29] = [
    (10, (1, 0)),
    (11, (1, 0)),
    (12, (1, 2)),
    (13, (1, 2)),
    (20, (2, 0)),
    (21, (2, 0)),
    (30, (3, 0)),
    (32, (4, 0)),
    (35, (3, 1)),
    (37, (4, 1)),
    (50, (4, 0)),
    (52, (4, 1)),
    (53, (4, 2)),
    (60, (5, 0)),
    (61, (5, 0)),
    (62, (5, 0)),
    (70, (6, 0)),
    (72, (6, 1)),
    (75, (6, 3)),
    (80, (7, 0)),
    (86, (7, 1)),
    (87, (7, 4)),
    (88, (9, 0)),
    (89, (7, 8)),
    (90, (7, 8)),
    (100, (8, 6)),
    (103, (8, 8)),
    (110, (9, 0)),
    (120, (8, 7)),
];

/// The newest major version of PTX that is accepted.
const MAX_MAJOR_VERSION: u32 = 9;

/// The architecture that `.target` names, and whether it has a letter.
///
/// # Errors
/// If the architecture does not exist, or is newer than that version of PTX.
pub(super) fn parse(target: Name, version: (u32, u32)) -> Result<(u32, bool)> {
    let text = target.text.strip_prefix("sm_").or_else(|| target.text.strip_prefix("compute_"));
    let text = text.unwrap_or_default();
    let digits = text.trim_end_matches(['a', 'f']);
    let letter = text.len() > digits.len();
    let number = digits.parse::<u32>().ok().filter(|_| text.len() - digits.len() <= 1);
    // The suffix `a` exists from sm_90 on, `f` from sm_100 on.
    let number =
        number.filter(|number| !letter || *number >= if text.ends_with('f') { 100 } else { 90 });
    // sm_101 was renamed to sm_110, and sm_121 is a variant of sm_120.
    let since = match number {
        Some(101) => Some((8, 6)),
        Some(121) => Some((8, 8)),
        Some(90) if letter => Some((8, 0)),
        _ => TARGETS.iter().find(|(known, _)| Some(*known) == number).map(|(_, since)| *since),
    };
    let (Some(number), Some(since)) = (number, since) else {
        let names: Vec<String> = TARGETS.iter().map(|(known, _)| format!("sm_{known}")).collect();
        let help = closest(target.text, names.iter().map(String::as_str));
        let help = help.map_or("write one such as sm_52, sm_75, sm_80 or sm_90".into(), |name| {
            format!("did you mean `{name}`?")
        });
        return Err(
            Problem::new(target.span, format!("there is no target `{}`", target.text)).help(help)
        );
    };
    if version < since {
        let (major, minor) = since;
        return Err(Problem::new(
            target.span,
            format!("`{}` needs PTX {major}.{minor}", target.text),
        )
        .help(format!("write .version {major}.{minor} or a later one")));
    }
    Ok((number, letter))
}

/// Whether this version of PTX is known.
pub(super) fn is_known(version: (u32, u32)) -> bool {
    let minors = match version.0 {
        1 => 0..=5,
        2 => 0..=3,
        3 => 0..=2,
        4 => 0..=3,
        5 => 0..=1,
        6 => 0..=5,
        7 | 8 => 0..=8,
        MAX_MAJOR_VERSION => 0..=9,
        _ => return false,
    };
    minors.contains(&version.1)
}
