//! The same rows in WebAssembly: the module of `crates/playground`, run by Node.

use std::io::Write;
use std::process::{Command, Stdio};

use ptx_emulator::Emulator;
use ptx_emulator::source::Source;
use serde_json::{Value, json};

use super::table::{self, Case, HEADER, SLOT};
use super::{SHOWN, options, run};

/// Answers the requests of its input, a line each.
const SCRIPT: &str = r#"
const { readFileSync } = require("node:fs");
WebAssembly.instantiate(readFileSync(process.argv[1]), {}).then(({ instance }) => {
  const { memory, room, answer, answer_len: length } = instance.exports;
  const answers = [];
  for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
    const request = Buffer.from(line);
    const at = room(request.length);
    new Uint8Array(memory.buffer).set(request, at);
    const found = answer();
    answers.push(Buffer.from(new Uint8Array(memory.buffer, found, length())).toString());
  }
  process.stdout.write(answers.join("\n"));
});
"#;

/// What the module is asked, as `run` asks the emulator.
fn request(case: &Case) -> Value {
    let count = case.vectors.len();
    let operands = case.vectors.iter().flat_map(|vector| vector.operands.iter());
    let operands: String =
        operands.flat_map(|bits| bits.to_le_bytes()).map(|byte| format!("{byte:02x}")).collect();
    let zeros = |bytes: usize| "00".repeat(bytes);
    let pattern: String = (100..116).map(|byte: u8| format!("{byte:02x}")).collect();
    json!({
        "do": "launch",
        "text": format!("{HEADER}{}", case.entry("k")),
        "kernel": "k",
        "threads": count,
        "buffers": [operands, zeros(count * case.outputs.len() * SLOT), zeros(count * 64)],
        "tail": zeros(8) + &pattern,
    })
}

#[test]
fn every_row_has_the_same_bits_in_a_page() {
    let Some(module) = std::env::var_os("PLAYGROUND_MODULE") else {
        skipped::skip("PLAYGROUND_MODULE does not name the module that scripts/wasm-module makes");
        return;
    };
    let node = Command::new("node")
        .args(["-e", SCRIPT, "--"])
        .arg(module)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut node) = node else {
        skipped::skip("there is no node");
        return;
    };
    let cases = table::all();
    let requests: Vec<String> = cases.iter().map(|case| request(case).to_string()).collect();
    node.stdin.take().unwrap().write_all(requests.join("\n").as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    let emulator = Emulator::new(options(false));
    let (mut failures, mut compared) = (Vec::new(), 0);
    for (case, answer) in cases.iter().zip(answers.lines()) {
        let answer: Value = serde_json::from_str(answer).unwrap();
        let source =
            Source { name: case.place.clone(), text: format!("{HEADER}{}", case.entry("k")) };
        let loaded = emulator.load(source).unwrap();
        let own = run(&emulator, &loaded.kernel("k").unwrap(), case).unwrap();
        let own: String = own
            .iter()
            .flatten()
            .flat_map(|bits| bits.to_le_bytes())
            .map(|byte| format!("{byte:02x}"))
            .collect();
        if answer["buffers"][1] != own.as_str() {
            failures.push(format!("{}: {}: {answer}, and here {own}", case.place, case.text));
        }
        compared += 1;
    }
    assert_eq!(compared, cases.len(), "the module did not answer all");
    assert!(
        failures.is_empty(),
        "{} differ:\n{}",
        failures.len(),
        failures[..failures.len().min(SHOWN)].join("\n")
    );
}
