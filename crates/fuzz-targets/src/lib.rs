//! What is done with bytes that nobody would write: those that libFuzzer makes (`crates/emulated-gpu/scripts/fuzz.sh`), and the
//! committed corpora with what is near them, which are part of the tests. A finding is a panic, an
//! error of AddressSanitizer, a hang, memory without bound, or a promise below that does not hold.

pub mod c_api;
mod command_line;
mod files;
pub mod ptx;
pub mod readers;
#[path = "../../emulated-gpu/ptx-emulator/tests/fuzz/sound.rs"]
mod sound;
pub mod words;
