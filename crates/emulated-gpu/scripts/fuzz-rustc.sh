#!/bin/sh
# Stands before the compiler for `crates/emulated-gpu/scripts/fuzz.sh --short`: this workspace's own crates count which branches
# they take and show what they compare, by which libFuzzer finds its way; what others wrote is built as
# ever. Without a sanitizer these are options that every release of the compiler has.
compiler=$1
shift
crates=$(cd "$(dirname "$0")/../../../crates" && pwd)
case ${CARGO_MANIFEST_DIR:-}:$* in
*"--crate-name build_script_"* | *"--print"*) ;;
"$crates"/*)
    set -- "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
        -Cllvm-args=-sanitizer-coverage-trace-compares
    ;;
esac
exec "$compiler" "$@"
