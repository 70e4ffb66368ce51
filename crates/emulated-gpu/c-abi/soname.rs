//! The build script of every emulated library. It gives the shared library the SONAME of NVIDIA's library, so that
//! `dlopen` finds an emulated library that is already loaded.

fn main() {
    println!("cargo:rerun-if-changed=../c-abi/soname.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let soname = match variable("CARGO_PKG_NAME").as_str() {
        "emulated-cublas" => "libcublas.so",
        "emulated-cublaslt" => "libcublasLt.so",
        "emulated-cuda" => "libcuda.so",
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
    // These two libraries must never be unloaded: programs' exit handlers call the runtime, and the driver's threads
    // run the driver's code.
    if matches!(soname, "libcuda.so" | "libcudart.so") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
