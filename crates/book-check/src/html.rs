//! Check of the built book: it loads nothing from the network, and has no broken link, formula or block of code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use regex_lite::Regex;

use crate::{Problem, files, name_in, read};

/// A start tag: its name, and its attributes in order.
#[derive(Debug, PartialEq, Eq)]
struct TagFound<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
}

/// Checks the pages of a built book: no external resource, no dead link, no empty block of code, no directive that
/// mdBook did not carry out, no formula that KaTeX did not understand.
///
/// # Errors
/// If a file can't be read, or the book hasn't been built.
pub fn check(folder: &Path) -> Result<Vec<Problem>, Problem> {
    let mut problems = Vec::new();
    let mut pages: BTreeMap<_, String> = BTreeMap::new();
    for path in files(folder, &["html"]) {
        pages.insert(path.clone(), read(&path)?);
    }
    if pages.is_empty() {
        return Err(Problem::new(
            folder.display(),
            "the book hasn't been built: run mdbook build book",
        ));
    }
    let ids: BTreeMap<_, BTreeSet<&str>> = pages
        .iter()
        .map(|(path, html)| {
            let ids = tags(html).into_iter().flat_map(|tag| tag.attributes);
            (path.clone(), ids.filter(|(name, _)| *name == "id").map(|(_, id)| id).collect())
        })
        .collect();
    for (path, html) in &pages {
        let place = name_in(folder, path);
        let mut problem = |what: String| problems.push(Problem::new(&place, what));
        broken_text(html, &mut problem);
        // The page for a wrong address is served at any path, so its links are relative to the site's root.
        if path.ends_with("404.html") {
            continue;
        }
        for (tag, attribute, target) in targets(html) {
            let external = target.contains("://") || target.starts_with("//");
            if external {
                if tag != "a" {
                    problem(format!("<{tag} {attribute}={target:?}> loads an external file"));
                }
                continue;
            }
            if target.starts_with("data:") || target.starts_with("mailto:") {
                continue;
            }
            let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
            let file = file.split('?').next().unwrap_or_default();
            let to = if file.is_empty() {
                path.clone()
            } else {
                path.parent().unwrap_or(folder).join(file)
            };
            let Ok(to) = to.canonicalize() else {
                problem(format!("<{tag} {attribute}={target:?}> leads nowhere"));
                continue;
            };
            let known =
                ids.iter().find(|(page, _)| page.canonicalize().is_ok_and(|page| page == to));
            let missing = |ids: &BTreeSet<&str>| !fragment.is_empty() && !ids.contains(fragment);
            if known.is_some_and(|(_, ids)| missing(ids)) {
                problem(format!("{target:?} names a heading that doesn't exist"));
            }
        }
    }
    for path in files(folder, &["css"]) {
        let place = name_in(folder, &path);
        let css = read(&path)?;
        for url in css.split("url(").skip(1).chain(css.split("@import").skip(1)) {
            let url = url.trim_start_matches([' ', '"', '\'']);
            if ["http:", "https:", "//"].iter().any(|start| url.starts_with(start)) {
                problems.push(Problem::new(&place, "it loads an external file"));
            }
        }
    }
    Ok(problems)
}

/// Problems that show in the text of a page.
fn broken_text(html: &str, problem: &mut impl FnMut(String)) {
    if html.contains("{{#") {
        problem("mdBook did not carry out a directive".into());
    }
    if html.contains("katex-error") {
        problem("KaTeX did not understand a formula".into());
    }
    if html.contains("class=\"playground\"") {
        problem("a block of code offers to run on an external server".into());
    }
    for block in html.split("<pre><code").skip(1) {
        let content = block.split_once('>').map_or("", |(_, rest)| rest);
        if content.split("</code>").next().is_some_and(|code| code.trim().is_empty()) {
            problem("a block of code is empty".into());
            break;
        }
    }
    // Markdown may have mistaken a part of the formula for emphasis.
    for note in html.split("<annotation").skip(1) {
        let content = note.split_once('>').map_or("", |(_, rest)| rest);
        let content = content.split("</annotation>").next().unwrap_or_default();
        if content.contains('<') {
            problem(format!("Markdown broke a formula: {content}"));
        }
    }
    // A dollar sign outside of code belongs to a formula that was not recognised.
    let mut rest = html.split("<main>").nth(1).unwrap_or_default();
    rest = rest.split("</main>").next().unwrap_or_default();
    let mut outside = String::new();
    while let Some((before, after)) = rest.split_once("<code") {
        outside.push_str(before);
        rest = after.split_once("</code>").map_or("", |(_, after)| after);
    }
    outside.push_str(rest);
    if let Some(position) = outside.find('$') {
        let near: String = outside[position..].chars().take(40).collect();
        problem(format!("a dollar sign that belongs to no formula: {near}"));
    }
}

/// Resources and links of a page: tag, attribute, address.
fn targets(html: &str) -> Vec<(&str, &str, &str)> {
    let names = ["src", "href", "srcset", "poster", "data", "xlink:href", "action"];
    tags(html)
        .into_iter()
        .flat_map(|tag| {
            tag.attributes.into_iter().map(move |(name, value)| (tag.name, name, value))
        })
        .filter(|(_, name, _)| names.contains(name))
        .collect()
}

/// Matches a comment, or the name and the attributes of a start tag.
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    let tag = r#"(?s)<!--.*?-->|<([A-Za-z0-9-]+)((?:\s+[^\s=>/]+(?:="[^"]*")?)*)\s*/?>"#;
    Regex::new(tag).expect("a pattern")
});
static ATTRIBUTE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"([^\s=]+)="([^"]*)""#).expect("a pattern"));

/// The start tags of a page, without those in comments, scripts and styles. Attributes are
/// quoted, as mdBook writes them.
fn tags(html: &str) -> Vec<TagFound<'_>> {
    let mut found = Vec::new();
    let mut rest = html;
    while let Some(tag) = TAG.captures(rest) {
        rest = &rest[tag.get(0).map_or(rest.len(), |whole| whole.end())..];
        let (Some(name), Some(attributes)) = (tag.get(1), tag.get(2)) else { continue };
        let attributes = ATTRIBUTE
            .captures_iter(attributes.as_str())
            .filter_map(|found| Some((found.get(1)?.as_str(), found.get(2)?.as_str())))
            .collect();
        let name = name.as_str();
        found.push(TagFound { name, attributes });
        if name == "script" || name == "style" {
            let end = format!("</{name}>");
            rest = rest.split_once(&end).map_or("", |(_, after)| after);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(page: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in
            [("a.html", page), ("b.html", "<h1 id=\"here\">b</h1>"), ("b.svg", "<svg/>")]
        {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        check(folder.path()).unwrap().into_iter().map(|problem| problem.what).collect()
    }

    #[test]
    fn a_sound_page_passes() {
        let page = "<!-- <img src=\"https://a.org/x.png\"> --><link href=\"b.svg\">\
            <script>if (a < b) { x = '<img src=\"gone\">' }</script><main>\
            <a href=\"https://example.org\">e</a><a href=\"b.html#here\">b</a>\
            <a class=\"h\" href=\"#top\" id=\"top\">t</a><img src=\"b.svg\">\
            <pre><code class=\"language-sh\">$ ls</code></pre><code>$x$</code></main>";
        assert_eq!(problems_of(page), Vec::<String>::new());
    }

    #[test]
    fn every_problem_of_a_page_is_found() {
        for (page, expected) in [
            ("<img src=\"https://a.org/x.png\">", "<img src="),
            ("<script async src=\"//a.org/x.js\"></script>", "<script src="),
            ("<link rel=\"stylesheet\" href=\"https://a.org/k.css\">", "<link href="),
            ("<a href=\"gone.html\">x</a>", "<a href=\"gone.html\"> leads nowhere"),
            ("<a href=\"b.html#gone\">x</a>", "\"b.html#gone\" names a heading"),
            ("<pre><code class=\"language-rust\"></code></pre>", "a block of code is empty"),
            ("<p>{{#include x}}</p>", "mdBook did not carry out a directive"),
            ("<span class=\"katex-error\">", "KaTeX did not understand a formula"),
            ("<annotation e=\"t\">a<em>b</em></annotation>", "Markdown broke a formula"),
            ("<main><p>it costs $5</p></main>", "a dollar sign that belongs to no formula: $5"),
            ("<pre class=\"playground\">x</pre>", "a block of code offers"),
        ] {
            let problems = problems_of(page);
            assert!(
                problems.len() == 1 && problems[0].starts_with(expected),
                "{page}: {problems:?}"
            );
        }
    }

    #[test]
    fn an_unbuilt_book_is_an_error() {
        let error = check(Path::new("/nonexistent/book/html")).unwrap_err();
        assert!(error.what.contains("mdbook build book"), "{error}");
    }
}
