//! Metadata for sharing a page: its title, its own description, and a picture.

use std::path::Path;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::page::Page;
use crate::{Problem, escaped, read, write};

/// The folder of the built book with the pictures of a published site, a PNG for each page.
pub const PICTURES: &str = "share";
/// The default picture, and the text in place of it. `book/preview.svg` is its source.
const PREVIEW: (&str, &str) = (
    "pictures/preview.png",
    "Four levels down: PyTorch, Rust, CUDA C, cuBLAS and PTX, one below the other, each with a line of code, and a \
     warp of which 20 lanes run",
);
/// Maximum number of characters of a description, which is cut after a whole word.
const MAX_DESCRIPTION: usize = 200;
/// The description that mdBook writes into every page.
const DEFAULT_DESCRIPTION: &str = "<meta name=\"description\" content=\"";

/// Writes the metadata into each page of a built book. `site` is the book's URL; without it, the address of the picture
/// is relative to the page.
///
/// # Errors
/// If a page can't be read or written, or has no description by mdBook.
pub fn describe(repository: &Path, site: Option<&str>) -> Result<(), Problem> {
    let html = repository.join("book/html");
    let source = repository.join("book/src");
    for page in Page::all(repository)?.iter().filter(|page| !page.path.ends_with("SUMMARY.md")) {
        let place = page.path.strip_prefix(&source).unwrap_or(&page.path).with_extension("html");
        // A puzzle's page begins by including the file that states the task.
        let written = match page.text.strip_prefix("{{#include ").and_then(|t| t.split_once("}}")) {
            Some((first, rest)) => read(&page.path.with_file_name(first))? + rest,
            None => page.text.clone(),
        };
        let about = about(&written);
        write_metadata(&html, &place, &about, site)?;
        // mdBook copies the first page to index.html.
        if place == Path::new("introduction.html") {
            write_metadata(&html, Path::new("index.html"), &about, site)?;
        }
    }
    Ok(())
}

/// Writes the metadata of one page.
fn write_metadata(
    html: &Path,
    place: &Path,
    (title, description): &(String, String),
    site: Option<&str>,
) -> Result<(), Problem> {
    let path = html.join(place);
    let text = read(&path)?;
    let own = picture_of(place).replace("index.png", "introduction.png");
    let (file, alt) = if html.join(PICTURES).join(&own).is_file() {
        (format!("{PICTURES}/{own}"), format!("The top of the page {title:?}"))
    } else {
        (PREVIEW.0.to_owned(), PREVIEW.1.to_owned())
    };
    let to_root = match site {
        Some(site) => format!("{}/", site.trim_end_matches('/')),
        None => "../".repeat(place.iter().count() - 1),
    };
    let with = with_tags(&text, title, description, (&(to_root + &file), &alt))
        .ok_or_else(|| Problem::new(place.display(), "it has no description by mdBook"))?;
    write(&path, &with)
}

/// The name of a page's picture: `level1-fast.png` of `level1/fast.html`.
fn picture_of(place: &Path) -> String {
    let name = place.with_extension("");
    let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
    format!("{}.png", parts.join("-"))
}

/// The title of a page, and its first paragraph as plain text, cut to a length.
fn about(markdown: &str) -> (String, String) {
    let (mut title, mut paragraph) = (String::new(), String::new());
    let (mut in_title, mut in_paragraph) = (false, false);
    for event in Parser::new_ext(markdown, Options::ENABLE_MATH) {
        match event {
            Event::Start(Tag::Heading { .. }) if title.is_empty() => in_title = true,
            Event::End(TagEnd::Heading(_)) => in_title = false,
            Event::Start(Tag::Paragraph) => in_paragraph = true,
            Event::End(TagEnd::Paragraph) => break,
            Event::Text(text) | Event::Code(text) | Event::InlineMath(text) => {
                if in_title {
                    title.push_str(&text);
                } else if in_paragraph {
                    paragraph.push_str(&text);
                }
            }
            Event::SoftBreak | Event::HardBreak if in_paragraph => paragraph.push(' '),
            _ => {}
        }
    }
    let paragraph = paragraph.trim_start_matches("The question. ");
    (title, first_words(paragraph))
}

/// The text, or its first words.
fn first_words(text: &str) -> String {
    let Some((cut, _)) = text.char_indices().nth(MAX_DESCRIPTION) else { return text.to_owned() };
    let end = text[..cut].rfind(' ').unwrap_or(cut);
    format!("{} …", text[..end].trim_end_matches([',', ';', ':']))
}

/// The page with these tags in its head in place of mdBook's description: its title, its description, and the
/// address of its picture with the text in place of it.
fn with_tags(
    html: &str,
    title: &str,
    description: &str,
    (picture, alt): (&str, &str),
) -> Option<String> {
    let start = html.find(DEFAULT_DESCRIPTION)?;
    let end = start + html[start..].find('>')? + 1;
    let (title, description) = (escaped(title), escaped(description));
    let (picture, alt) = (escaped(picture), escaped(alt));
    let tags = format!(
        "<meta name=\"description\" content=\"{description}\">\n        \
         <meta property=\"og:type\" content=\"article\">\n        \
         <meta property=\"og:site_name\" content=\"Four levels down\">\n        \
         <meta property=\"og:title\" content=\"{title}\">\n        \
         <meta property=\"og:description\" content=\"{description}\">\n        \
         <meta property=\"og:image\" content=\"{picture}\">\n        \
         <meta property=\"og:image:alt\" content=\"{alt}\">\n        \
         <meta name=\"twitter:card\" content=\"summary_large_image\">"
    );
    // A page may be described twice, the second time with its picture.
    let mut rest = html[end..].to_owned();
    for begun in ["<meta property=\"og:", "<meta name=\"twitter:"] {
        while let Some(at) = rest.find(begun) {
            let end = at + rest[at..].find('>')? + 1;
            rest.replace_range(rest[..at].trim_end().len()..end, "");
        }
    }
    Some(format!("{}{tags}{rest}", &html[..start]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_about_its_question() {
        let page =
            "# What `sgemm` does\n\n**The question.** What is \"fast\",\nand for $n$?\n\nMore.\n";
        let (title, description) = about(page);
        assert_eq!(
            (title.as_str(), description.as_str()),
            ("What sgemm does", "What is \"fast\", and for n?")
        );
        let long = format!("# T\n\n{}", "word, ".repeat(60));
        let description = about(&long).1;
        assert!(
            description.ends_with("word …") && description.chars().count() <= MAX_DESCRIPTION + 2
        );
    }

    #[test]
    fn tags_take_the_place_of_those_of_the_book() {
        let html = "<head>\n  <meta name=\"description\" content=\"a book\">\n  <link>\n</head>";
        let once = with_tags(html, "T & t", "say \"it\"", ("p.png", "a \"p\"")).unwrap();
        assert!(once.contains("og:title\" content=\"T &amp; t\"") && !once.contains("a book"));
        assert!(
            once.contains("content=\"say &quot;it&quot;\"") && once.contains("a &quot;p&quot;")
        );
        let twice = with_tags(&once, "T", "d", ("https://a.example/p.png", "a")).unwrap();
        assert_eq!(twice.matches("og:title").count(), 1);
        assert_eq!(twice.matches("og:image\"").count(), 1);
        assert!(twice.contains("https://a.example/p.png") && twice.contains("<link>"));
        assert_eq!(with_tags("<head></head>", "T", "d", ("p", "a")), None);
    }

    #[test]
    fn a_picture_is_named_after_its_page() {
        assert_eq!(picture_of(Path::new("level1/fast.html")), "level1-fast.png");
        assert_eq!(picture_of(Path::new("setup.html")), "setup.png");
    }
}
