//! Gives the shared library the name by which programs ask for the CUDA runtime, so that one that is
//! loaded already answers `dlopen("libcudart.so")`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcudart.so");
        // Programs' exit handlers call it.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
