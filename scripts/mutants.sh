#!/bin/sh
# Mutation testing: changes a function of tensor-diff, of training or of the emulator's table of
# allocations, and looks whether a test of that crate fails. A change that no test notices is a
# survivor: code that could be wrong without anybody knowing.
#
#     scripts/mutants.sh                      all of it, which takes hours
#     scripts/mutants.sh tensor-diff 3/20     every 20th change of one crate, from the third on
#
# `target/mutants/CRATE/mutants.out` lists what was caught, missed, and did not compile;
# .cargo/mutants.toml says what is changed. Needs `cargo install --locked cargo-mutants@27.1.0`.
set -eu
cd "$(dirname "$0")/.."
if ! cargo mutants --version >/dev/null 2>&1; then
    echo 'error: cargo install --locked cargo-mutants@27.1.0' >&2
    exit 2
fi
# Building is most of the time, and running the tests next to none of it.
export CARGO_PROFILE_DEV_OPT_LEVEL="${CARGO_PROFILE_DEV_OPT_LEVEL:-1}" CARGO_PROFILE_DEV_DEBUG=0
export CARGO_INCREMENTAL=1 CARGO_TERM_PROGRESS_WHEN=never
# Every change is made in a copy of the sources; what they depend on is built once.
export CARGO_TARGET_DIR="$PWD/target/mutants/build"

mutants() {
    crate=$1
    shift
    # The tests that a crate has of its own; of the emulator's, those that read and write memory.
    case $crate in
    ptx-emulator) set -- "$@" -- --lib --test engine ;;
    esac
    mkdir -p "target/mutants/$crate"
    nice -n 19 cargo mutants --package "$crate" --output "target/mutants/$crate" \
        --sharding round-robin --gitignore true "$@"
}

status=0
for crate in ${1:-tensor-diff training ptx-emulator}; do
    mutants "$crate" ${2:+--shard "$2"} || status=$?
done
# 2 says that there are survivors, 3 that some ran for ever.
exit "$status"
