//! The bug hunt: a run with a bug, whose line a reader looks for. `crates/bug-hunt` has the bugs, and judges.

use std::path::Path;

use bug_hunt::{BUGS, Bug, Line, Reply, Symptoms};
use serde_json::{Value, json};
use tensor::{Dump, TensorName};

/// The bug that a reader hunts, with the run without the bug and the run with it.
pub(crate) struct Hunt {
    bug: &'static Bug,
    right: Vec<Dump>,
    wrong: Vec<Dump>,
    found: Symptoms,
}

/// `{"lines": [the step without a bug], "bugs": [the run of each]}`.
pub(crate) fn list() -> Value {
    let runs: Vec<&str> = BUGS.iter().map(|bug| bug.run).collect();
    json!({ "lines": bug_hunt::lines().collect::<Vec<_>>(), "bugs": runs })
}

impl Hunt {
    /// Plants the bug of that number, from 1, in the training steps whose dumps, with batches and initial parameters,
    /// are `steps`.
    pub(crate) fn new(number: usize, steps: &[String]) -> Result<Self, String> {
        let bug =
            number.checked_sub(1).and_then(|at| BUGS.get(at)).ok_or("there is no such bug")?;
        let read = |json: &String| Dump::from_json(json.as_bytes(), Path::new(bug.run));
        let given: Vec<Dump> = steps
            .iter()
            .map(|json| read(json).map_err(|error| error.to_string()))
            .collect::<Result<_, _>>()?;
        let right = bug_hunt::run(&given, &[])?;
        let wrong = bug_hunt::run(&given, &[Line::parse(bug.line)?])?;
        let found = bug_hunt::symptoms(&right, &wrong)?;
        Ok(Self { bug, right, wrong, found })
    }

    /// `{"steps", "step", "rows": [{"tensor", "verdict", "outside", "elements"}], "elements": [{"place", "wrong",
    /// "right"}]}`: the symptoms in the first step that differs. Given tensors are left out.
    pub(crate) fn symptoms(&self) -> Value {
        let rows = self.found.rows.iter().filter(|row| !row.name.is_given()).map(|row| {
            let deviation = row.deviation.as_ref();
            json!({
                "tensor": row.name,
                "differs": row.verdict.is_mismatch(),
                "verdict": row.verdict.label(),
                "outside": deviation.map(|deviation| deviation.outside),
                "elements": deviation.map(|deviation| deviation.elements),
            })
        });
        // JSON has no NaN, so numbers are sent as text, as the program prints them.
        let elements = self.found.elements.iter().map(|element| {
            let [wrong, right] = [element.wrong, element.right].map(|value| format!("{value:.5e}"));
            json!({ "place": element.place, "wrong": wrong, "right": right })
        });
        json!({
            "steps": self.right.len(),
            "step": self.found.step,
            "rows": rows.collect::<Vec<_>>(),
            "elements": elements.collect::<Vec<_>>(),
        })
    }

    /// Judges which line a reader takes for the wrong one: `{"right", "text"}`.
    pub(crate) fn pick(&self, tensor: TensorName) -> Value {
        reply(&bug_hunt::pick(&self.wrong, tensor))
    }

    /// Judges a reader's line: `{"right", "text"}`, and the `"lesson"` if it is right.
    pub(crate) fn guess(&self, line: &str) -> Result<Value, String> {
        let answer = bug_hunt::check(&self.right, &self.wrong, Line::parse(line)?, line)?;
        let mut value = reply(&answer);
        if let Reply::Solved(_) = answer {
            value["lesson"] = self.bug.lesson.into();
        }
        Ok(value)
    }

    /// tensor-diff's verdict: `{"tensor", "operation", "reading", "cause"}`.
    pub(crate) fn look(&self) -> Value {
        let fault = &self.found.fault;
        let cause = fault.pattern.as_ref().map(|pattern| &pattern.text);
        json!({
            "tensor": fault.tensor,
            "operation": fault.operation,
            "reading": fault.reading,
            "cause": cause,
        })
    }

    /// `{"line", "lesson"}`.
    pub(crate) fn solution(&self) -> Value {
        json!({ "line": self.bug.line, "lesson": self.bug.lesson })
    }
}

fn reply(answer: &Reply) -> Value {
    let (Reply::Solved(text) | Reply::Wrong(text)) = answer;
    json!({ "right": matches!(answer, Reply::Solved(_)), "text": text })
}
