#!/bin/sh
# Fuzzes the PTX emulator for the given number of seconds (default: 600) with cases that
# `cargo test -p ptx-emulator --test fuzz` does not try: mutated texts for the parser, and random kernels for the engine
# under all checks, with and without AVX2. A failing case prints its number, and
# `FUZZ_CASE=123 cargo test -p ptx-emulator --test fuzz` only runs that case.
set -eu
cd "$(dirname "$0")/../../.."
FUZZ_SECONDS="${1:-600}" cargo test -p ptx-emulator --test fuzz -- --nocapture
