//! What the fuzz targets do with the bytes that libFuzzer gives them. A finding is a panic, an
//! error of AddressSanitizer, a hang, memory without bound, or a promise below that does not hold.

pub mod c_api;
mod command_line;
mod files;
pub mod ptx;
pub mod readers;
pub mod words;
