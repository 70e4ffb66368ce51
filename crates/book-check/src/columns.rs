//! Marks outputs that have columns, so that they scroll on a narrow page instead of wrapping.

use std::path::Path;

use crate::{Problem, edit_pages};

/// The tag with which mdBook begins a block that shows an output.
const OUTPUT: &str = "<code class=\"language-console\">";
const WITH_COLUMNS: &str = "<code class=\"language-console columns\">";
const STYLE: &str = "<style>@media(max-width:800px){.content pre \
    code.language-console.columns{white-space:pre}}</style>";
/// Maximum length of a line of prose in a block that scrolls. Longer lines are easier to read wrapped.
const MAX_SCROLLED: usize = 160;

/// Marks the outputs that have columns, on all pages of a built book.
///
/// # Errors
/// If a page can't be read or written.
pub fn mark(repository: &Path) -> Result<(), Problem> {
    edit_pages(repository, |_, text| {
        let is_left = text.contains(STYLE) || !text.contains(OUTPUT);
        let with = || mark_columns(text).replacen("</head>", &format!("{STYLE}</head>"), 1);
        Ok((!is_left).then(with))
    })
}

fn mark_columns(html: &str) -> String {
    let mut parts = html.split(OUTPUT);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let block = part.split("</code>").next().unwrap_or_default();
        out.push_str(if has_columns(block) { WITH_COLUMNS } else { OUTPUT });
        out.push_str(part);
    }
    out
}

/// Whether a session's output has a table, but no long lines of text: these would have to be scrolled sideways.
fn has_columns(output: &str) -> bool {
    let printed = || output.lines().filter(|line| !line.starts_with("$ "));
    let table = |line: &&str| line.trim().split("  ").filter(|cell| !cell.is_empty()).count() > 2;
    printed().filter(table).count() > 2
        && printed().filter(|line| !table(line)).all(|line| line.chars().count() <= MAX_SCROLLED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_scrolls_and_words_wrap() {
        let table = "$ run\n name   count   share\n a         10    1 %\n b          2    3 %\n";
        assert!(has_columns(table) && !has_columns("$ run\nwords  and words\nmore words\n"));
        assert!(!has_columns(&format!("{table}{}\n", "words ".repeat(40))));
        let page = format!("<pre>{OUTPUT}{table}</code></pre><pre>{OUTPUT}words</code></pre>");
        let marked = mark_columns(&page);
        assert!(
            marked.starts_with(&format!("<pre>{WITH_COLUMNS}$ run")) && marked.contains(OUTPUT)
        );
    }
}
