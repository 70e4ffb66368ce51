//! Libraries of device functions (ar archives). They contain machine code, which the emulated GPU
//! can't run; only NVIDIA's `libcudadevrt.a` has a replacement in PTX.

/// The magic bytes at the start of an ar(1) archive.
const MAGIC: &[u8] = b"!<arch>\n";
/// A member name by which `libcudadevrt.a` is recognised.
const DEVICE_RUNTIME_MEMBER: &[u8] = b"cuda_device_runtime";
/// The PTX that replaces `libcudadevrt.a`: grid-wide synchronisation.
const DEVICE_RUNTIME: &str = include_str!("device_runtime.ptx");

/// The error message for a library that can't be linked.
pub const UNSUPPORTED_LIBRARY: &str = "the library is machine code, which the emulated GPU can't run; it only \
     replaces cudaCGGetIntrinsicHandle and cudaCGSynchronize of NVIDIA's libcudadevrt.a";

/// Whether `bytes` start like an ar archive.
#[must_use]
pub fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The PTX that replaces an archive's machine code, if there is any.
#[must_use]
pub fn replacement_ptx(bytes: &[u8]) -> Option<&'static str> {
    let has = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
    (is_archive(bytes) && has(DEVICE_RUNTIME_MEMBER)).then_some(DEVICE_RUNTIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_device_runtime_is_replaced() {
        let archive = [MAGIC, b"x.o/", DEVICE_RUNTIME_MEMBER, b".o/"].concat();
        assert!(replacement_ptx(&archive).unwrap().contains("cudaCGSynchronize"));
        assert!(is_archive(&archive));
        for other in [&archive[1..], MAGIC, b"", b"!<arch>\nlibm.o/"] {
            assert_eq!(replacement_ptx(other), None);
        }
    }
}
