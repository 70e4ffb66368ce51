#!/usr/bin/env bash
# Measures the speed of a page's emulator compared with the program, and the size of the module. Needs Node and Rust's
# target for WebAssembly (scripts/wasm-module.sh explains how to get it). If PLAYWRIGHT names the folder of
# playwright-core, the page runs in Chromium, otherwise in Node. If the book is built, the time to the first result is
# measured too.
set -euo pipefail
cd "$(dirname "$0")/.."
module=$(scripts/wasm-module.sh)
cargo build --quiet -p ptx-emulator
node book/page/tests/speed.mjs "$module" target/debug/ptx-emulator
printf 'the module has %s bytes, %s compressed\n' "$(wc -c <"$module")" "$(gzip -9 -c "$module" | wc -c)"
