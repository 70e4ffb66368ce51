//! Tests that the book's tables of presets and fixtures match the program.

use book_check::{read, repository};
use training::Preset;

#[test]
fn the_table_of_presets_matches_the_program() {
    let page = read(&repository().join("book/src/command-line.md")).unwrap();
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`')))
        .map(Iterator::collect)
        .filter(|cells: &Vec<&str>| cells.len() == 9)
        .collect();
    let expected: Vec<Vec<String>> = Preset::presets()
        .into_iter()
        .map(|preset| {
            let sizes: Vec<String> = preset.network.sizes.iter().map(usize::to_string).collect();
            vec![
                preset.name,
                sizes.join("-"),
                preset.network.loss.to_string(),
                preset.batch_size.to_string(),
                preset.learning_rate.to_string(),
                preset.epochs.to_string(),
                preset.samples.to_string(),
                if preset.shuffle { "shuffled" } else { "in order" }.to_owned(),
                preset.initialisation.to_string(),
            ]
        })
        .collect();
    assert_eq!(rows, expected);
}

/// The page on the fixtures has a row for each fixture, with its sizes and its batch size.
#[test]
fn the_table_of_fixtures_matches_the_program() {
    let page = read(&repository().join("book/src/isolate/fixtures.md")).unwrap();
    for fixture in Preset::fixtures() {
        let sizes: Vec<String> = fixture.network.sizes.iter().map(usize::to_string).collect();
        let row = format!("| `{}` | {} | {} |", fixture.name, sizes.join("-"), fixture.batch_size);
        assert!(page.contains(&row), "no row begins with {row}");
    }
}
