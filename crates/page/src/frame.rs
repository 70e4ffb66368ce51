//! The document of a page: a filled-in template, one style sheet, one script, one block of data.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use minijinja::{Environment, UndefinedBehavior, context};
use serde::Serialize;
use sha2::{Digest, Sha256};
use thiserror::Error;

/// The template's name. Because of `.html`, minijinja escapes everything that is filled in.
const NAME: &str = "page.html";
const FRAME: &str = include_str!("frame.html");
const STYLE: &str = include_str!("frame.css");
const SCRIPT: &str = include_str!("frame.js");

/// Error while rendering a page.
#[derive(Debug, Error)]
pub enum PageError {
    /// The template uses an undefined name.
    #[error("the page can't be filled in: {0:#}")]
    Template(#[from] minijinja::Error),
    /// The data can't be written as JSON.
    #[error("the page's data can't be written: {0}")]
    Data(#[from] serde_json::Error),
}

/// The parts that one kind of page adds to the frame: its template, style sheet and script.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The body, in Jinja's language; a block `body` that extends `frame.html`.
    pub template: &'a str,
    /// Its style sheet, which follows that of the frame.
    pub style: &'a str,
    /// Its script, which follows that of the frame; the latter defines `unpack` and `DATA`.
    pub script: &'a str,
}

impl Page<'_> {
    /// Renders the document. The template uses `content`, and the script reads `data`.
    ///
    /// # Errors
    /// If the template uses a name that `content` lacks, or `data` can't be written as JSON.
    pub fn render(
        &self,
        title: &str,
        content: &impl Serialize,
        data: &impl Serialize,
    ) -> Result<String, PageError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.add_template("frame.html", FRAME)?;
        environment.add_template(NAME, self.template)?;
        let style = format!("{STYLE}\n{}", self.style);
        let script = format!("{SCRIPT}\n{}", self.script);
        // A `<` in a string could begin a tag that ends the block of data, so it is escaped.
        let data = serde_json::to_string(data)?.replace('<', "\\u003c");
        let page = environment.get_template(NAME)?.render(context! {
            title,
            policy => policy(&style, &script),
            style,
            script,
            data,
            content => minijinja::Value::from_serialize(content),
        })?;
        Ok(page)
    }
}

/// The content security policy: a browser may only use the page's script and style sheet.
fn policy(style: &str, script: &str) -> String {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; img-src data:; style-src 'sha256-{}'; script-src 'sha256-{}'; \
         base-uri 'none'; form-action 'none'",
        digest(style),
        digest(script)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Page<'_> = Page {
        template: "{% extends 'frame.html' %}{% block body %}<p>{{ content.text }}</p>{% endblock %}",
        style: "p { margin: 0 }",
        script: "'use strict';",
    };

    #[derive(Serialize)]
    struct Text {
        text: &'static str,
    }

    #[test]
    fn text_of_a_file_is_escaped() {
        let hostile = Text { text: "</script><img src=x onerror=alert(1)>&amp;" };
        let page = PAGE.render(hostile.text, &hostile, &hostile).unwrap();
        assert!(!page.contains("<img"), "{page}");
        assert_eq!(page.matches("</script>").count(), 2, "{page}");
        assert!(page.contains("\\u003c/script>\\u003cimg"), "{page}");
    }

    #[test]
    fn digests_match_the_script_and_the_style_sheet() {
        let page = PAGE.render("t", &Text { text: "" }, &()).unwrap();
        for (tag, rule) in [("style", "style-src"), ("script", "script-src")] {
            let (_, inside) = page.split_once(&format!("<{tag}>")).unwrap();
            let (inside, _) = inside.split_once(&format!("</{tag}>")).unwrap();
            let digest = STANDARD.encode(Sha256::digest(inside.as_bytes()));
            // The template escapes attributes.
            let page = page.replace("&#x2f;", "/").replace("&#x27;", "'");
            assert!(page.contains(&format!("{rule} 'sha256-{digest}'")), "{tag}");
        }
    }

    #[test]
    fn an_undefined_name_is_an_error() {
        let page = Page { template: "{{ content.nothing }}", ..PAGE };
        let message = page.render("t", &Text { text: "" }, &()).unwrap_err().to_string();
        assert!(message.contains("undefined value"), "{message}");
    }
}
