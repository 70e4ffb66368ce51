//! A test that the book's one-file tensor engine passes the suite of the levels.

#[allow(dead_code, unreachable_pub, reason = "the example's main program uses the rest")]
#[path = "../../../autograd/examples/tensors/engine.rs"]
mod engine;
#[path = "../../../autograd/examples/tensors/level.rs"]
mod level;

use std::path::Path;

use conformance::{Check, Report, Variant, run, table};

#[test]
fn the_gradients_of_the_tensor_engine_agree_with_pytorch() {
    let dumps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps");
    let variant = Variant::on_cpu::<level::Program>("");
    let mut outcomes = Vec::new();
    for check in Check::ALL {
        for case in check.cases(&dumps).unwrap() {
            outcomes.extend(run(&variant, check, &case));
        }
    }
    let report = Report::new(None, outcomes);
    assert!(report.agrees(), "\n{}", table(&report));
}
