//! The libraries that the target `c_api` loads report their coverage to libFuzzer, which is in the
//! program: it has to export what they ask for.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bins=-rdynamic");
}
