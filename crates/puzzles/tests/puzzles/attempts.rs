//! Tests of attempts that are rejected or stopped, and of the outcome as data.

use puzzles::{Language, Limits, Outcome, Verdict, attempt, puzzle};

fn attempt_guard(source: &str) -> Outcome {
    attempt(puzzle("guard").unwrap(), Language::CudaC, source, &Limits::default())
}

#[test]
fn a_runaway_attempt_is_stopped() {
    let outcome = attempt_guard(
        "__global__ void twice(unsigned n, const float *x, float *out) {\n    for (;;)\n        out[0] = 1.0f;\n}",
    );
    assert_eq!(outcome.verdict, Verdict::Stopped, "{outcome}");
    // If all threads write out[0], that is a race, so only one thread does.
    let alone = attempt_guard(
        "__global__ void twice(unsigned n, const float *x, float *out) {\n    if (threadIdx.x == 0)\n        for (;;)\n            out[0] = 1.0f;\n}",
    );
    assert_eq!(alone.verdict, Verdict::Stopped, "{alone}");
    assert!(alone.what.contains("still running"), "{alone}");
    assert!(alone.teaches[0].contains("a loop never ends"), "{alone}");
}

#[test]
fn the_caller_sets_the_limits() {
    let loops = puzzle("loops").unwrap();
    let solution = loops.source(Language::CudaC).unwrap().solution;
    let limits = Limits { instructions: 300, ..Limits::default() };
    let outcome = attempt(loops, Language::CudaC, solution, &limits);
    assert_eq!(outcome.verdict, Verdict::Stopped, "{outcome}");
    assert!(outcome.what.contains("still running"), "{outcome}");
    let limits = Limits { source: 10, ..Limits::default() };
    let outcome = attempt(loops, Language::CudaC, solution, &limits);
    assert_eq!(outcome.verdict, Verdict::Rejected, "{outcome}");
    assert!(outcome.teaches[0].contains("The limit is 10"), "{outcome}");
}

#[test]
fn a_kernel_other_than_the_frames_is_rejected() {
    let other_name =
        attempt_guard("__global__ void double_it(unsigned n, const float *x, float *out) {}");
    assert!(other_name.what.contains("no kernel called `twice`"), "{other_name}");
    let fewer = attempt_guard("__global__ void twice(const float *x, float *out) {}");
    assert!(fewer.what.contains("2 parameters, but is launched with 3: n, x, out"), "{fewer}");
    let wider =
        attempt_guard("__global__ void twice(unsigned long long n, const float *x, float *out) {}");
    assert!(wider.what.contains("`n` has 8 bytes, but is launched with 4"), "{wider}");
    for outcome in [other_name, fewer, wider] {
        assert_eq!(outcome.verdict, Verdict::Rejected);
        assert!(outcome.tried.is_empty());
        assert!(outcome.teaches[0].contains("Keep the first line"), "{outcome}");
    }
}

#[test]
fn a_compile_error_is_marked_at_its_place() {
    let outcome = attempt_guard(
        "__global__ void twice(unsigned n, const float *x, float *out) {\n    out[0] = y[0];\n}",
    );
    assert_eq!(outcome.verdict, Verdict::Rejected);
    let mark = &outcome.marks[0];
    assert_eq!((mark.line, mark.column, mark.width), (2, 14, 1), "{outcome}");
    assert_eq!(mark.text, "    out[0] = y[0];");
    assert!(outcome.to_string().contains("    out[0] = y[0];\n                   ^"), "{outcome}");
}

#[test]
fn too_much_shared_memory_is_rejected() {
    let outcome = attempt_guard(
        "__global__ void twice(unsigned n, const float *x, float *out) {\n    __shared__ float much[1000000];\n    much[threadIdx.x] = 0.0f;\n    out[0] = much[0];\n}",
    );
    assert_eq!(outcome.verdict, Verdict::Rejected, "{outcome}");
    assert!(outcome.marks[0].message.contains("48 KiB"), "{outcome}");
}

#[test]
fn output_of_a_kernel_is_kept_up_to_a_limit() {
    let outcome = attempt_guard(
        "__global__ void twice(unsigned n, const float *x, float *out) {\n    for (int i = 0; i < 100; ++i) printf(\"thread %d in round %d\\n\", threadIdx.x, i);\n}",
    );
    assert!(outcome.printed.starts_with("thread 0 in round 0\n"), "{outcome}");
    assert!(outcome.printed.len() < Limits::default().printed + 10);
    assert!(outcome.printed.ends_with("…\n"));
}

#[test]
fn a_language_without_a_solution_is_rejected() {
    let outcome = attempt(puzzle("loops").unwrap(), Language::Ptx, "", &Limits::default());
    assert_eq!(outcome.verdict, Verdict::Rejected);
    assert_eq!(outcome.teaches, ["Write it in CUDA C."]);
}

#[test]
fn an_outcome_survives_json() {
    let outcome = attempt_guard(
        "__global__ void twice(unsigned n, const float *x, float *out) {\n    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) out[i] = 0.0f / 0.0f;\n}",
    );
    let wrong = outcome.wrong.as_ref().unwrap();
    assert_eq!(
        (wrong.buffer.as_str(), &wrong.shape[..], &wrong.first[..]),
        ("out", &[32][..], &[0][..])
    );
    assert!(wrong.got[0].is_nan() && wrong.wrong.iter().all(|&wrong| wrong));
    let json = serde_json::to_string(&outcome).unwrap();
    assert!(json.contains(r#""verdict":"wrong""#) && json.contains(r#""language":"cuda-c""#));
    let back: Outcome = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&back).unwrap(), json);
}

/// Arbitrary text gets a verdict and a message.
#[test]
fn nonsense_is_rejected_with_a_message() {
    for (language, text) in [
        (Language::CudaC, ""),
        (Language::CudaC, "\u{0}\u{ff}{{{((("),
        (Language::CudaC, "__global__ void twice("),
        (Language::Ptx, ""),
        (Language::Ptx, ".version 7.0"),
        (
            Language::Ptx,
            ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry twice() { ret; }",
        ),
    ] {
        let outcome = attempt(puzzle("guard").unwrap(), language, text, &Limits::default());
        assert_eq!(outcome.verdict, Verdict::Rejected, "{text}");
        assert!(outcome.to_string().len() > 40, "{outcome}");
    }
}
