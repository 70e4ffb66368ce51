#!/bin/sh
# Compiles kernels/*.cu to the PTX that is committed next to each, if that is out of date. Needs NVRTC 12.x but no GPU:
#
#     python3 -m venv .venv && . .venv/bin/activate && pip install nvidia-cuda-nvrtc-cu12
#     scripts/compile-kernels.sh
#
# Kernels that include headers need nvidia-cuda-runtime-cu12 and nvidia-cuda-nvcc-cu12, which contain them. CUDA 12's nvcc
# works for all kernels. FOUR_LEVELS_NVRTC names the library if it is not found.
set -eu
cd "$(dirname "$0")/.."
exec cargo run -q -p gpu --example compile-kernels -- "$@"
