//! Functions for missing features: each checks the handle and the pointer to the result, then returns "not
//! supported".

use std::ffi::c_uint;
use std::ptr::null_mut;

use crate::support::*;

/// The functions in the library's table, each with the number of arguments between the card and the pointer to the
/// result; `None` if it has no result.
fn list() -> Vec<(String, Option<usize>)> {
    let source = include_str!("../../src/api/unsupported.rs");
    let (_, list) = source.rsplit_once("\nunsupported! {").unwrap();
    let (mut kind, mut functions) = (None, Vec::new());
    for line in list.lines().map(str::trim) {
        if let Some(head) = line.strip_suffix(" {") {
            kind = head.contains("out").then(|| head.matches(',').count());
        } else {
            let names = line.split_whitespace().filter(|name| *name != "}");
            functions.extend(names.map(|name| (name.to_owned(), kind)));
        }
    }
    functions
}

type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize) -> c_uint;

/// Calls a function with `before` zeros followed by a pointer to the result or, if `before` is `None`, with zeros only.
fn call(name: &str, card: usize, before: Option<usize>, result: *mut u64) -> c_uint {
    let mut arguments = [0; 4];
    if let Some(before) = before {
        arguments[before] = result as usize;
    }
    let [a, b, c, d] = arguments;
    let function: Function = symbol(name);
    // SAFETY: these functions write nothing through their arguments. They may declare fewer arguments than are passed,
    // because C's calling convention lets the caller clean up the stack.
    unsafe { function(card, a, b, c, d) }
}

#[test]
fn missing_features_are_not_supported() {
    in_child!(&[]);
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
    // Checks that the list contains an entry of each kind.
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
fn missing_functions_are_not_exported() {
    for name in ["nvmlVgpuTypeGetName", "nvmlGpmSampleAlloc", "nvmlDeviceGetTemperature_v9"] {
        // SAFETY: the symbol is only looked up, not called.
        assert!(unsafe { nvml().get::<Function>(name) }.is_err(), "{name}");
    }
}
