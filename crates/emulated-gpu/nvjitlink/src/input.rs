//! Inputs of a link: detects the kind of the bytes, checks it against the declared kind, and
//! extracts the PTX.

use std::fmt::Display;

use device_image::archive;
use device_image::fatbin::{self, FatbinError};
use host::input::MAX_TEXT_BYTES;

use crate::options::LinkOptions;
use crate::status::Status;

/// `nvJitLinkInputType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputType {
    Cubin,
    Ptx,
    LtoIr,
    Fatbin,
    Object,
    Library,
    Index,
    Any,
}

/// All input types, with their numbers and names.
const INPUT_TYPES: [(i32, InputType, &str); 8] = [
    (1, InputType::Cubin, "CUBIN"),
    (2, InputType::Ptx, "PTX"),
    (3, InputType::LtoIr, "LTOIR"),
    (4, InputType::Fatbin, "FATBIN"),
    (5, InputType::Object, "OBJECT"),
    (6, InputType::Library, "LIBRARY"),
    (7, InputType::Index, "INDEX"),
    (10, InputType::Any, "ANY"),
];

/// The kind of an input's contents, detected from the first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contents {
    Ptx,
    Fatbin,
    /// A cubin, or an object of a host compiler.
    Elf,
    Archive,
    LtoIr,
}

/// The possible first bytes of NVIDIA's LTO-IR: its own magic number, or that of the LLVM bitcode
/// in it.
const LTO_IR: [&[u8]; 2] = [b"\xedCN\x7f", b"BC\xc0\xde"];

/// The reason why LTO-IR is refused if NVIDIA's library isn't available.
pub(crate) const LTO_IR_REFUSED: &str = "it is LTO-IR, which only NVIDIA's \
     compiler reads: pass PTX (nvcc and NVRTC without -dlto and with \
     --relocatable-device-code=true; numba's @cuda.jit with lto=False), or name NVIDIA's libnvJitLink.so in \
     EMULATED_GPU_NVJITLINK";

/// An input that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// PTX, and whether it was passed as LTO-IR.
    Text(String, bool),
    /// NVIDIA's LTO-IR.
    LtoIr,
}

/// The reason why an input or an option is refused: the result code, and a sentence for the log.
pub(crate) type Refusal = (Status, String);

fn refuse(status: Status, name: &str, why: impl Display) -> Refusal {
    (status, format!("error   : {name}: {why}"))
}

/// Extracts the PTX from an input that is declared to be of the type `kind`.
///
/// # Errors
/// If the input can't be linked. The error has a sentence that states what to pass instead.
pub(crate) fn read(
    kind: i32,
    bytes: &[u8],
    name: &str,
    options: &LinkOptions,
) -> Result<Input, Refusal> {
    let known = INPUT_TYPES.iter().find(|(number, ..)| *number == kind);
    let Some(&(_, kind, called)) = known else {
        let why = format!("unknown input type {kind}");
        return Err(refuse(Status::IncorrectInputType, name, why));
    };
    let Some(contents) = contents(bytes) else {
        let status = if kind == InputType::Any {
            Status::UnrecognizedInput
        } else {
            Status::IncorrectInputType
        };
        let why = "it is not PTX, a fatbin, a cubin, LTO-IR, an object or a library";
        return Err(refuse(status, name, why));
    };
    let is_match = match contents {
        Contents::Ptx => kind == InputType::Ptx,
        // A fatbin also replaces machine code and LTO-IR.
        Contents::Fatbin => matches!(kind, InputType::Fatbin | InputType::Cubin | InputType::LtoIr),
        Contents::Elf => matches!(kind, InputType::Cubin | InputType::Object),
        Contents::Archive => kind == InputType::Library,
        Contents::LtoIr => kind == InputType::LtoIr,
    };
    if !is_match && kind != InputType::Any {
        let why = format!("it does not match its type, NVJITLINK_INPUT_{called}");
        return Err(refuse(Status::IncorrectInputType, name, why));
    }
    let is_lto = kind == InputType::LtoIr || contents == Contents::LtoIr;
    if is_lto && !options.lto {
        let why = "LTO-IR can't be linked without -lto";
        return Err(refuse(Status::LtoNotEnabled, name, why));
    }
    let input = match contents {
        Contents::LtoIr => Ok(Input::LtoIr),
        _ => extract_text(contents, bytes, options).map(|text| Input::Text(text, is_lto)),
    };
    input.map_err(|(status, why)| refuse(status, name, why))
}

fn contents(bytes: &[u8]) -> Option<Contents> {
    if fatbin::is_fatbin(bytes) {
        Some(Contents::Fatbin)
    } else if bytes.starts_with(b"\x7fELF") {
        Some(Contents::Elf)
    } else if archive::is_archive(bytes) {
        Some(Contents::Archive)
    } else if LTO_IR.iter().any(|magic| bytes.starts_with(magic)) {
        Some(Contents::LtoIr)
    } else {
        let version = b".version";
        c_text(bytes).windows(version.len()).any(|word| word == version).then_some(Contents::Ptx)
    }
}

/// C strings end at the first zero.
fn c_text(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    &bytes[..end]
}

fn extract_text(
    contents: Contents,
    bytes: &[u8],
    options: &LinkOptions,
) -> Result<String, Refusal> {
    let wrong = |status, why: &str| Err((status, why.to_owned()));
    match contents {
        Contents::Ptx => {
            let text = c_text(bytes);
            if text.len() as u64 > MAX_TEXT_BYTES {
                let why = format!("it has more than {MAX_TEXT_BYTES} bytes, the limit for a link");
                return Err((Status::InvalidInput, why));
            }
            // Invalid UTF-8 is replaced; the parser reports the replacement characters.
            Ok(String::from_utf8_lossy(text).into_owned())
        }
        Contents::Fatbin => fatbin::extract_ptx(bytes, options.architecture).map_err(|wrong| {
            let status = match wrong {
                FatbinError::NoPtx(_) => Status::MissingFatbin,
                FatbinError::Damaged(_) => Status::InvalidInput,
                FatbinError::OutOfMemory(_) => Status::Internal,
            };
            (status, wrong.to_string())
        }),
        Contents::Archive => match archive::replacement_ptx(bytes) {
            Some(text) => Ok(text.to_owned()),
            None => wrong(Status::UnrecognizedInput, archive::UNSUPPORTED_LIBRARY),
        },
        Contents::Elf => wrong(
            Status::UnrecognizedInput,
            "it is machine code for NVIDIA's hardware, which the emulated GPU does not run: pass its PTX \
             (nvcc --ptx, or -fatbin with -gencode arch=compute_80,code=compute_80; with NVRTC nvrtcGetPTX; each \
             with --relocatable-device-code=true)",
        ),
        Contents::LtoIr => wrong(Status::NvvmCompile, LTO_IR_REFUSED),
    }
}

#[cfg(test)]
#[path = "input/tests.rs"]
mod tests;
