#!/bin/sh
# Runs the tests of the emulated GPU under a sanitizer: of the interpreter, of the driver and of the
# libraries above it; under ThreadSanitizer the fuzzer's sequences of C functions too, on up to three
# threads, which crates/emulated-gpu/scripts/fuzz.sh runs under AddressSanitizer.
#
#     crates/emulated-gpu/scripts/sanitize-emulator.sh                       AddressSanitizer, all of them
#     crates/emulated-gpu/scripts/sanitize-emulator.sh address emulated-cuda     one of them
#     crates/emulated-gpu/scripts/sanitize-emulator.sh thread                ThreadSanitizer
#     crates/emulated-gpu/scripts/sanitize-emulator.sh thread emulated-cuda --test driver streams
#
# AddressSanitizer: no access leaves the memory that is ours, or comes after it was freed.
# ThreadSanitizer: of any two accesses of the host's threads one comes before the other, or both are
# atomic. It has the standard library built anew, since it has to see its locks too.
#
# Any toolchain of Rust will do; for ThreadSanitizer it needs the standard library's sources:
#   rustup component add rust-src
# Builds into target/sanitize, or what SANITIZE_TARGET_DIR names. Further arguments go to cargo test.
set -eu
cd "$(dirname "$0")/../../.."
kind=${1:-address}
[ $# -eq 0 ] || shift
case $kind in
address) build_std= ;;
thread)
    build_std=-Zbuild-std
    if ! [ -f "$(rustc --print sysroot)/lib/rustlib/src/rust/library/Cargo.lock" ]; then
        echo 'error: no sources of the standard library: rustup component add rust-src' >&2
        exit 2
    fi
    ;;
*)
    echo "error: $kind: address or thread" >&2
    exit 2
    ;;
esac
crate=${1:-}
[ $# -eq 0 ] || shift
target=x86_64-unknown-linux-gnu
# The sanitizers are options that only nightly compilers have, unless a stable one is told so.
export RUSTC_BOOTSTRAP=1
export CARGO_TARGET_DIR="${SANITIZE_TARGET_DIR:-$PWD/target/sanitize}/$kind"
# The runtime is in the test program; the libraries that it loads find it there. Nothing else of the
# program may be found: it holds the driver's functions too, which would take the place of the library's.
export RUSTFLAGS="-Zsanitizer=$kind --cfg sanitized -Clink-arg=-Wl,--export-dynamic-symbol=__*san*"
# Sanitized code is slow enough with all the optimising there is.
export CARGO_PROFILE_DEV_DEBUG=line-tables-only
# Null is an answer to a request for more memory than there is, as it is without the sanitizer; what
# the driver keeps for the life of the process is no leak.
export ASAN_OPTIONS="allocator_may_return_null=1:detect_leaks=0:${ASAN_OPTIONS:-}"
export TSAN_OPTIONS="allocator_may_return_null=1:halt_on_error=0:second_deadlock_stack=1:suppressions=$PWD/crates/emulated-gpu/scripts/sanitize-emulator.thread:${TSAN_OPTIONS:-}"

check() { # CRATE [ARGUMENT …]
    crate=$1
    shift
    echo "== $kind: $crate"
    # shellcheck disable=SC2086 # an option or none
    cargo test $build_std --locked -p "$crate" --target "$target" "$@"
}

# A sanitizer has memory of its own: how much a process has is not to be measured. Python has no sanitizer's
# runtime, without which the library can't be loaded.
skipped='--skip untouched_memory_uses_no_host_memory --skip python'
every='ptx-emulator emulated-cuda emulated-cudart emulated-cublas emulated-cublaslt emulated-nccl emulated-nvrtc'
[ "$kind" = address ] || every="$every emulated-gpu-fuzz-targets"
for each in ${crate:-$every}; do
    if [ $# -gt 0 ]; then
        check "$each" "$@"
    elif [ "$each" = ptx-emulator ]; then
        # The instruction set's forms are one thread's work, and most of an hour of ThreadSanitizer's.
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
