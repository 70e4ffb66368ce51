//! Exports the program's functions. libFuzzer is linked into this program. The libraries that the target `c_api` loads
//! call libFuzzer's functions to report their coverage, so the program must export these functions.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bins=-rdynamic");
}
