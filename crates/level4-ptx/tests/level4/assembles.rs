//! NVIDIA's own assembler has the last word on PTX, where it is installed (`scripts/assemble-ptx.sh`
//! says how): every rung assembles without a warning for architectures old and new, the faults of
//! the gallery are refused in the words that lie beside them as `<fault>.ptxas.txt`, and their
//! twins are not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use level4_ptx::Rung;
use tempfile::TempDir;

/// The version whose words are written down.
const WRITTEN_BY: &str = "release 12.9";
/// Those of them that the installed version knows are assembled for.
const ARCHITECTURES: [&str; 4] = ["sm_52", "sm_75", "sm_80", "sm_90"];

struct Ptxas {
    program: PathBuf,
    out: TempDir,
}

impl Ptxas {
    /// `PTXAS`, or one on the `PATH`, in a toolkit or in a Python environment; `None`, and a line
    /// that says so, where there is none.
    fn find() -> Option<Self> {
        let named = std::env::var_os("PTXAS").filter(|name| !name.is_empty()).map(PathBuf::from);
        let program = named.or_else(|| gpu::library::tools("ptxas").into_iter().next());
        if program.is_none() {
            skipped::skip("there is no ptxas; pip install nvidia-cuda-nvcc-cu12");
        }
        Some(Self { program: program?, out: TempDir::new().unwrap() })
    }

    fn text(&self, argument: &str) -> String {
        let output = Command::new(&self.program).arg(argument).output().expect("ptxas starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn assemble(&self, folder: &Path, file: &str, architecture: &str) -> Output {
        Command::new(&self.program)
            .current_dir(folder)
            .args(["--warning-as-error", "-arch", architecture, file, "-o"])
            .arg(self.out.path().join("out.cubin"))
            .output()
            .expect("ptxas starts")
    }
}

fn ptx() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ptx")
}

/// The names of the `.ptx` files in a folder, in order.
fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".ptx")).collect();
    names.sort();
    names
}

#[test]
fn the_assembler_takes_every_rung() {
    let Some(ptxas) = Ptxas::find() else { return };
    let known = ptxas.text("--help");
    let folder = ptx();
    assert_eq!(files(&folder).len(), Rung::ALL.len());
    for rung in Rung::ALL {
        let file = rung.row().file.trim_start_matches("ptx/");
        let (major, minor) = rung.row().least_capability;
        let least = format!("sm_{major}{minor}");
        for architecture in ARCHITECTURES.into_iter().filter(|each| **each >= *least) {
            if !known.contains(&format!("'{architecture}'")) {
                skipped::skip(format!("this ptxas does not know {architecture}"));
                continue;
            }
            let output = ptxas.assemble(&folder, file, architecture);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{file} for {architecture}: {said}");
        }
    }
}

#[test]
fn the_assembler_refuses_what_is_said_to_be_refused() {
    let Some(ptxas) = Ptxas::find() else { return };
    let folder = ptx().join("gallery");
    let same_words = ptxas.text("--version").contains(WRITTEN_BY);
    let refresh = std::env::var_os("REFRESH").is_some();
    let mut refused = 0;
    for file in files(&folder) {
        let output = ptxas.assemble(&folder, &file, "sm_75");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let words = folder.join(file.replace(".ptx", ".ptxas.txt"));
        if output.status.success() {
            assert!(!words.exists(), "{file} is taken, and {} exists", words.display());
            continue;
        }
        refused += 1;
        assert!(!file.ends_with("_fixed.ptx"), "{file}: {said}");
        if refresh && same_words {
            host::file::write_atomically(&words, |out| out.write_all(said.as_bytes())).unwrap();
        }
        let written = fs::read_to_string(&words).unwrap_or_default().replace("\r\n", "\n");
        assert!(!written.is_empty(), "{} is missing", words.display());
        assert!(!same_words || said == written, "{file}: {said}");
    }
    assert_eq!(refused, 7);
}
