#!/bin/sh
# Runs the core tests of the PTX emulator's engine under Miri, which finds undefined behaviour in
# `unsafe` code: reads of what is not initialised, pointers out of bounds or misaligned, data races.
# Miri has no AVX2: the engine takes its portable path there. It is some hundred times slower than
# the processor, so that only small tests are run. Needs the component:
#   rustup toolchain install nightly --component miri --component rust-src
# Arguments take the place of the tests below, such as: crates/emulated-gpu/scripts/miri.sh --lib memory
set -eu
cd "$(dirname "$0")/../../.."
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo 'error: Miri is not installed:' >&2
    echo '  rustup toolchain install nightly --component miri --component rust-src' >&2
    exit 2
fi
# Device addresses are host addresses in registers: they become pointers again when a kernel uses
# them, which is what permissive provenance is for. The clock of the host is read.
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
