//! Faults, planted one at a time: both instruments name the tensor and the step of every one, and most
//! are explained. Some readings were written with some of them in sight, and none with the blind ones.

#[path = "../examples/planted/blind.rs"]
mod blind;
#[path = "../examples/planted/blind_more.rs"]
mod blind_more;
#[path = "../examples/planted/cuda_c.rs"]
mod cuda_c;
#[path = "../examples/planted/cuda_c_more.rs"]
mod cuda_c_more;
#[path = "../examples/planted/faults.rs"]
mod faults;
#[path = "../examples/planted/in_rust.rs"]
mod in_rust;
#[path = "../examples/planted/last.rs"]
mod last;
#[path = "../examples/planted/network.rs"]
mod network;
#[path = "../examples/planted/one_launch.rs"]
mod one_launch;
#[path = "../examples/planted/plant.rs"]
mod plant;
#[path = "../examples/planted/tiled.rs"]
mod tiled;

use std::path::Path;

use serde_json::{Value, json};

#[test]
fn every_planted_fault_is_found_and_most_are_explained() {
    let gpu = plant::device().unwrap();
    let mut faults = faults::faults();
    let in_sight = faults.len();
    faults.extend(blind::faults());
    assert!(in_sight >= 100 && faults.len() >= in_sight + 40, "{in_sight} of {}", faults.len());
    let mut missed = Vec::new();
    let mut pages = Vec::new();
    let folder = tempfile::tempdir().unwrap();
    let mut read = [0, 0];
    for (at, fault) in faults.iter().enumerate() {
        let said =
            plant::plant(fault, &gpu).unwrap_or_else(|error| panic!("{}: {error}", fault.what));
        if !said.is_found(fault) {
            missed.push(format!(
                "{}: in {} of step {}, and alone it is {:?}, compared {:?}",
                fault.what, fault.tensor, fault.step, said.alone, said.compared
            ));
        }
        let (page, worst) = said.page();
        let first = format!("First fault: <a href=\"#t0-{0}\"><code>{0}</code>", fault.tensor);
        let top = page.split("<details").nth(1).unwrap_or_default();
        let open = format!("id=\"t0-{}\" open", fault.tensor);
        assert!(page.contains(&first) && top.contains(&open), "the page of {}", fault.what);
        let path = folder.path().join(format!("{}.html", pages.len()));
        std::fs::write(&path, page).unwrap();
        let mut case = json!({"page": path, "first": fault.tensor.to_string()});
        if let Some(worst) = worst.filter(|worst| worst.worst_error.is_finite()) {
            case["worst"] = serde_json::to_value(worst).unwrap();
            case["worst"]["tensor"] = json!(format!("t0-{}", fault.tensor));
        }
        pages.push(case);
        read[usize::from(at >= in_sight)] += usize::from(said.is_read(fault));
        println!(
            "{}: {}: {}",
            said.level,
            fault.what,
            said.reading.as_deref().unwrap_or("unexplained")
        );
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    // A browser takes seconds for each. Those of the blind ones are made in the same way.
    in_browser(folder.path(), &pages[..in_sight]);
    for (read, all) in read.into_iter().zip([in_sight, faults.len() - in_sight]) {
        assert!(3 * read >= 2 * all, "{read} of {all} have a right reading");
    }
}

/// Pages in a headless browser.
fn in_browser(folder: &Path, pages: &[Value]) {
    let Some(mut node) = skipped::browser() else { return };
    let list = folder.join("cases.json");
    std::fs::write(&list, serde_json::to_vec(pages).unwrap()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tensor-diff/tests/browser.mjs");
    let output = node.arg(script).arg(list).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The same with nothing planted: no fault is found.
#[test]
fn without_a_fault_nothing_is_found() {
    let fault = faults::Fault {
        what: "nothing",
        says: "",
        planted: faults::Planted::Between(|_| {}),
        on: "softmax-steps",
        step: 0,
        tensor: tensor::TensorName::W(1),
    };
    let said = plant::plant(&fault, &plant::device().unwrap()).unwrap();
    assert_eq!((said.alone, said.compared), (None, None));
}
