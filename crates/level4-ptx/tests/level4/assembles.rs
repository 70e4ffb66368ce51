//! Tests with NVIDIA's assembler, ptxas, if it is installed (see `scripts/assemble-ptx.sh`): it accepts
//! every rung without a warning, for old and new architectures; it rejects the faults of the gallery
//! with the messages in `<fault>.ptxas.txt`, and accepts their twins.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use level4_ptx::Rung;
use tempfile::TempDir;

/// The version of ptxas that printed the committed messages.
const WRITTEN_BY: &str = "release 12.9";
/// Architectures to assemble for, if the installed version supports them.
const ARCHITECTURES: [&str; 4] = ["sm_52", "sm_75", "sm_80", "sm_90"];

struct Ptxas {
    program: PathBuf,
    out: TempDir,
}

impl Ptxas {
    /// Finds ptxas: the variable `PTXAS`, or on the `PATH`, in a toolkit or in a Python environment. Without it,
    /// the test is reported as skipped.
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
fn ptxas_accepts_every_rung() {
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
fn ptxas_rejects_the_faults_of_the_gallery() {
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
