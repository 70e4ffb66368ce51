#!/bin/sh
# Fuzzes the PTX emulator for this many seconds (600 without an argument) with cases that
# `cargo test -p ptx-emulator --test fuzz` does not try: mutated texts through the parser, random
# kernels through the engine under all checks, with AVX2 and without it.
# A case that fails says its number: FUZZ_CASE=123 cargo test -p ptx-emulator --test fuzz runs it alone.
set -eu
cd "$(dirname "$0")/../../.."
FUZZ_SECONDS="${1:-600}" cargo test -p ptx-emulator --test fuzz -- --nocapture
