#!/bin/sh
# Runs the core tests of the PTX emulator's engine under Miri, which finds undefined behaviour in `unsafe` code: reads of
# uninitialised memory, pointers out of bounds or misaligned, data races. Miri has no AVX2, so the engine uses its portable
# path. It is several hundred times slower than the processor, so only small tests are run. Needs the component:
#   rustup toolchain install nightly --component miri --component rust-src
# Arguments replace the list of tests below, such as: crates/emulated-gpu/scripts/miri.sh --lib memory
set -eu
cd "$(dirname "$0")/../../.."
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo 'error: Miri is missing. Install it with' >&2
    echo '  rustup toolchain install nightly --component miri --component rust-src' >&2
    exit 2
fi
# Permissive provenance, because registers hold device addresses as numbers, which become pointers again when a kernel uses
# them. No isolation, because the engine reads the host's clock.
export MIRIFLAGS="${MIRIFLAGS:--Zmiri-permissive-provenance -Zmiri-disable-isolation}"
export CARGO_TARGET_DIR="${MIRI_TARGET_DIR:-target/miri}"
if [ $# -gt 0 ]; then
    exec cargo +nightly miri test -p ptx-emulator "$@"
fi
cargo +nightly miri test -p device-memory
cargo +nightly miri test -p emulated-blas --lib -- view element
cargo +nightly miri test -p ptx-emulator --lib -- engine memory trace
cargo +nightly miri test -p ptx-emulator --test engine -- \
    control:: memory:: atomics:: calls:: printing:: collectives::
