#!/usr/bin/env bash
# Measures the emulator of a page beside the program, and how large the module is. Needs Node and Rust's
# target for WebAssembly (scripts/wasm-module.sh says where it is missing). Where PLAYWRIGHT names the folder
# of playwright-core, the page is one of Chromium, and the time to the first result is measured where the
# book is built.
set -euo pipefail
cd "$(dirname "$0")/.."
module=$(scripts/wasm-module.sh)
cargo build --quiet -p ptx-emulator
node book/page/tests/speed.mjs "$module" target/debug/ptx-emulator
printf 'the module has %s bytes, %s packed\n' "$(wc -c <"$module")" "$(gzip -9 -c "$module" | wc -c)"
