//! The verdict as a self-contained HTML page.
//!
//! ```text
//! cells       each tensor with its right values and bounds, and the elements that the page shows
//!    |
//! chain       the status of each tensor, and the drawing of the computation
//! derivation  the derivation of a bound, in a sentence
//! section     all of that for one tensor
//! pair        and for one candidate
//! matrix      tensors and levels, tensors and steps
//! ```

mod cells;
mod chain;
mod derivation;
mod matrix;
mod pair;
mod section;

use std::io::{self, Write};

use page::Page;
use serde::Serialize;
use tensor::Dump;

use crate::judge::{Candidate, Run, moved_back, titles};

/// The largest number of elements of a tensor that are drawn on the page of one candidate: the first layer of 30
/// units on MNIST has fewer.
const MAX_CELLS: usize = 24_576;
/// The smallest limit of drawn elements of a tensor, on a page of many candidates.
const MIN_CELLS: usize = 512;

const PAGE: Page<'static> = Page {
    template: include_str!("page.html"),
    style: include_str!("page.css"),
    script: concat!(include_str!("maps.js"), include_str!("pictures.js"), include_str!("page.js")),
};

/// The whole page.
#[derive(Serialize)]
struct Content {
    right: bool,
    headline: String,
    /// A table with a row for each tensor and a column for each level, if there are several candidates.
    levels: Option<matrix::Matrix>,
    pairs: Vec<pair::Pair>,
}

/// Writes the verdict on one or several candidates as a self-contained HTML page. In a run, the first step with a fault
/// is shown in full, or the last step if there is no fault.
///
/// # Errors
/// If `out` can't be written.
pub fn write_page(
    out: &mut dyn Write,
    reference: Option<Run<'_>>,
    candidates: &[Candidate<'_>],
    scale_tolerance: f64,
) -> io::Result<()> {
    let cells = (MAX_CELLS / candidates.len().max(1)).max(MIN_CELLS);
    let titles = titles(candidates);
    let moved = |run: &[Dump]| -> Vec<Dump> {
        run.iter().map(|dump| moved_back(dump, scale_tolerance).0.into_owned()).collect()
    };
    let reference_run = reference.map(|(path, run)| (path, moved(run)));
    let reference = reference_run.as_ref().map(|(path, run)| (*path, &run[..]));
    let runs: Vec<Vec<Dump>> = candidates.iter().map(|one| moved(one.run)).collect();
    let candidates: Vec<Candidate<'_>> =
        candidates.iter().zip(&runs).map(|(one, run)| Candidate { run, ..one.clone() }).collect();
    let mut data = pair::Data::default();
    let pair = |(n, (candidate, title)): (usize, (&Candidate<'_>, &String))| {
        let subject = pair::Subject { n, title, reference, candidate, scale_tolerance };
        subject.pair(cells, &mut data)
    };
    let pairs: Vec<pair::Pair> = candidates.iter().zip(&titles).enumerate().map(pair).collect();
    let agreeing = candidates.iter().filter(|one| one.found.agrees()).count();
    let right = agreeing == candidates.len();
    let content = if let [pair] = &pairs[..] {
        Content { right, headline: pair.headline.clone(), levels: None, pairs }
    } else {
        let of =
            reference.map_or_else(String::new, |(path, _)| format!(" with {}", host::shown(path)));
        let headline = format!("{agreeing} of {} agree{of}", candidates.len());
        let levels = Some(matrix::levels(&candidates, &titles));
        Content { right, headline, levels, pairs }
    };
    let page = PAGE.render(&content.headline, &content, &data).map_err(io::Error::other)?;
    out.write_all(page.as_bytes())
}
