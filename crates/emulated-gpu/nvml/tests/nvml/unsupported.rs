//! What the emulated card has not: each function that says so finds the card first, and looks at its place.

use std::ffi::c_uint;
use std::ptr::null_mut;

use crate::support::{
    INVALID_ARGUMENT, NOT_SUPPORTED, UNINITIALIZED, device, driver, nvml, ok, plays, symbol,
};

/// The library's own list: for each function how many arguments stand between the card and the place for
/// its result, which some have none of.
fn list() -> Vec<(String, Option<usize>)> {
    let source = include_str!("../../src/api/unsupported.rs");
    let (_, list) = source.rsplit_once("\nunsupported! {").unwrap();
    let (mut kind, mut found) = (None, Vec::new());
    for line in list.lines().map(str::trim) {
        if let Some(head) = line.strip_suffix(" {") {
            kind = head.contains("out").then(|| head.matches(',').count());
        } else if let Some(name) = line.strip_suffix(';') {
            found.push((name.to_owned(), kind));
        }
    }
    found
}

type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize) -> c_uint;

/// Calls one with a place behind this many arguments of 0; null where there is to be none.
fn call(name: &str, card: usize, before: Option<usize>, place: *mut u64) -> c_uint {
    let mut arguments = [0; 4];
    if let Some(before) = before {
        arguments[before] = place as usize;
    }
    let [a, b, c, d] = arguments;
    let function: Function = symbol(name);
    // SAFETY: nothing is written, and who calls takes away what a function has no arguments for.
    unsafe { function(card, a, b, c, d) }
}

#[test]
fn what_a_card_has_not_is_not_supported() {
    if !plays("unsupported::what_a_card_has_not_is_not_supported", &[]) {
        return;
    }
    driver();
    let list = list();
    assert!(list.len() > 150, "{}", list.len());
    let mut place = [7u64; 64];
    for (name, before) in &list {
        assert_eq!(call(name, 0, *before, place.as_mut_ptr()), UNINITIALIZED, "{name}");
    }
    ok!(nvmlInit_v2());
    let card = device(0);
    for (name, before) in &list {
        assert_eq!(call(name, card, *before, place.as_mut_ptr()), NOT_SUPPORTED, "{name}");
        assert_eq!(call(name, 0, *before, place.as_mut_ptr()), INVALID_ARGUMENT, "{name}");
        if before.is_some() {
            assert_eq!(call(name, card, *before, null_mut()), INVALID_ARGUMENT, "{name}");
        }
    }
    assert_eq!(place, [7; 64]);
    // Each kind is there.
    for (name, before) in [
        ("nvmlDeviceSetPersistenceMode", None),
        ("nvmlDeviceGetSerial", Some(0)),
        ("nvmlDeviceGetTemperature", Some(1)),
        ("nvmlDeviceGetClock", Some(2)),
        ("nvmlDeviceGetMemoryErrorCounter", Some(3)),
    ] {
        assert!(list.contains(&(name.to_owned(), before)), "{name}");
    }
}

#[test]
fn what_is_absent_is_not_found() {
    for name in ["nvmlVgpuTypeGetName", "nvmlGpmSampleAlloc", "nvmlDeviceGetTemperature_v9"] {
        // SAFETY: it is only looked for.
        assert!(unsafe { nvml().get::<Function>(name) }.is_err(), "{name}");
    }
}
