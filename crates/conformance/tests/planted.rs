//! Tests with planted faults, one at a time: the comparison with a reference and the judgement without one have to name
//! the tensor and the step of each fault, and exactly the faults that the table marks as explained have a right
//! reading. The authors of the readings knew some of the faults, but none of the blind ones.

#[path = "../examples/planted/faults/mod.rs"]
mod faults;

use std::path::Path;

use faults::{Fault, Table, plant};
use gpu::Gpu;
use serde_json::{Value, json};
use test_support::open_in_browser;

/// The result of planting, running and reading a fault.
struct Outcome {
    /// A description of the verdicts, if they don't name the fault.
    missed: Option<String>,
    /// The case for the test in a browser: the path of the fault's HTML page, and the content that it must have.
    case: Value,
    /// The reading, if it is right although the table expects none, or wrong although the table expects the right one.
    misread: Option<String>,
}

/// Plants a fault, and writes the HTML page of the comparison.
fn try_fault(fault: &Fault, gpu: &Gpu, path: &Path) -> Outcome {
    let verdicts =
        plant::plant(fault, gpu).unwrap_or_else(|error| panic!("{}: {error}", fault.what));
    let missed = (!verdicts.is_found(fault)).then(|| {
        format!(
            "{}: in {} of step {}, and alone it is {:?}, compared {:?}",
            fault.what, fault.tensor, fault.step, verdicts.alone, verdicts.compared
        )
    });
    let (page, worst) = verdicts.page();
    let first = format!("First fault: <a href=\"#t0-{0}\"><code>{0}</code>", fault.tensor);
    let top = page.split("<details").nth(1).unwrap_or_default();
    let open = format!("id=\"t0-{}\" open", fault.tensor);
    assert!(page.contains(&first) && top.contains(&open), "the page of {}", fault.what);
    std::fs::write(path, page).unwrap();
    let mut case = json!({"page": path, "first": fault.tensor.to_string()});
    if let Some(worst) = worst.filter(|worst| worst.worst_error.is_finite()) {
        case["worst"] = serde_json::to_value(worst).unwrap();
        case["worst"]["tensor"] = json!(format!("t0-{}", fault.tensor));
    }
    let reading = verdicts.reading.as_deref().unwrap_or("unexplained");
    let line = format!("{}: {}: {reading}", verdicts.level, fault.what);
    println!("{line}");
    let misread = (verdicts.is_read(fault) != fault.explained).then_some(line);
    Outcome { missed, case, misread }
}

#[test]
fn every_planted_fault_is_found_and_explained_as_the_table_says() {
    let Table { seen: mut faults, blind } = Table::read().unwrap();
    let in_sight = faults.len();
    faults.extend(blind);
    assert!(in_sight >= 100 && faults.len() >= in_sight + 40, "{in_sight} of {}", faults.len());
    let folder = tempfile::tempdir().unwrap();
    // Faults are independent, so two threads plant one half each.
    let half = |parity: usize| {
        let gpu = plant::device().unwrap();
        let ours = (parity..faults.len()).step_by(2);
        ours.map(|at| try_fault(&faults[at], &gpu, &folder.path().join(format!("{at}.html"))))
            .collect::<Vec<_>>()
    };
    let mut halves = std::thread::scope(|scope| {
        let half = &half;
        let threads = [0, 1].map(|parity| scope.spawn(move || half(parity)));
        threads.map(|thread| thread.join().unwrap().into_iter())
    });
    let outcomes: Vec<_> = (0..faults.len()).map(|at| halves[at % 2].next().unwrap()).collect();
    let missed: Vec<_> = outcomes.iter().filter_map(|one| one.missed.as_deref()).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    let misread: Vec<_> = outcomes.iter().filter_map(|one| one.misread.as_deref()).collect();
    assert!(misread.is_empty(), "not as the table's `explained` says:\n{}", misread.join("\n"));
    let (seen, _) = outcomes.split_at(in_sight);
    // A browser takes a while for each page. The pages of the blind faults are made in the same way, so they are
    // left out.
    open_in_browser(folder.path(), &seen.iter().map(|one| one.case.clone()).collect());
}

/// A level without a planted fault has no finding.
#[test]
fn without_a_fault_nothing_is_found() {
    let nothing = r#"
        blind = []
        seen = [{what = "nothing", between = "nothing", run = "softmax-steps", tensor = "w1", reading = ""}]
    "#;
    let fault = &Table::parse(nothing).unwrap().seen[0];
    let verdicts = plant::plant(fault, &plant::device().unwrap()).unwrap();
    assert_eq!((verdicts.alone, verdicts.compared), (None, None));
}
