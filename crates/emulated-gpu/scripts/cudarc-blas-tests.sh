#!/bin/sh
# Runs the cuBLAS, cuBLASLt and NCCL tests of cudarc, as published and unmodified, on the emulated
# libraries. Needs the network or a filled cargo registry.
#
#     crates/emulated-gpu/scripts/cudarc-blas-tests.sh            all tests
#     crates/emulated-gpu/scripts/cudarc-blas-tests.sh NAME …     only the tests whose names contain one of these
set -eu
cd "$(dirname "$0")/../../.."
root=$PWD
# The script reruns itself under `emulate`, which builds the emulated driver.
if [ -z "${CUDARC_TESTS_EMULATED:-}" ]; then
    CUDARC_TESTS_EMULATED=1 EMULATED_GPU_DEVICES=2 exec crates/emulated-gpu/emulate crates/emulated-gpu/scripts/cudarc-blas-tests.sh "$@"
fi
# cuBLAS 12.5 introduced grouped products, and cudarc's tests do not compile without nvrtc. The features are those of
# crates/emulated-gpu/scripts/cudarc-tests.sh, so that both share the test program.
features=std,driver,nvrtc,cublas,cublaslt,nccl,f16,dynamic-loading,cuda-12090
export CARGO_PROFILE_DEV_DEBUG=0
work=$root/target/cudarc-tests
target=${CARGO_TARGET_DIR:-$root/target}
mkdir -p "$work/blas"

crates/emulated-gpu/scripts/build.sh --locked --package emulated-cublas --package emulated-cublaslt \
    --package emulated-nccl
ln -sfn "$target/debug/libemulated_cublas.so" "$work/blas/libcublas.so"
ln -sfn "$target/debug/libemulated_cublaslt.so" "$work/blas/libcublasLt.so"
ln -sfn "$target/debug/libemulated_nccl.so" "$work/blas/libnccl.so"
LD_LIBRARY_PATH=$work/blas${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

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

build() {
    cargo test --quiet --manifest-path "$work/Cargo.toml" --target-dir "$work/target" \
        --package cudarc --no-default-features --features "$features" --lib --no-run "$@"
}
build
tests=$(build --message-format json |
    sed -n 's/.*"target":{[^}]*"name":"cudarc".*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)

# The tests of cuBLASLt leave log files in the folder in which they run.
cd "$work"
if [ $# -gt 0 ]; then
    exec "$tests" "$@"
fi
"$tests" cublas:: cublaslt::
# One test at a time: all of them queue collectives on the default streams of the same two devices. If two communicators
# do that in different orders, both wait forever, as with NVIDIA's NCCL.
"$tests" nccl:: --test-threads=1
