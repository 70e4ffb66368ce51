//! Puzzles for a page: the list with all texts, and judged attempts.

use puzzles::{Demand, Language, Limits, Measure, Puzzle, attempt, puzzle, puzzles};
use serde_json::{Value, json};

use crate::level2;

/// All puzzles, in order. `"step"` is the position of a puzzle's kernel in a training step, or null.
pub(crate) fn list() -> Value {
    puzzles().iter().map(|puzzle| describe(puzzle)).collect::<Vec<_>>().into()
}

fn describe(puzzle: &Puzzle) -> Value {
    let sources = puzzle.sources.iter().map(|source| {
        json!({
            "language": source.language,
            "name": source.language.name(),
            "extension": source.language.extension(),
            "frame": source.frame,
            "solution": source.solution,
        })
    });
    json!({
        "name": puzzle.name,
        "title": puzzle.title(),
        "idea": puzzle.idea,
        "text": puzzle.text(),
        "picture": puzzle.picture,
        "sources": sources.collect::<Vec<_>>(),
        "hints": puzzle.hints(),
        "sizes": puzzle.sizes(),
        "step": level2::position(puzzle),
        "demands": puzzle.demands.iter().map(Demand::describe).collect::<Vec<_>>(),
    })
}

/// Judges an attempt: the outcome as data and as text for a terminal, and the costs as `[name, of the attempt, of the
/// solution]`.
pub(crate) fn judge(name: &str, language: Language, text: &str) -> Result<Value, String> {
    let puzzle = puzzle(name).ok_or_else(|| format!("unknown puzzle {name:?}"))?;
    let outcome = attempt(puzzle, language, text, &Limits::default());
    let costs = outcome.cost.zip(outcome.solution).map(|(own, other)| {
        Measure::ALL
            .map(|measure| json!([measure.name(), measure.count(&own), measure.count(&other)]))
    });
    Ok(json!({
        "verdict": outcome.verdict.name(),
        "solved": outcome.verdict == puzzles::Verdict::Solved,
        "costs": costs,
        "shown": outcome.to_string(),
        "outcome": outcome,
    }))
}
