#!/bin/sh
# Builds level 4's example that uses the crate cust in place of cudarc, runs it on the emulated GPU, and compares a step
# of seven fixtures with the references.
#
# cust links to libcuda.so, and its build script panics if it can't find one, so CUDA_LIBRARY_PATH names a folder whose
# lib64 has the emulated driver.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
crates/emulated-gpu/scripts/build.sh --target-dir "$target" --package emulated-cuda
folder=$target/cust
mkdir -p "$folder/lib64"
for name in libcuda.so libcuda.so.1; do
    ln -sfn "$target/debug/libemulated_cuda.so" "$folder/lib64/$name"
done
export CUDA_LIBRARY_PATH="$folder"
# --workspace builds all packages with the features that the workspace's other builds use.
cargo build --target-dir "$target" --workspace --features level4-ptx/cust "$@" --example cust --bin tensor-diff
export LD_LIBRARY_PATH="$folder/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
for fixture in softmax bce squared-error three-layer wide single batch-37; do
    "$target/debug/examples/cust" dump --preset "$fixture" --out "$folder/$fixture.json"
    "$target/debug/tensor-diff" reference/dumps/"$fixture".json* "$folder/$fixture.json"
done
