#!/bin/sh
# Compiles random kernels with cuda-c and with NVRTC, runs both on the emulator, and compares the results.
# Everything runs in one process. A file is generated from its number. A file with different results is minimised and
# kept. One in four files is compiled with contraction and NVRTC's optimiser, the others without either.
#
#     pip install --target wheels nvidia-cuda-nvrtc-cu12
#     CUDA_WHEELS=wheels crates/emulated-gpu/scripts/fuzz-cuda-c.sh [--seed 1] [--seconds 60] [--kernels 40] [--keep FOLDER]
#     crates/emulated-gpu/scripts/fuzz-cuda-c.sh --texts [--seed 1] [--seconds 60]
#
# `--texts` compiles near-miss programs with cuda-c, which may neither panic nor hang; it doesn't need NVRTC.
# Needs no GPU. Exits with 1 if any result differs.
set -eu
cd "$(dirname "$0")/../../.."
exec cargo run -q -p cuda-c --example fuzz -- "$@"
