#!/usr/bin/env bash
# Nightly checks, which take too long for `.ci/run`: other projects' programs on the emulated GPU, other machines, fuzzing,
# sanitizers, mutation testing, the oldest supported Rust. Each step replaces its row in NIGHTLY.md, which is committed.
#
#     scripts/nightly.sh              all steps: most of a day on two cores
#     scripts/nightly.sh NAME …       only the steps whose names contain one of these
#
# HOURS is the time of each fuzzer (default: 1). The prerequisites are those of `.ci/run`; the script itself installs
# cargo-fuzz, cargo-mutants and the toolchains.
set -euo pipefail
cd "$(dirname "$0")/.."
names=("$@")
for name in "${names[@]}"; do
    # Before anything is installed.
    cut -s -d '|' -f 2 NIGHTLY.md | grep -qF -- "$name" || {
        echo "error: no step's name contains $name; NIGHTLY.md lists the names, also of new steps" >&2
        exit 2
    }
done
logs=target/nightly-logs
. .ci/steps
seconds=$((${HOURS:-1} * 3600))
# Each night other cases, and another 1/100 of the mutants.
seed=$(date +%Y%m%d)
day=$((10#$(date +%j)))

chosen() {
    [ ${#names[@]} != 0 ] || return 0
    local name
    for name in "${names[@]}"; do
        case $1 in *"$name"*) return 0 ;; esac
    done
    return 1
}
# record NAME COMMAND RESULT: replaces the row of that name in the table.
record() {
    ROW="| $1 | \`$2\` | $3 | $(date +%F) |" awk -v name="| $1 |" '
        index($0, name) == 1 { print ENVIRON["ROW"]; found = 1; next }
        { print }
        END { if (!found) print ENVIRON["ROW"] }' NIGHTLY.md >target/NIGHTLY.md
    cp target/NIGHTLY.md NIGHTLY.md
}
# The result of a step from its log: the numbers of passed and failed tests, otherwise the last line.
result() {
    awk '/^test result: / { passed += $4; failed += $6; tests = 1 }
        NF { last = $0 }
        END {
            gsub(/\|/, "/", last)
            if (tests) print passed " tests passed, " failed " failed"; else print last
        }' "$log"
}
# night NAME COMMAND …
night() {
    local name=$1 outcome=passed
    shift
    chosen "$name" || return 0
    if ! step "$@"; then
        outcome=FAILED
        failed+=("$name: $*")
    fi
    record "$name" "$*" "$outcome: $(result)"
}
cargo_tool() { # CRATE VERSION
    cargo install --list | grep -q "^$1 v$2" || step cargo install --quiet --locked "$1@$2"
}
miri_toolchain() {
    cargo +nightly miri --version >/dev/null 2>&1 ||
        step rustup toolchain install nightly --profile minimal --component miri --component rust-src
}
# Firefox, and puppeteer-core, which drives it through WebDriver BiDi.
firefox_tools() {
    local puppeteer='puppeteer-core@24.43.1'
    if ! command -v firefox-esr >/dev/null && ! command -v firefox >/dev/null; then
        step apt-get update --quiet=2
        DEBIAN_FRONTEND=noninteractive step apt-get install --yes --quiet=2 --no-install-recommends firefox-esr
    fi
    if [ "$(cat target/ci-firefox/version 2>/dev/null)" != "$puppeteer" ]; then
        mkdir -p target/ci-firefox
        step npm install --prefix target/ci-firefox --no-save --no-audit --no-fund --ignore-scripts --silent "$puppeteer"
        echo "$puppeteer" >target/ci-firefox/version
    fi
    export PUPPETEER=$PWD/target/ci-firefox/node_modules/puppeteer-core
}

night "oldest Rust" scripts/msrv.sh
night "advisories" cargo deny check advisories
night "every kernel through ptxas" scripts/check-cuda-c.sh
night "programs of NVRTC" crates/emulated-gpu/scripts/test-nvrtc-programs.sh
if chosen "every page in every setting" || chosen "pages in Firefox"; then
    book_tools
    step scripts/book.sh
fi
night "every page in every setting" env EVERY_SETTING=1 node book/page/tests/browser.mjs
! chosen "pages in Firefox" || firefox_tools
night "pages in Firefox" node book/page/tests/firefox.mjs
night "other machines" scripts/test-machines.sh --all
clients=(examples nvmath tinygrad tinygrad-older numba-cuda burn warp cust)
# The tests of these clients are only in their repositories.
[ -z "${CLIENT_SOURCES:-}" ] || clients+=(tinygrad-tests cuda-bindings cuda-core nvmath-tests)
for client in "${clients[@]}"; do
    night "clients: $client" crates/emulated-gpu/clients/clients.py "$client"
done

! chosen "fuzzing" || cargo_tool cargo-fuzz 0.13.2
night "fuzzing: readers" scripts/fuzz.sh "$seconds" readers
for target in command_line ptx c_api; do
    night "fuzzing: $target" crates/emulated-gpu/scripts/fuzz.sh "$seconds" "$target"
done
night "fuzzing: cases near the corpora" env "FUZZ_SECONDS=$seconds" cargo test --locked -p fuzz-targets \
    -p emulated-gpu-fuzz-targets
night "fuzzing: PTX with and without AVX2" crates/emulated-gpu/scripts/fuzz-emulator.sh "$seconds"
night "fuzzing: CUDA C by cuda-c and by NVRTC" crates/emulated-gpu/scripts/fuzz-cuda-c.sh --seed "$seed" --seconds "$seconds"
night "fuzzing: texts that are nearly CUDA C" crates/emulated-gpu/scripts/fuzz-cuda-c.sh --texts --seed "$seed" --seconds "$seconds"

night "AddressSanitizer" crates/emulated-gpu/scripts/sanitize-emulator.sh address
night "ThreadSanitizer" crates/emulated-gpu/scripts/sanitize-emulator.sh thread
! chosen "Miri" || miri_toolchain
night "Miri" crates/emulated-gpu/scripts/miri.sh
! chosen "mutants" || cargo_tool cargo-mutants 27.1.0
for crate in tensor-diff training ptx-emulator; do
    night "mutants: $crate" scripts/mutants.sh "$crate" "$((day % 100))/100"
done
finish
