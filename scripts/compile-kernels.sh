#!/bin/sh
# Compiles kernels/*.cu to the PTX that is kept beside each, where it is not of the source as it
# is. Needs NVRTC 12.x, and no GPU:
#
#     python3 -m venv .venv && . .venv/bin/activate && pip install nvidia-cuda-nvrtc-cu12
#     scripts/compile-kernels.sh
#
# What includes headers wants nvidia-cuda-runtime-cu12 and nvidia-cuda-nvcc-cu12, where they are. nvcc of
# CUDA 12 does for all. FOUR_LEVELS_NVRTC names the library where it is not found.
set -eu
cd "$(dirname "$0")/.."
exec cargo run -q -p gpu --example compile-kernels -- "$@"
