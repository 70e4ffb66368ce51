#!/bin/sh
# Random kernels, compiled by cuda-c and by NVRTC, run on the emulator: the results have to be the same.
# All in one process; every file is made of its number alone, and what differs is kept, made small.
# Of four files one is compiled with contraction and NVRTC's optimiser, three without either.
#
#     pip install --target wheels nvidia-cuda-nvrtc-cu12
#     CUDA_WHEELS=wheels crates/emulated-gpu/scripts/fuzz-cuda-c.sh [--seed 1] [--seconds 60] [--kernels 40] [--keep FOLDER]
#     crates/emulated-gpu/scripts/fuzz-cuda-c.sh --texts [--seed 1] [--seconds 60]
#
# With `--texts` there is no NVRTC: texts that are nearly programs may neither panic nor take for ever.
# Needs no GPU. Exits with 1 if there were any that differ.
set -eu
cd "$(dirname "$0")/../../.."
exec cargo run -q -p cuda-c --example fuzz -- "$@"
