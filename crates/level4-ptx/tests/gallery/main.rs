//! The gallery of broken PTX, `ptx/gallery`: each fault is found by the assembler, by the sanitizer
//! or by the tensor diff, in the words that lie beside it as `<fault>.txt`, and its corrected twin,
//! `<fault>_fixed.ptx`, passes what its fault did not.
//!
//! `REFRESH=1` writes the texts anew; read the difference before it is kept.

mod assembler;
mod diff;
mod replaced;
mod run;
mod sanitizer;
#[path = "../support/mod.rs"]
mod support;

use std::fs;

use ptx_emulator::Fault;
use run::root;

/// Compares what was said of a fault with what is written down.
pub(crate) fn expect(name: &str, found: &str) {
    let found = format!("{}\n", found.trim_end());
    let path = root().join("ptx/gallery").join(format!("{name}.txt"));
    if std::env::var_os("REFRESH").is_some() {
        host::file::write_atomically(&path, |out| out.write_all(found.as_bytes())).unwrap();
        return;
    }
    let written = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert_eq!(found, written, "{name}: other words than those in {}", path.display());
}

/// Addresses, which are longer than masks of lanes, differ from run to run.
pub(crate) fn without_addresses(fault: &Fault) -> String {
    let text = fault.to_string();
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("0x") {
        let (before, number) = rest.split_at(at);
        let end =
            number[2..].find(|c: char| !c.is_ascii_hexdigit()).map_or(number.len(), |n| n + 2);
        out += before;
        out += if end > 2 + 8 { "0x..." } else { &number[..end] };
        rest = &number[end..];
    }
    out + rest
}

#[test]
fn every_fault_has_its_words_and_its_twin() {
    let folder = root().join("ptx/gallery");
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(fault) = name.strip_suffix(".ptx").filter(|name| !name.ends_with("_fixed")) else {
            continue;
        };
        count += 1;
        assert!(folder.join(format!("{fault}.txt")).exists(), "{fault}.txt");
        // Here the kernel is right, and the host forgot to run another one before it.
        let lonely = fault == "unwritten_gradients";
        assert_eq!(folder.join(format!("{fault}_fixed.ptx")).exists(), !lonely, "{fault}");
    }
    assert_eq!(count, 19);
}
