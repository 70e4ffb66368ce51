#!/bin/sh
# Runs the driver tests and the numbered examples of cudarc, as published and unmodified, on the
# emulated GPU. Needs the network or a filled cargo registry. NVRTC and CUDA's headers come from
# NVIDIA's wheels on PyPI; CUDA_WHEELS names a folder in which they are already installed
# (site-packages, which has nvidia/cuda_nvrtc/lib and nvidia/cuda_runtime/include).
#
#     crates/emulated-gpu/scripts/cudarc-tests.sh            everything except crates/emulated-gpu/scripts/cudarc-tests.excluded
#     crates/emulated-gpu/scripts/cudarc-tests.sh NAME …     only the tests whose names contain one of these
set -eu
cd "$(dirname "$0")/../../.."
root=$PWD
# The script reruns itself under `emulate`, which builds the emulated driver.
if [ -z "${CUDARC_TESTS_EMULATED:-}" ]; then
    CUDARC_TESTS_EMULATED=1 EMULATED_GPU_DEVICES=2 exec crates/emulated-gpu/emulate crates/emulated-gpu/scripts/cudarc-tests.sh "$@"
fi
# The features are those of crates/emulated-gpu/scripts/cudarc-blas-tests.sh, so that both share the test program.
features=std,driver,nvrtc,cublas,cublaslt,nccl,f16,dynamic-loading,cuda-12090
# No debugger is used.
export CARGO_PROFILE_DEV_DEBUG=0
cuda='12.9.*'
work=$root/target/cudarc-tests
mkdir -p "$work"

# The crate, in the version and with the digest that Cargo.lock names: `cargo fetch` checks it.
cargo fetch --quiet --locked
version=$(sed -n '/^name = "cudarc"$/{n;s/^version = "\(.*\)"$/\1/p;}' Cargo.lock)
crate=$(find "${CARGO_HOME:-$HOME/.cargo}/registry/cache" -name "cudarc-$version.crate" | head -n 1)
if [ -z "$crate" ]; then
    echo "error: cudarc $version is not in cargo's registry cache: run \`cargo fetch\` first" >&2
    exit 1
fi
source=$work/cudarc-$version
rm -rf "$source"
tar -xzf "$crate" -C "$work"
# A separate workspace, so that cargo doesn't take the crate for a member of this one.
printf '[workspace]\nresolver = "2"\nmembers = ["cudarc-%s"]\n' "$version" >"$work/Cargo.toml"
[ -f "$work/Cargo.lock" ] || cp "$source/Cargo.lock" "$work/Cargo.lock"

wheels=${CUDA_WHEELS:-$work/wheels}
nvrtc=$wheels/nvidia/cuda_nvrtc/lib
headers=$wheels/nvidia/cuda_runtime/include
if [ -z "${CUDA_WHEELS:-}" ] && ! { [ -d "$nvrtc" ] && [ -d "$headers" ]; }; then
    python3 -m pip install --quiet --no-deps --upgrade --target "$wheels" \
        "nvidia-cuda-nvrtc-cu12==$cuda" "nvidia-cuda-runtime-cu12==$cuda"
fi
for found in "$nvrtc/libnvrtc.so.12" "$headers/cuda_fp16.h"; do
    if [ ! -e "$found" ]; then
        echo "error: $found is missing: set CUDA_WHEELS to the folder that has nvidia/cuda_nvrtc" >&2
        exit 1
    fi
done
# Under the name that cudarc opens.
mkdir -p "$work/lib"
ln -sfn "$nvrtc/libnvrtc.so.12" "$work/lib/libnvrtc.so"
LD_LIBRARY_PATH=$work/lib:$nvrtc${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

build() {
    cargo "$@" --quiet --manifest-path "$work/Cargo.toml" --target-dir "$work/target" \
        --package cudarc --no-default-features --features "$features"
}
excluded=$(sed -n 's/^\([a-z0-9_:-]*\)  *[^ ].*$/\1/p' crates/emulated-gpu/scripts/cudarc-tests.excluded)
is_excluded() { printf '%s\n' "$excluded" | grep -qxF "$1"; }

build test --lib --no-run
tests=$(build test --lib --no-run --message-format json |
    sed -n 's/.*"target":{[^}]*"name":"cudarc".*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
status=0

# NVRTC finds the headers that a kernel includes in the folder in which it runs.
run_tests() { (cd "$headers" && "$tests" "$@"); }

# Runs tests, and keeps their output for the count at the end.
: >"$work/tests.log"
counted() {
    { run_tests "$@" && : >"$work/passed"; } 2>&1 | tee -a "$work/tests.log"
    rm "$work/passed" 2>/dev/null || status=1
}

if [ $# -gt 0 ]; then
    run_tests "$@" --include-ignored
    exit
fi

# First the tests that can run in parallel; then, one at a time, the ignored tests and those that capture a stream. All
# tests share a context, and it is an error to synchronise a context while one of its streams is captured, which cudarc
# does when it creates the first stream.
skip=
for name in $excluded; do skip="$skip --skip $name"; done
capturing=$(run_tests driver:: --list --format terse | sed -n 's/: test$//p' | grep -E 'capture|::graph::')
for name in $capturing; do skip="$skip --skip $name"; done
# shellcheck disable=SC2086 # the names are words
counted driver:: $skip
for name in $capturing; do
    is_excluded "$name" || counted --exact "$name"
done
for name in $(run_tests driver:: --list --ignored --format terse | sed -n 's/: test$//p'); do
    is_excluded "$name" || counted --exact "$name" --ignored
done

names=
for path in "$source"/examples/[0-9]*.rs "$source"/examples/matmul-kernel.rs; do
    name=$(basename "$path" .rs)
    is_excluded "$name" || names="$names $name"
done
# shellcheck disable=SC2046,SC2086 # the names are words
build build $(printf ' --example %s' $names)
passed=0
failed=0
for name in $names; do
    if (cd "$source" && "$work/target/debug/examples/$name") \
        >"$work/$name.log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        status=1
        echo "example $name failed:"
        tail -n 20 "$work/$name.log"
    fi
done
sed -n 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed;.*/\1 \2/p' "$work/tests.log" |
    awk -v name="cudarc $version: driver tests:" \
        '{ passed += $1; failed += $2 } END { print name, passed " passed,", failed " failed" }'
echo "cudarc $version: examples: $passed passed, $failed failed"
echo "excluded: $(printf '%s\n' "$excluded" | wc -l) (crates/emulated-gpu/scripts/cudarc-tests.excluded has the reasons)"
exit $status
