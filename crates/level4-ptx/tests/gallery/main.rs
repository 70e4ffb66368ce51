//! Tests of the gallery of broken PTX, `ptx/gallery`. The assembler, the sanitizer or the tensor diff finds
//! each fault with the message in `<fault>.txt`; its corrected twin, `<fault>_fixed.ptx`, passes the same
//! check.
//!
//! `REFRESH=1` rewrites the messages; review the difference before you commit it.

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

/// Compares the message for a fault with the committed one.
pub(crate) fn expect(name: &str, found: &str) {
    let found = format!("{}\n", found.trim_end());
    let path = root().join("ptx/gallery").join(format!("{name}.txt"));
    if std::env::var_os("REFRESH").is_some() {
        host::file::write_atomically(&path, |out| out.write_all(found.as_bytes())).unwrap();
        return;
    }
    let written = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert_eq!(found, written, "{name}: the message differs from {}", path.display());
}

/// A fault's message without addresses, which differ from run to run. Addresses are recognised by their length; masks
/// of lanes are shorter.
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
fn every_fault_has_its_message_and_its_twin() {
    let folder = root().join("ptx/gallery");
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(fault) = name.strip_suffix(".ptx").filter(|name| !name.ends_with("_fixed")) else {
            continue;
        };
        count += 1;
        assert!(folder.join(format!("{fault}.txt")).exists(), "{fault}.txt");
        // This kernel itself is right: the fault is that the host didn't launch another kernel before it.
        let lonely = fault == "unwritten_gradients";
        assert_eq!(folder.join(format!("{fault}_fixed.ptx")).exists(), !lonely, "{fault}");
    }
    assert_eq!(count, 19);
}
