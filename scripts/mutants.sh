#!/bin/sh
# Mutation testing: changes a function of tensor-diff, training or the emulator's table of allocations, and checks whether
# a test of that crate fails. A change that no test notices is a survivor: a bug there would go unnoticed.
#
#     scripts/mutants.sh                      all changes, which takes hours
#     scripts/mutants.sh tensor-diff 3/20     every 20th change of one crate, from the third on
#
# `target/mutants/CRATE/mutants.out` lists the changes that were caught, missed, and did not compile; .cargo/mutants.toml
# selects the functions. Needs `cargo install --locked cargo-mutants@27.1.0`.
set -eu
cd "$(dirname "$0")/.."
if ! cargo mutants --version >/dev/null 2>&1; then
    echo 'error: cargo-mutants is missing: cargo install --locked cargo-mutants@27.1.0' >&2
    exit 2
fi
# Nearly all of the time goes into compiling.
export CARGO_PROFILE_DEV_OPT_LEVEL="${CARGO_PROFILE_DEV_OPT_LEVEL:-1}" CARGO_PROFILE_DEV_DEBUG=0
export CARGO_INCREMENTAL=1 CARGO_TERM_PROGRESS_WHEN=never
# Every change is made in a copy of the sources; dependencies are built once.
export CARGO_TARGET_DIR="$PWD/target/mutants/build"

mutants() {
    crate=$1
    shift
    # The crate's own tests; of the emulator, only those that read and write memory.
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
# Exit code 2: there are survivors. 3: a change ran into the timeout.
exit "$status"
