//! What is said of wrong files: each `tests/ptx/bad/*.ptx` has beside it, as `.txt`, what is
//! printed. `REFRESH=1` writes those files anew; read the difference before it is kept.

use std::fs;
use std::path::Path;

use ptx_emulator::parse;
use ptx_emulator::source::Source;

#[test]
fn each_wrong_file_is_diagnosed_as_written_down() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx/bad");
    let refresh = std::env::var_os("REFRESH").is_some();
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ptx") {
            continue;
        }
        count += 1;
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let source = Source { name: name.clone(), text: fs::read_to_string(&path).unwrap() };
        let found: Vec<String> = match parse(&source) {
            Ok(_) => panic!("{name} is accepted"),
            Err(diagnostics) => diagnostics.iter().map(ToString::to_string).collect(),
        };
        let found = found.join("\n");
        let golden = path.with_extension("txt");
        if refresh {
            fs::write(&golden, &found).unwrap();
        } else if fs::read_to_string(&golden).unwrap_or_default().replace("\r\n", "\n") != found {
            wrong.push(format!("{name}:\n{found}"));
        }
    }
    assert!(count > 20, "only {count} files");
    assert!(wrong.is_empty(), "other diagnostics than written down:\n{}", wrong.join("\n"));
}

#[test]
fn every_diagnostic_says_what_to_do() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx/bad");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            let source = Source { name: "a.ptx".into(), text: fs::read_to_string(&path).unwrap() };
            for diagnostic in parse(&source).unwrap_err() {
                assert!(diagnostic.help.is_some(), "{}: {diagnostic}", path.display());
                assert!(diagnostic.line > 0 && diagnostic.column > 0, "{diagnostic:?}");
            }
        }
    }
}
