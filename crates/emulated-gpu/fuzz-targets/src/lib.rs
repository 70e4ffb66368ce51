//! Fuzz targets of the emulated GPU. libFuzzer makes their input (`scripts/fuzz.sh`), and the tests replay
//! the committed corpora with cases near them. A finding is a panic, an error of AddressSanitizer, a hang,
//! memory without bound, or a promise below that does not hold.

pub mod c_api;
pub mod command_line;
pub mod ptx;

pub use emulated_gpu_test_support::words;
