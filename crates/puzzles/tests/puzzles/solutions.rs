//! Tests of every puzzle in each of its languages: the frame compiles but solves nothing, and the solution solves it.

use std::collections::HashSet;

use puzzles::{Language, Limits, Measure, Verdict, attempt, cost_of_solution, puzzle, puzzles};

#[test]
fn every_solution_solves_its_puzzle_at_its_cost() {
    for puzzle in puzzles() {
        for source in puzzle.sources {
            let outcome = attempt(puzzle, source.language, source.solution, &Limits::default());
            assert_eq!(outcome.verdict, Verdict::Solved, "{outcome}");
            assert!(outcome.marks.is_empty(), "{outcome}");
            assert_eq!(outcome.tried.len(), puzzle.sizes().len());
            assert_eq!(outcome.cost, cost_of_solution(puzzle, source.language), "{}", puzzle.name);
            assert_eq!(outcome.cost, outcome.solution);
        }
    }
}

#[test]
fn every_frame_compiles_and_solves_nothing() {
    for puzzle in puzzles() {
        for source in puzzle.sources {
            let outcome = attempt(puzzle, source.language, source.frame, &Limits::default());
            assert!(!matches!(outcome.verdict, Verdict::Solved | Verdict::Rejected), "{outcome}");
            assert!(!outcome.what.is_empty() && !outcome.teaches.is_empty(), "{outcome}");
        }
    }
}

/// No solution comes near a limit.
#[test]
fn no_solution_comes_near_the_limits() {
    let most = puzzles()
        .iter()
        .flat_map(|puzzle| puzzle.sources.iter().map(move |source| (puzzle, source.language)))
        .map(|(puzzle, language)| cost_of_solution(puzzle, language).unwrap())
        .map(|cost| Measure::WarpInstructions.count(&cost))
        .max();
    // The cost is summed over all warps and sizes, although the limit applies to a single warp.
    assert!(most.unwrap() < Limits::default().instructions / 2, "{most:?}");
}

#[test]
fn every_puzzle_is_complete() {
    let mut names = HashSet::new();
    for puzzle in puzzles() {
        let name = puzzle.name;
        assert!(names.insert(name), "{name} comes twice");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
        assert!(puzzle.task.starts_with("# ") && puzzle.text().len() > 80, "{name}");
        assert!(!puzzle.title().is_empty() && !puzzle.idea.is_empty(), "{name}");
        assert!(puzzle.hints().len() >= 2, "{name}");
        assert!(puzzle.sizes().len() >= 3, "{name}");
        assert!(puzzle.source(Language::CudaC).is_some(), "{name}");
        // A picture uses the page's colours, light or dark, and has a description.
        if let Some(picture) = puzzle.picture {
            assert!(picture.starts_with("<svg ") && picture.contains("aria-label="), "{name}");
            assert!(picture.contains("currentColor") && !picture.contains("<script"), "{name}");
        }
    }
    assert!(puzzles().len() >= 16);
}

#[test]
fn a_puzzle_is_found_by_its_name() {
    assert_eq!(puzzle("guard").unwrap().title(), "More threads than elements");
    assert!(puzzle("gard").is_none());
}
