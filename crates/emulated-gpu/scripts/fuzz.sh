#!/bin/sh
# Coverage-guided fuzzing with libFuzzer and AddressSanitizer: command lines of `ptx-emulator`
# (`command_line`), the emulator on near-miss PTX (`ptx`), and sequences of calls of the C functions on several threads
# (`c_api`).
#
#     scripts/fuzz.sh                     every target for an hour, one after another
#     scripts/fuzz.sh 60                  every target for a minute
#     scripts/fuzz.sh 3600 ptx            one target
#     scripts/fuzz.sh case ptx FILE       one case, such as a finding, with the target's output
#     scripts/fuzz.sh minimise            rebuilds the committed corpora from all cases found so far
#     scripts/fuzz.sh minimise c_api      rebuilds one corpus
#
# FUZZ names another folder of libFuzzer binaries and corpora: the default is `fuzz` next to `scripts`, whose
# targets are in `fuzz-targets`. The tests of `fuzz-targets` replay the committed corpora and cases near them
# without libFuzzer, in every test run.
#
# A run begins with the committed corpora, `corpus` in that folder; new cases go to target/fuzz/corpus. A
# finding stays in target/fuzz/artifacts, and the exit code is 1.
# Needs `cargo install --locked cargo-fuzz@0.13.2` and a C++ compiler; any toolchain of Rust works.
set -eu
scripts=$(cd "$(dirname "$0")" && pwd)
fuzz=${FUZZ:-${scripts%/*}/fuzz}
targets=$(for target in "$fuzz"/targets/*.rs; do basename "$target" .rs; done)
cd "$scripts/../../.."

folder=${FUZZ_TARGET_DIR:-$PWD/target/fuzz}
limits='-timeout=120 -rss_limit_mb=3072 -malloc_limit_mb=1024 -print_final_stats=1'

longest() {
    case $1 in
    ptx) echo 4096 ;;
    c_api) echo 1537 ;;
    *) echo 8192 ;;
    esac
}

# libfuzzer TARGET CORPUS: starts from the committed corpus, and writes new cases to CORPUS.
libfuzzer() {
    mkdir -p "$2" "$folder/artifacts/$1"
    # The target's own output is suppressed here; `fuzz.sh case` shows it.
    # shellcheck disable=SC2086 # the limits are words
    exec nice -n 19 "$binaries/$1" $limits -max_len="$(longest "$1")" -close_fd_mask=3 \
        -max_total_time="$seconds" -artifact_prefix="$folder/artifacts/$1/" \
        "$2" "$fuzz/corpus/$1" >"$folder/$1.log" 2>&1
}

# Reports the finding of a failed run of a target.
finding() {
    tail -n 40 "$folder/$1.log"
    found=$(sed -n 's/.*Test unit written to //p' "$folder/$1.log" | tail -n 1)
    # Reruns the case with the target's own output.
    [ -z "$found" ] || "$binaries/$1" -timeout=120 "$found" 2>&1 | tail -n 60
    echo "$1 has a finding; rerun it with: fuzz.sh case $1 $found" >&2
    status=1
}

case ${1:-} in case | minimise) ;; '' | *[0-9]) ;; *)
    echo "error: the argument $1 is unknown: give a number of seconds, case or minimise" >&2
    exit 2
    ;;
esac
if [ -n "${2:-}" ] && ! [ -e "$fuzz/targets/$2.rs" ]; then
    # shellcheck disable=SC2086 # words
    echo "error: unknown target $2. The targets are" $targets >&2
    exit 2
fi
if ! cargo fuzz --version >/dev/null 2>&1; then
    echo 'error: cargo-fuzz is missing: cargo install --locked cargo-fuzz@0.13.2' >&2
    exit 2
fi
# RUSTC_BOOTSTRAP enables the sanitizers, which are unstable options, on a stable compiler.
export RUSTC_BOOTSTRAP=1 CARGO_TERM_PROGRESS_WHEN=never
# An allocation of four terabytes returns null, as without the sanitizer. Memory that the driver keeps until the process
# ends is not a leak.
export ASAN_OPTIONS="allocator_may_return_null=1:detect_leaks=0:detect_odr_violation=0"
binaries=$folder/x86_64-unknown-linux-gnu/release

cargo fuzz build --fuzz-dir "$fuzz" --target-dir "$folder"

fuzz() {
    echo "== $1: $seconds seconds"
    (libfuzzer "$1" "$folder/corpus/$1") || finding "$1"
    grep -E '^(Done|stat::)' "$folder/$1.log" || true
}

case ${1:-} in
case)
    # shellcheck disable=SC2086
    exec "$binaries/$2" $limits "$3"
    ;;
minimise)
    for target in ${2:-$targets}; do
        new=$folder/minimal/$target
        rm -rf "$new"
        mkdir -p "$new" "$folder/corpus/$target"
        nice -n 19 "$binaries/$target" -set_cover_merge=1 -max_len="$(longest "$target")" \
            -close_fd_mask=3 -timeout=60 -rss_limit_mb=3072 "$new" "$folder/corpus/$target" \
            "$fuzz/corpus/$target" >"$folder/$target-merge.log" 2>&1
        rm -rf "$fuzz/corpus/$target"
        cp -r "$new" "$fuzz/corpus/$target"
        du -sh "$fuzz/corpus/$target"
    done
    ;;
*)
    seconds=${1:-3600}
    status=0
    for target in ${2:-$targets}; do
        fuzz "$target"
    done
    exit "$status"
    ;;
esac
