//! Fuzz targets of the emulated GPU. libFuzzer generates their input (`scripts/fuzz.sh`), and the tests replay
//! the committed corpora and variations of them. A finding is a panic, an error of AddressSanitizer, a hang,
//! unbounded memory, or a broken promise of a target.

pub mod c_api;
pub mod command_line;
pub mod ptx;

pub use emulated_gpu_test_support::words;
