#!/bin/sh
# Runs the tests of the emulated GPU (interpreter, driver and libraries) under a sanitizer. Under ThreadSanitizer it also
# runs the fuzzer's sequences of C functions, on up to three threads; crates/emulated-gpu/scripts/fuzz.sh runs those under
# AddressSanitizer.
#
#     crates/emulated-gpu/scripts/sanitize-emulator.sh                       AddressSanitizer, all crates
#     crates/emulated-gpu/scripts/sanitize-emulator.sh address emulated-cuda     one crate
#     crates/emulated-gpu/scripts/sanitize-emulator.sh thread                ThreadSanitizer
#     crates/emulated-gpu/scripts/sanitize-emulator.sh thread emulated-cuda --test driver streams
#
# AddressSanitizer finds accesses out of bounds and after a free. ThreadSanitizer finds data races between the host's
# threads; it rebuilds the standard library, because it has to see the locks there too.
#
# Any toolchain of Rust works; ThreadSanitizer needs the standard library's sources:
#   rustup component add rust-src
# Builds into SANITIZE_TARGET_DIR (default: target/sanitize). Further arguments go to cargo test.
set -eu
cd "$(dirname "$0")/../../.."
kind=${1:-address}
[ $# -eq 0 ] || shift
case $kind in
address) build_std= ;;
thread)
    build_std=-Zbuild-std
    if ! [ -f "$(rustc --print sysroot)/lib/rustlib/src/rust/library/Cargo.lock" ]; then
        echo 'error: the sources of the standard library are missing: rustup component add rust-src' >&2
        exit 2
    fi
    ;;
*)
    echo "error: unknown sanitizer $kind: use address or thread" >&2
    exit 2
    ;;
esac
crate=${1:-}
[ $# -eq 0 ] || shift
target=x86_64-unknown-linux-gnu
# RUSTC_BOOTSTRAP enables the sanitizers, which are unstable options, on a stable compiler.
export RUSTC_BOOTSTRAP=1
export CARGO_TARGET_DIR="${SANITIZE_TARGET_DIR:-$PWD/target/sanitize}/$kind"
# The sanitizer's runtime is in the test program, which exports it for the libraries that it loads. It must not export
# anything else, because it also contains the driver's functions, which would replace those of the library.
export RUSTFLAGS="-Zsanitizer=$kind --cfg sanitized -Clink-arg=-Wl,--export-dynamic-symbol=__*san*"
# Optimised, because sanitized code is slow enough.
export CARGO_PROFILE_DEV_DEBUG=line-tables-only
# An allocation that is too large returns null, as without the sanitizer. Memory that the driver keeps until the process
# ends is not a leak.
export ASAN_OPTIONS="allocator_may_return_null=1:detect_leaks=0:${ASAN_OPTIONS:-}"
export TSAN_OPTIONS="allocator_may_return_null=1:halt_on_error=0:second_deadlock_stack=1:suppressions=$PWD/crates/emulated-gpu/scripts/sanitize-emulator.thread:${TSAN_OPTIONS:-}"

check() { # CRATE [ARGUMENT …]
    crate=$1
    shift
    echo "== $kind: $crate"
    # shellcheck disable=SC2086 # an option or none
    cargo test $build_std --locked -p "$crate" --target "$target" "$@"
}

# Skipped: tests that measure a process's memory, because a sanitizer uses memory too; and tests in Python, which can't
# load the libraries, because it lacks the sanitizer's runtime.
skipped='--skip untouched_memory_uses_no_host_memory --skip python'
every='ptx-emulator emulated-cuda emulated-cudart emulated-cublas emulated-cublaslt emulated-nccl emulated-nvrtc'
[ "$kind" = address ] || every="$every emulated-gpu-fuzz-targets"
for each in ${crate:-$every}; do
    if [ $# -gt 0 ]; then
        check "$each" "$@"
    elif [ "$each" = ptx-emulator ]; then
        # The tests of all instruction forms use one thread, and would take most of an hour under ThreadSanitizer.
        set -- --lib --test engine --test fuzz
        [ "$kind" = thread ] || set -- "$@" --test isa
        check "$each" "$@"
        set --
    elif [ "$each" = emulated-gpu-fuzz-targets ]; then
        check "$each" --test corpora sequences_of_c_functions -- --show-output
    else
        # shellcheck disable=SC2086 # words
        check "$each" --lib --tests -- $skipped
    fi
done
