#!/usr/bin/env bash
# Builds the emulator for pages, crates/playground as WebAssembly, and prints the path of the module. If the target is
# missing, prints how to get it and exits with 1.
#
# The compiler is the rustc that WASM_RUSTC names, otherwise the usual one if it has the target, otherwise the one that
# scripts/wasm-target.sh has unpacked below target.
set -euo pipefail
cd "$(dirname "$0")/.."
target=wasm32-unknown-unknown
unpacked=$PWD/target/wasm-toolchain/bin

# Whether a compiler has the target's library.
has() { [ -e "$("$1" --print sysroot)/lib/rustlib/$target/lib" ]; }

if [ -n "${WASM_RUSTC:-}" ]; then
    has "$WASM_RUSTC" || { echo "error: WASM_RUSTC=$WASM_RUSTC has no target $target" >&2; exit 1; }
    export RUSTC=$WASM_RUSTC
elif has rustc; then
    :
elif [ -x "$unpacked/rustc" ] && has "$unpacked/rustc"; then
    export RUSTC=$unpacked/rustc CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$unpacked/wasm-ld
else
    echo "error: Rust's target $target is missing: rustup target add $target," >&2
    echo "or, on a machine with apt that can't reach rustup's server, scripts/wasm-target.sh" >&2
    exit 1
fi

# SIMD, with four lanes in a vector. At most 1 GiB of memory: a larger allocation fails, and the page stays usable. The
# table is exported because a page replaces a function in it. Paths of this machine are removed.
flags="-C target-feature=+simd128 -C link-arg=--max-memory=1073741824"
flags+=" -C link-arg=--export-table"
flags+=" --remap-path-prefix=$PWD=/ --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS=$flags
# A separate folder, because changing the compiler in the usual one would cause a full rebuild.
export CARGO_TARGET_DIR=$PWD/target/wasm
cargo build --quiet --locked -p playground --lib --target "$target" --profile page >&2
echo "$CARGO_TARGET_DIR/$target/page/playground.wasm"
