//! The build script of every emulated library but the driver: gives the shared library the name by which programs
//! ask for NVIDIA's, so that one that is loaded already answers `dlopen`.

fn main() {
    println!("cargo:rerun-if-changed=../c-abi/soname.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let soname = match variable("CARGO_PKG_NAME").as_str() {
        "emulated-cublas" => "libcublas.so",
        "emulated-cublaslt" => "libcublasLt.so",
        "emulated-cudart" => "libcudart.so",
        "emulated-nccl" => "libnccl.so",
        "emulated-nvjitlink" => "libnvJitLink.so.12",
        "emulated-nvml" => "libnvidia-ml.so.1",
        "emulated-nvrtc" => "libnvrtc.so",
        other => panic!("{other} has no SONAME: add it to c-abi/soname.rs"),
    };
    if variable("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{soname}");
    if soname == "libcudart.so" {
        // Programs' exit handlers call it.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
