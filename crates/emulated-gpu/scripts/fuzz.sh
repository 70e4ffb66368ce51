#!/bin/sh
# Coverage-guided fuzzing with libFuzzer and AddressSanitizer: readers of files and the emulator's
# command line (`readers`), the emulator on texts that are nearly PTX (`ptx`), and sequences of calls
# of the C functions on several threads (`c_api`).
#
#     crates/emulated-gpu/scripts/fuzz.sh                     every target for an hour, one after another
#     crates/emulated-gpu/scripts/fuzz.sh 60                  … for a minute
#     crates/emulated-gpu/scripts/fuzz.sh 3600 ptx            one target
#     crates/emulated-gpu/scripts/fuzz.sh case ptx FILE       one case, such as a finding, with all that is said of it
#     crates/emulated-gpu/scripts/fuzz.sh minimise            makes the committed corpora anew, of all that was found
#     crates/emulated-gpu/scripts/fuzz.sh minimise c_api      … that of one target
#
# What is done with the bytes is in crates/fuzz-targets, whose tests run the committed corpora and cases near
# them without libFuzzer, in every test run.
#
# The corpora that are committed, crates/emulated-gpu/fuzz/corpus, are where it begins; what it finds beyond them goes
# to target/fuzz/corpus. A finding stays in target/fuzz/artifacts, and the exit code is 1.
# Needs `cargo install --locked cargo-fuzz@0.13.2` and a C++ compiler; any toolchain of Rust will do.
set -eu
cd "$(dirname "$0")/../../.."

folder=${FUZZ_TARGET_DIR:-$PWD/target/fuzz}
limits='-timeout=120 -rss_limit_mb=3072 -malloc_limit_mb=1024 -print_final_stats=1'

longest() {
    case $1 in
    readers) echo 8192 ;;
    ptx) echo 4096 ;;
    c_api) echo 1537 ;;
    esac
}

# libfuzzer TARGET CORPUS: from the committed corpus; what it finds beyond it goes to CORPUS.
libfuzzer() {
    mkdir -p "$2" "$folder/artifacts/$1"
    # What the target prints is not what one wants to read; `crates/emulated-gpu/scripts/fuzz.sh case` shows it.
    # shellcheck disable=SC2086 # the limits are words
    exec nice -n 19 "$binaries/$1" $limits -max_len="$(longest "$1")" -close_fd_mask=3 \
        -max_total_time="$seconds" -artifact_prefix="$folder/artifacts/$1/" \
        "$2" "crates/emulated-gpu/fuzz/corpus/$1" >"$folder/$1.log" 2>&1
}

# Tells what a run of a target found that has failed.
finding() {
    tail -n 40 "$folder/$1.log"
    found=$(sed -n 's/.*Test unit written to //p' "$folder/$1.log" | tail -n 1)
    # Once more, with what the target itself says.
    [ -z "$found" ] || "$binaries/$1" -timeout=120 "$found" 2>&1 | tail -n 60
    echo "$1 found something; again: crates/emulated-gpu/scripts/fuzz.sh case $1 $found" >&2
    status=1
}

if ! cargo fuzz --version >/dev/null 2>&1; then
    echo 'error: cargo install --locked cargo-fuzz@0.13.2' >&2
    exit 2
fi
# The sanitizers are options that only nightly compilers have, unless a stable one is told so.
export RUSTC_BOOTSTRAP=1 CARGO_TERM_PROGRESS_WHEN=never
# What an allocation of four terabytes gives is null, as without the sanitizer. What the driver
# keeps for the life of the process is no leak.
export ASAN_OPTIONS="allocator_may_return_null=1:detect_leaks=0:detect_odr_violation=0"
binaries=$folder/x86_64-unknown-linux-gnu/release

cargo fuzz build --fuzz-dir crates/emulated-gpu/fuzz --target-dir "$folder"

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
    for target in ${2:-readers ptx c_api}; do
        new=$folder/minimal/$target
        rm -rf "$new"
        mkdir -p "$new" "$folder/corpus/$target"
        nice -n 19 "$binaries/$target" -set_cover_merge=1 -max_len="$(longest "$target")" \
            -close_fd_mask=3 -timeout=60 -rss_limit_mb=3072 "$new" "$folder/corpus/$target" \
            "crates/emulated-gpu/fuzz/corpus/$target" >"$folder/$target-merge.log" 2>&1
        rm -rf "crates/emulated-gpu/fuzz/corpus/$target"
        cp -r "$new" "crates/emulated-gpu/fuzz/corpus/$target"
        du -sh "crates/emulated-gpu/fuzz/corpus/$target"
    done
    ;;
*)
    seconds=${1:-3600}
    status=0
    for target in ${2:-readers ptx c_api}; do
        fuzz "$target"
    done
    exit "$status"
    ;;
esac
