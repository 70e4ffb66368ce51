//! Fuzz target of the levels: all readers of files from users. libFuzzer generates the input
//! (`scripts/fuzz.sh`), and the tests replay the committed corpus and variations of it. A finding is a panic,
//! an error of AddressSanitizer, a hang, unbounded memory, or a broken promise of a reader.

pub mod readers;
