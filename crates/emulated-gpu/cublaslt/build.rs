//! Gives the shared library the name by which programs ask for cuBLASLt, so that one that is loaded
//! already answers `dlopen("libcublasLt.so")`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcublasLt.so");
    }
}
