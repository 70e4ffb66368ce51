//! Interleaving of a source with its PTX: each line is followed by the PTX that it was compiled to.

use std::fmt::Write as _;

/// Puts PTX after the source lines that its `.loc` directives name. PTX that belongs to no line
/// (declarations and directives) is left out.
pub(crate) fn interleave(source: &str, ptx: &str) -> String {
    let lines: Vec<&str> = source.lines().collect();
    let width = lines.len().to_string().len();
    let (mut text, mut now, mut shown) = (String::new(), 0, 0);
    let mut inside = false;
    for line in ptx.lines() {
        let line = line.trim();
        match line {
            "{" => inside = true,
            "}" if inside => {
                (inside, shown) = (false, 0);
                text.push('\n');
            }
            _ => {}
        }
        if let Some(place) = line.strip_prefix(".loc\t") {
            let mut numbers =
                place.split_whitespace().filter_map(|word| word.parse::<usize>().ok());
            now = match (numbers.next(), numbers.next()) {
                (Some(1), Some(line)) => line,
                // A line of an included file.
                _ => 0,
            };
            continue;
        }
        if !inside || line.is_empty() || line == "{" || line.starts_with([')', '.', '/']) {
            continue;
        }
        if now != shown {
            shown = now;
            let own = now.checked_sub(1).and_then(|index| lines.get(index)).unwrap_or(&"");
            let _ = writeln!(text, "{now:>width$} | {}", own.trim_end());
        }
        let mut words = line.split_whitespace();
        let mut name = words.next().unwrap_or_default().to_owned();
        if name.starts_with('@') {
            // An instruction with a predicate: its name is the word after the predicate.
            name = format!("{name} {}", words.next().unwrap_or_default());
        }
        let rest: Vec<&str> = words.collect();
        let _ = match line.ends_with(':') {
            true => writeln!(text, "{:width$} |     {line}", ""),
            false => writeln!(text, "{:width$} |         {name:<20} {}", "", rest.join(" ")),
        };
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}
