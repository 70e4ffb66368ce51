//! Files and command lines; see `readers.rs` of the library.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::readers::run(bytes));
