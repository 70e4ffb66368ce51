//! The document: a template that is filled in, one style sheet, one script, one block of data.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use minijinja::{Environment, UndefinedBehavior, context};
use serde::Serialize;
use sha2::{Digest, Sha256};
use thiserror::Error;

/// The name ends as it does so that whatever is filled in is escaped.
const NAME: &str = "page.html";
const FRAME: &str = include_str!("frame.html");
const STYLE: &str = include_str!("frame.css");
const SCRIPT: &str = include_str!("frame.js");

/// A page that can't be made.
#[derive(Debug, Error)]
pub enum PageError {
    /// The template names what isn't there.
    #[error("the page can't be filled in: {0:#}")]
    Template(#[from] minijinja::Error),
    /// The data can't be written as JSON.
    #[error("the page's data can't be written: {0}")]
    Data(#[from] serde_json::Error),
}

/// What makes a page of some kind.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The body, in Jinja's language; a block `body` that extends `frame.html`.
    pub template: &'a str,
    /// Its style sheet, behind that of the frame.
    pub style: &'a str,
    /// Its script, behind that of the frame, which defines `unpack` and `DATA`.
    pub script: &'a str,
}

impl Page<'_> {
    /// The document. `content` is what the template names, `data` what the script reads.
    ///
    /// # Errors
    /// When the template names what `content` doesn't have.
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
        // A block of data ends where a tag could begin, whatever its strings say.
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

/// What a browser may do for the page: run its script, and nothing else.
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
    fn what_a_file_says_stays_text() {
        let hostile = Text { text: "</script><img src=x onerror=alert(1)>&amp;" };
        let page = PAGE.render(hostile.text, &hostile, &hostile).unwrap();
        assert!(!page.contains("<img"), "{page}");
        assert_eq!(page.matches("</script>").count(), 2, "{page}");
        assert!(page.contains("\\u003c/script>\\u003cimg"), "{page}");
    }

    #[test]
    fn a_digest_is_that_of_what_stands_in_the_page() {
        let page = PAGE.render("t", &Text { text: "" }, &()).unwrap();
        for (tag, rule) in [("style", "style-src"), ("script", "script-src")] {
            let (_, inside) = page.split_once(&format!("<{tag}>")).unwrap();
            let (inside, _) = inside.split_once(&format!("</{tag}>")).unwrap();
            let digest = STANDARD.encode(Sha256::digest(inside.as_bytes()));
            // The template escapes what stands in an attribute.
            let page = page.replace("&#x2f;", "/").replace("&#x27;", "'");
            assert!(page.contains(&format!("{rule} 'sha256-{digest}'")), "{tag}");
        }
    }

    #[test]
    fn a_name_that_is_not_there_is_an_error() {
        let page = Page { template: "{{ content.nothing }}", ..PAGE };
        let said = page.render("t", &Text { text: "" }, &()).unwrap_err().to_string();
        assert!(said.contains("undefined value"), "{said}");
    }
}
