//! Gives the shared library the name by which programs ask for nvJitLink, so that one that is loaded
//! already answers `dlopen("libnvJitLink.so.12")`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnvJitLink.so.12");
    }
}
