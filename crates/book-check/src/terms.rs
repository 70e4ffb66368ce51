//! Links to the glossary: the first use of a term on each page of the built book links to the term's entry, and shows
//! its meaning as a tooltip.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{Problem, edit_pages, escaped, read};

/// One row of the glossary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The word or words, as in the glossary.
    pub word: String,
    /// The meaning of the word, as plain text.
    pub meaning: String,
}

/// The terms of the glossary, in its order.
#[must_use]
pub fn terms(glossary: &str) -> Vec<Term> {
    let rows = glossary.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let plain = |text: &str| text.replace(['`', '$', '*'], "");
    rows.filter_map(|row| row.split_once(" | "))
        .filter(|(word, _)| *word != "word")
        .map(|(word, meaning)| Term { word: plain(word), meaning: plain(meaning) })
        .collect()
}

/// HTML elements whose text gets no links: code, titles, links, drawings, and elements that scripts fill.
const UNLINKED_ELEMENTS: [&str; 16] = [
    "a", "abbr", "button", "code", "h1", "h2", "h3", "h4", "h5", "h6", "math", "pre", "script",
    "style", "svg", "textarea",
];
/// Terms that have the glossary's meaning only on pages about GPUs.
const GPU_TERMS: [&str; 8] =
    ["block", "capture", "event", "generic", "mask", "module", "thread", "tile"];
/// The pages about GPUs.
const GPU_PAGES: [&str; 6] = ["autograd/gpu.html", "gpu", "level2", "level3", "level4", "ranks"];
/// Terms that are also everyday words, and therefore never linked.
const EVERYDAY_WORDS: [&str; 2] = ["level", "share"];
const STYLE: &str = "<style>.content a.term:link,.content a.term:visited{color:inherit;\
    text-decoration:underline dotted}</style>";
const GLOSSARY: &str = "glossary.html";

/// Links the terms on all pages of a built book, and gives the glossary's entries their ids.
///
/// # Errors
/// If a page can't be read or written, or the glossary's page has no row for a term.
pub fn link(repository: &Path) -> Result<(), Problem> {
    let terms = terms(&read(&repository.join("book/src/glossary.md"))?);
    edit_pages(repository, |place, text| {
        // A page that already has its links is left unchanged.
        if text.contains(STYLE) || !text.contains("<main>") {
            return Ok(None);
        }
        let to_root = "../".repeat(place.iter().count() - 1);
        let with = if place == Path::new(GLOSSARY) {
            add_ids(text, &terms)
                .map_err(|word| Problem::new(GLOSSARY, format!("the page has no row for {word}")))?
        } else {
            let on_gpus = GPU_PAGES.iter().any(|folder| place.starts_with(folder));
            let meant = |term: &&Term| {
                let word = &*term.word;
                !EVERYDAY_WORDS.contains(&word) && (on_gpus || !GPU_TERMS.contains(&word))
            };
            let terms: Vec<&Term> = terms.iter().filter(meant).collect();
            add_links(text, terms, &to_root)
        };
        Ok(Some(with.replacen("</head>", &format!("{STYLE}</head>"), 1)))
    })
}

/// The id of an entry on the glossary's page.
fn id(word: &str) -> String {
    let letters = word.to_lowercase();
    let parts = letters.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    format!("term-{}", parts.collect::<Vec<_>>().join("-"))
}

/// The glossary's page with an id for each entry; or the first word that has no entry.
fn add_ids<'a>(html: &str, terms: &'a [Term]) -> Result<String, &'a str> {
    let mut html = html.to_owned();
    for term in terms {
        let plain = format!("<tr><td>{}</td>", term.word);
        let code = format!("<tr><td><code>{}</code></td>", term.word);
        let row = [plain, code].into_iter().find(|row| html.contains(row)).ok_or(&*term.word)?;
        let with = row.replacen("<td>", &format!("<td id=\"{}\">", id(&term.word)), 1);
        html = html.replacen(&row, &with, 1);
    }
    Ok(html)
}

/// The page with a link at the first use of each term.
fn add_links(html: &str, mut terms: Vec<&Term>, to_root: &str) -> String {
    let Some((before, rest)) = html.split_once("<main>") else { return html.to_owned() };
    let Some((main, after)) = rest.split_once("</main>") else { return html.to_owned() };
    // Longer terms first, so that "bank conflict" isn't matched as "bank".
    terms.sort_by_key(|term| std::cmp::Reverse(term.word.len()));
    let mut used = BTreeSet::new();
    let mut inside: Vec<&str> = Vec::new();
    let mut out = format!("{before}<main>");
    let mut rest = main;
    while !rest.is_empty() {
        let end = rest.find('<').unwrap_or(rest.len());
        let (text, tag) = rest.split_at(end);
        match inside.is_empty() {
            true => link_words(text, &terms, &mut used, to_root, &mut out),
            false => out.push_str(text),
        }
        let end = if let Some(comment) = tag.strip_prefix("<!--") {
            comment.find("-->").map_or(tag.len(), |at| at + 7)
        } else {
            tag.find('>').map_or(tag.len(), |at| at + 1)
        };
        let (tag, next) = tag.split_at(end);
        let name = tag.trim_start_matches(['<', '/']);
        let name = &name[..name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len())];
        if tag.starts_with("</") {
            if inside.last() == Some(&name) {
                inside.pop();
            }
        } else if UNLINKED_ELEMENTS.contains(&name) && !tag.ends_with("/>") {
            inside.push(name);
        }
        out.push_str(tag);
        rest = next;
    }
    out + "</main>" + after
}

/// Appends the text, with a link at each term that has not been used yet.
fn link_words<'a>(
    text: &str,
    terms: &[&'a Term],
    used: &mut BTreeSet<&'a str>,
    to_root: &str,
    out: &mut String,
) {
    let mut before = ' ';
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let starts = !before.is_alphanumeric() && !"-_&".contains(before) && c.is_alphanumeric();
        let found = terms.iter().filter(|_| starts).find_map(|term| {
            let length = same_word(&text[at..], &term.word)?;
            Some((term, length))
        });
        match found {
            // The term is removed from the list, because later uses get no link. The whole term is skipped, so shorter
            // terms inside it get no link either.
            Some((term, length)) => {
                let word = &text[at..at + length];
                if used.insert(&term.word) {
                    let meaning = escaped(&term.meaning);
                    let (to, id) = (to_root, id(&term.word));
                    *out += &format!(
                        "<a class=\"term\" href=\"{to}{GLOSSARY}#{id}\" title=\"{meaning}\">{word}</a>"
                    );
                } else {
                    out.push_str(word);
                }
                at += length;
                before = 'x';
            }
            None => {
                out.push(c);
                at += c.len_utf8();
                before = c;
            }
        }
    }
}

/// Length in bytes of this word, or its plural, at the beginning of the text; `None` if the text begins otherwise. The
/// first letter may be a capital, and a space may be a line break.
fn same_word(text: &str, word: &str) -> Option<usize> {
    let mut rest = text.char_indices();
    for (index, expected) in word.chars().enumerate() {
        let (_, c) = rest.next()?;
        let same = c == expected
            || (index == 0 && c.to_lowercase().eq(expected.to_lowercase()))
            || (expected == ' ' && c == '\n');
        if !same {
            return None;
        }
    }
    let mut length = rest.offset();
    let mut next = rest.next().map(|(_, c)| c);
    if next == Some('s') && !word.ends_with('s') {
        length = rest.offset();
        next = rest.next().map(|(_, c)| c);
    }
    (!next.is_some_and(|c| c.is_alphanumeric() || "-_".contains(c))).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLOSSARY: &str = "# Glossary\n\n| word | meaning |\n|---|---|\n| bank | A \"part\" of `it`. |\n\
        | bank conflict | Two lanes. |\n| CUDA graph | Launches. |\n";

    #[test]
    fn terms_are_the_rows_of_the_glossary() {
        let terms = terms(GLOSSARY);
        assert_eq!(terms.len(), 3);
        assert_eq!(
            (terms[0].word.as_str(), terms[0].meaning.as_str()),
            ("bank", "A \"part\" of it.")
        );
    }

    #[test]
    fn the_first_use_leads_to_the_entry() {
        let html = "<h1>Banks</h1><main><h2>A bank</h2><p>Bank\nconflicts: no bank, <code>bank</code>, \
            banker, <a href=\"x\">bank</a> and banks; a CUDA\ngraph.</p></main>";
        let terms = terms(GLOSSARY);
        let out = add_links(html, terms.iter().collect(), "../");
        assert_eq!(out.matches("class=\"term\"").count(), 3, "{out}");
        assert!(
            out.contains("#term-bank-conflict\" title=\"Two lanes.\">Bank\nconflicts</a>: no <a ")
        );
        assert!(
            out.contains("#term-bank\" title=\"A &quot;part&quot; of it.\">bank</a>, <code>bank<")
        );
        assert!(out.contains("href=\"../glossary.html#term-cuda-graph\""), "{out}");
        assert!(out.contains("banker") && out.contains("<h2>A bank</h2>"));
    }

    #[test]
    fn entries_get_ids() {
        let html = "<tr><td>bank</td><td>x</td></tr><tr><td>bank conflict</td></tr>\
            <tr><td>CUDA graph</td></tr>";
        let out = add_ids(html, &terms(GLOSSARY)).unwrap();
        assert!(
            out.contains("<td id=\"term-bank-conflict\">bank conflict")
                && out.contains("\"term-bank\"")
        );
        assert_eq!(add_ids("<table>", &terms(GLOSSARY)), Err("bank"));
    }
}
