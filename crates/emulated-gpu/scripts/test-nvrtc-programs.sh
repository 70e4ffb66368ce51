#!/bin/sh
# Compiles the CUDA programs of the emulator's tests with NVIDIA's NVRTC, with default options, with fast mathematics, with
# line information and for a debugger (-G), and runs each result with and without every sanitizer. Some of these programs'
# PTX is also committed.
#
#     crates/emulated-gpu/scripts/test-nvrtc-programs.sh               all architectures
#     crates/emulated-gpu/scripts/test-nvrtc-programs.sh 80 90         these
#
# Needs Python, and in CUDA_WHEELS a folder with the wheels of NVRTC, of CUDA's runtime and of CCCL:
#   pip install --target DIR nvidia-cuda-nvrtc-cu12==12.9.* nvidia-cuda-runtime-cu12==12.9.* \
#       nvidia-cuda-cccl-cu12==12.9.*
set -eu
cd "$(dirname "$0")/../../.."
if [ -z "${CUDA_WHEELS:-}" ]; then
    echo 'error: CUDA_WHEELS does not name a folder with NVRTC: the head of this file explains how to fill one' >&2
    exit 2
fi
PROGRAMS=$(mktemp -d)
trap 'rm -rf "$PROGRAMS"' EXIT
export PROGRAMS
python3 crates/emulated-gpu/ptx-emulator/tests/programs/compile.py "$CUDA_WHEELS" "$PROGRAMS" "$@"
echo "$(find "$PROGRAMS" -name '*.ptx' | wc -l) texts"
# With the features that the whole workspace's tests use, so that it is already built.
cargo test --locked --workspace --test isa -- programs::
