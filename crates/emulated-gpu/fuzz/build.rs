//! Exports the program's functions. The target `c_api` loads libraries that report their coverage to libFuzzer, and
//! libFuzzer is linked into the program, so the program must export the functions of libFuzzer that these call.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bins=-rdynamic");
}
