//! The libraries that the target `c_api` loads report their coverage to libFuzzer, which is linked into the
//! program. So the program must export the functions that they call.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bins=-rdynamic");
}
