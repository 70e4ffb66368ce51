//! Gives the shared library the name by which programs ask for the CUDA driver, so that one that
//! is loaded already answers `dlopen("libcuda.so")`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");
        // Its threads run its code, so it can't be taken out of a process again.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
