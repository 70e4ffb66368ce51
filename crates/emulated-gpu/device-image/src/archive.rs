//! Libraries of device functions. They are machine code; of NVIDIA's `libcudadevrt.a` alone there are
//! functions in PTX that take its place.

/// How an archive of ar(1) begins.
const ARCHIVE: &[u8] = b"!<arch>\n";
/// What `libcudadevrt.a` is made of, a name that stands in it.
const OF_DEVICE_RUNTIME: &[u8] = b"cuda_device_runtime";
/// What stands in for it: how grids wait for all their blocks.
const DEVICE_RUNTIME: &str = include_str!("device_runtime.ptx");

/// A library that can't be linked.
pub const REFUSED: &str = "libraries are machine code, which the emulated GPU does not run; of NVIDIA's \
     libcudadevrt.a alone it has functions of its own, cudaCGGetIntrinsicHandle and cudaCGSynchronize";

/// Whether bytes begin as an archive does.
#[must_use]
pub fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(ARCHIVE)
}

/// The PTX that stands for an archive's machine code, or nothing where there is none.
#[must_use]
pub fn ptx_of(bytes: &[u8]) -> Option<&'static str> {
    let has = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
    (is_archive(bytes) && has(OF_DEVICE_RUNTIME)).then_some(DEVICE_RUNTIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_library_has_its_place_taken() {
        let named = [ARCHIVE, b"x.o/", OF_DEVICE_RUNTIME, b".o/"].concat();
        assert!(ptx_of(&named).unwrap().contains("cudaCGSynchronize"));
        assert!(is_archive(&named));
        for other in [&named[1..], ARCHIVE, b"", b"!<arch>\nlibm.o/"] {
            assert_eq!(ptx_of(other), None);
        }
    }
}
