//! Programs with the messages that they must produce, and random input.

use cuda_c::{ARCHITECTURES, CompileOptions, Severity, compile};

/// Sources, each with the first message that it must produce.
const DIAGNOSED: &str = include_str!("diagnosed.txt");

/// A source and its first message.
struct Case {
    source: String,
    message: &'static str,
    severity: Severity,
    /// Whether NVRTC also rejects the source.
    nvrtc_rejects: bool,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut source = Vec::new();
    for line in DIAGNOSED.lines().filter(|line| !line.starts_with("//")) {
        let (severity, nvrtc_rejects, message) = match line.split_once(": ") {
            Some(("error", message)) => (Severity::Error, false, message),
            Some(("error, also of NVRTC", message)) => (Severity::Error, true, message),
            Some(("warning", message)) => (Severity::Warning, false, message),
            _ => {
                source.push(line);
                continue;
            }
        };
        cases.push(Case { source: source.join("\n"), message, severity, nvrtc_rejects });
        source.clear();
    }
    assert!(source.is_empty(), "no message: {source:?}");
    cases
}

#[test]
fn messages_name_the_mistake() {
    for Case { source, message, severity, .. } in cases() {
        let diagnostics = match compile(&source, &CompileOptions::default()) {
            Ok(ptx) if severity == Severity::Warning => ptx.warnings,
            Err(diagnostics) if severity == Severity::Error => diagnostics,
            Ok(ptx) => panic!("this compiles:\n{source}\n{}", ptx.text),
            Err(diagnostics) => panic!("{source}\n{}", diagnostics[0]),
        };
        let first = &diagnostics[0];
        assert_eq!((first.severity, first.message.as_str()), (severity, message), "{source}");
        let mut others = diagnostics.iter().skip(1);
        // Errors come first.
        assert!(
            severity == Severity::Error || others.all(|other| other.severity == severity),
            "{source}"
        );
        let line = source.lines().nth(first.line - 1).unwrap_or_default();
        assert_eq!(first.text, line, "{source}: the line is shown");
        assert!(
            first.column <= line.chars().count() + 1 && first.width >= 1,
            "{source}: {first:?}"
        );
        let shown = first.to_string();
        let heading = if severity == Severity::Error { "error: " } else { "warning: " };
        for part in [heading, "kernel.cu:", "^"] {
            assert!(shown.contains(part), "{shown}");
        }
    }
}

#[test]
fn nvrtc_rejects_mistakes_too() {
    let Some(nvrtc) = crate::reference::nvrtc() else { return };
    for Case { source, .. } in cases().iter().filter(|case| case.nvrtc_rejects) {
        let found = nvrtc.compile(source, &["--gpu-architecture=compute_80", "--std=c++17", "-w"]);
        assert!(found.is_err(), "{source}");
    }
}

#[test]
fn correct_kernels_give_no_warnings() {
    let source = "
        __global__ void k(const float *x, float *y, size_t n) {
            __shared__ float t[32][33];
            size_t i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) y[i] = x[i];
            t[threadIdx.y][threadIdx.x] = x[i % n];
            __syncthreads();
            if (i < n) y[i] += t[threadIdx.x][threadIdx.y];
        }";
    let ptx = compile(source, &CompileOptions::default()).unwrap();
    assert!(ptx.warnings.is_empty(), "{}", ptx.warnings[0]);
}

#[test]
fn messages_show_the_line() {
    let source =
        "__global__ void k(float *x, size_t n)\n{\n    if (thread < n)\n        x[0] = 1;\n}\n";
    let shown = compile(source, &CompileOptions::default()).unwrap_err()[0].to_string();
    let expected = "error: there is no variable `thread`\n --> kernel.cu:3:9\n  |\n3 |     if (thread < n)\n  |         ^^^^^^\n  |\n  \
                    = help: did you mean `threadIdx`?\n";
    assert_eq!(shown, expected);
}

/// The pieces of random texts, separated by `~`.
const PIECES: &str = "__global__ ~void ~k~(~)~{~}~int ~float ~*~x~[~]~;~=~+~-~1~0.5f~if ~else ~for ~while ~return \
    ~struct ~<~>~template ~typename ~,~&~&&~?~:~\"text\"~'c'~#define ~\n~#if ~#endif\n~##~/*~*/~__shared__ ~switch \
    ~case ~::~\\\n";

#[test]
fn random_texts_do_not_crash_the_compiler() {
    let mut state = 1u64;
    let mut next = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let pieces: Vec<&str> = PIECES.split('~').collect();
    let right = "struct P { int a; float b[3]; };\ntemplate <int N> __device__ int f(int x) { return x * N; }\n\
        __global__ void k(int *x, P p, unsigned n) { for (int i = 0; i < 4; ++i) x[i] += f<3>(i) + p.a; if (x[0]) { do { --x[1]; } while (x[1] > 2); } }";
    for round in 0..3000 {
        let mut text = String::new();
        if round % 2 == 0 {
            for _ in 0..next(60) {
                text.push_str(pieces[next(pieces.len())]);
            }
        } else {
            // A correct source with some pieces removed and inserted.
            text.push_str(right);
            for _ in 0..=next(4) {
                let (at, len) = (next(text.len()), next(6));
                let end = (at + len).min(text.len());
                text.replace_range(at..end, pieces[next(pieces.len())]);
            }
        }
        let _ = compile(&text, &CompileOptions::default());
    }
}

#[test]
fn endless_nesting_is_rejected() {
    let nest = |open: &str, close: &str, count: usize| {
        format!(
            "__global__ void k(int *x) {{ x[0] = {}1{}; }}",
            open.repeat(count),
            close.repeat(count)
        )
    };
    for source in [
        nest("(", ")", 50_000),
        nest("-", "", 50_000),
        nest("!", "", 50_000),
        nest("1+", "", 50_000),
        nest("f(", ")", 50_000),
        format!("__global__ void k() {}", "{".repeat(50_000)),
        format!("#if {}1\n#endif", "(".repeat(50_000)),
        "#define A B B B B B B B B\n#define B C C C C C C C C\n#define C D D D D D D D D\n#define D E E E E E E E E\n\
         #define E F F F F F F F F\n#define F G G G G G G G G\n#define G H H H H H H H H\n#define H x x x x\nA"
            .to_owned(),
    ] {
        assert!(compile(&source, &CompileOptions::default()).is_err());
    }
}

#[test]
fn requested_names_are_checked() {
    let source = "template <int N> __global__ void k(int *x) { }\n__global__ void plain() { }";
    for (name, expected) in [
        ("k", "no kernel `k` has these template parameters"),
        ("k<float>", "`N` is a number, and a type is given"),
        ("plian", "there is no kernel `plian`"),
        ("k<3> + 1", "this isn't the name of a kernel"),
        ("", "expected the name of a kernel"),
        ("k<", "expected"),
        ("\"", "this string has no end"),
    ] {
        let options = CompileOptions { names: vec![name.into()], ..CompileOptions::default() };
        let errors = compile(source, &options).unwrap_err();
        assert!(errors[0].message.contains(expected), "{name}: {}", errors[0]);
        assert_eq!(errors[0].file, "name expression 1");
    }
}

/// The library checks the architecture itself, because some callers don't.
#[test]
fn unknown_architectures_are_errors() {
    for arch in [0, 20, 49, 79, 91, 429_496_730, u32::MAX] {
        let options = CompileOptions { arch, ..CompileOptions::default() };
        let refused = compile("__global__ void nothing() {}", &options).unwrap_err();
        assert_eq!(refused[0].message, format!("there is no architecture sm_{arch}"));
        assert!(refused[0].to_string().contains("compile for one of 50, 52, "), "{}", refused[0]);
    }
    for arch in ARCHITECTURES {
        let options = CompileOptions { arch, ..CompileOptions::default() };
        let compiled = compile("__global__ void nothing() {}", &options).unwrap();
        assert!(compiled.text.contains(&format!(".target sm_{arch}\n")), "{}", compiled.text);
    }
}
