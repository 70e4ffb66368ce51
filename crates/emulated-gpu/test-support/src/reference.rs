//! Comparison with NVRTC, if it is installed: its PTX for the same source must have the same results on the
//! emulator.

use std::path::Path;
use std::sync::OnceLock;

use crate::kernel::{Argument, compile, run_with};
use crate::nvrtc::Nvrtc;

/// NVRTC; if it isn't installed, the test is reported as skipped.
pub fn nvrtc() -> Option<&'static Nvrtc> {
    static NVRTC: OnceLock<Option<Nvrtc>> = OnceLock::new();
    let nvrtc = NVRTC.get_or_init(|| {
        let packages = std::env::var_os("CUDA_WHEELS")?;
        Nvrtc::of_wheels(Path::new(&packages))
    });
    if nvrtc.is_none() {
        skipped::skip(
            "no NVRTC (pip install nvidia-cuda-nvrtc-cu12, nvidia-cuda-runtime-cu12 and nvidia-cuda-nvcc-cu12; CUDA_WHEELS names their site-packages)",
        );
    }
    nvrtc.as_ref()
}

/// Compiles a source for sm_80 with NVRTC.
pub fn compile_with_nvrtc(nvrtc: &Nvrtc, source: &str) -> String {
    let options = ["--gpu-architecture=compute_80", "--std=c++17", "-w"];
    nvrtc.compile(source, &options).unwrap_or_else(|log| panic!("NVRTC: {log}\n{source}"))
}

/// Runs a kernel as compiled by cuda-c and, if NVRTC is installed, as compiled by NVRTC. Both results must have the
/// same bits.
pub fn both(
    source: &str,
    kernel: &str,
    shape: ([u32; 3], [u32; 3], u32),
    arguments: &[Argument],
) -> Vec<Vec<u8>> {
    let ptx = compile(source);
    let (results, _) = run_with(&ptx, kernel, shape, arguments);
    if let Some(nvrtc) = nvrtc() {
        let (expected, _) = run_with(&compile_with_nvrtc(nvrtc, source), kernel, shape, arguments);
        for (index, (results, expected)) in results.iter().zip(&expected).enumerate() {
            let place = results.iter().zip(expected).position(|(a, b)| a != b);
            assert_eq!(place, None, "{kernel}, argument {index}: a byte differs\n{ptx}");
        }
    }
    results
}
