#!/bin/sh
# Compiles every kernel of the project, including those of the book and the puzzles, with cuda-c, for old and new
# architectures, with and without contraction, and checks that NVIDIA's assembler accepts the PTX. Needs `ptxas` (from the
# CUDA toolkit, or `pip install nvidia-cuda-nvcc-cu12`) but no GPU. PTXAS names it if it is not on the PATH.
set -eu
cd "$(dirname "$0")/.."
ptxas=${PTXAS:-ptxas}
command -v "$ptxas" >/dev/null || {
    echo "error: can't find ptxas: pip install nvidia-cuda-nvcc-cu12, or set PTXAS" >&2
    exit 2
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cargo build -q -p cuda-c
for source in kernels/*.cu kernels/*/*.cu book/kernels/*.cu crates/puzzles/src/list/*/*.cu; do
    # Tensor cores came with 7.0, and TF32 with 8.0.
    archs="50 80 90"
    ! grep -q '^ *#include <mma.h>' "$source" || archs="80 90"
    for arch in $archs; do
        for fmad in true false; do
            "${CARGO_TARGET_DIR:-target}/debug/cuda-c" "$source" --arch "$arch" --fmad "$fmad" --out "$folder/kernel.ptx"
            "$ptxas" -arch="sm_$arch" "$folder/kernel.ptx" -o "$folder/kernel.cubin" || {
                echo "error: ptxas rejects the PTX of $source for sm_$arch" >&2
                exit 1
            }
        done
    done
    echo "$source"
done
