//! Tests that the table of presets in `reference/presets.py` is the one in Rust. Needs a Python
//! interpreter without any packages; skipped without one.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use training::Preset;

#[test]
fn both_tables_are_equal() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/presets.py");
    let Some(python) = skipped::python() else { return };
    let table = |arguments: &[&str]| -> Value {
        let output = Command::new(python).arg(&script).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let former: serde_json::Map<_, _> = tensor::FORMER_PRESET_NAMES
        .map(|(former, current)| (former.into(), current.into()))
        .into_iter()
        .collect();
    assert_eq!(table(&["--former-names"]), Value::from(former));
    let python = table(&[]);
    let rust: Value = Preset::presets()
        .into_iter()
        .chain(Preset::fixtures())
        .map(|preset| (preset.name.clone(), in_json(&preset)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    for (name, preset) in rust.as_object().unwrap() {
        assert_eq!(*preset, python[name], "{name}");
    }
    assert_eq!(rust.as_object().unwrap().len(), python.as_object().unwrap().len());
}

fn in_json(preset: &Preset) -> Value {
    json!({
        "sizes": preset.network.sizes,
        "loss": preset.network.loss,
        "batch_size": preset.batch_size,
        // Converts the f32 through its decimal form, so that it is 0.1 in double precision too.
        "learning_rate": preset.learning_rate.to_string().parse::<f64>().unwrap(),
        "epochs": preset.epochs,
        "samples": preset.samples,
        "shuffle": preset.shuffle,
        "normalisation": preset.normalisation.to_string(),
        "initialisation": preset.initialisation,
        "drop_last": preset.drop_last,
        "report_every": preset.report_every,
        "evaluate_every": preset.evaluate_every,
        "stop_at_accuracy": preset.stop_at_accuracy,
        "max_batches": preset.max_batches,
    })
}
