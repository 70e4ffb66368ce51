//! Fuzz target of the levels: every reader of files that people pass. libFuzzer makes its input
//! (`scripts/fuzz.sh`), and the tests replay the committed corpus with cases near it. A finding is a panic, an
//! error of AddressSanitizer, a hang, memory without bound, or a promise below that does not hold.

pub mod readers;
