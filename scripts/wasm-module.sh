#!/usr/bin/env bash
# Builds the emulator for pages, crates/playground as WebAssembly, and prints the path of the module;
# where that can't be, says what is missing and ends with 1.
#
# The compiler is the rustc that WASM_RUSTC names, the usual one where it has the target, or the one
# that scripts/wasm-target.sh has unpacked below target.
set -euo pipefail
cd "$(dirname "$0")/.."
target=wasm32-unknown-unknown
unpacked=$PWD/target/wasm-toolchain/bin

# Whether a compiler has the target's library.
has() { [ -e "$("$1" --print sysroot)/lib/rustlib/$target/lib" ]; }

if [ -n "${WASM_RUSTC:-}" ]; then
    has "$WASM_RUSTC" || { echo "WASM_RUSTC=$WASM_RUSTC has no $target" >&2; exit 1; }
    export RUSTC=$WASM_RUSTC
elif has rustc; then
    :
elif [ -x "$unpacked/rustc" ] && has "$unpacked/rustc"; then
    export RUSTC=$unpacked/rustc CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$unpacked/wasm-ld
else
    echo "Rust has no target $target here: rustup target add $target," >&2
    echo "or, without rustup's server on a machine with apt, scripts/wasm-target.sh" >&2
    exit 1
fi

# One vector is four lanes. At most a gibibyte: what asks for more is refused, and the page lives on.
# A page replaces a function in the module's table. Paths of this machine stay out of it.
flags="-C target-feature=+simd128 -C link-arg=--max-memory=1073741824"
flags+=" -C link-arg=--export-table"
flags+=" --remap-path-prefix=$PWD=/ --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS=$flags
# A folder of its own: another compiler than the usual one would have it build all anew there.
export CARGO_TARGET_DIR=$PWD/target/wasm
cargo build --quiet --locked -p playground --lib --target "$target" --profile page >&2
echo "$CARGO_TARGET_DIR/$target/page/playground.wasm"
