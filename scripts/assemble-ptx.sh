#!/bin/sh
# Assembles hand-written PTX with NVIDIA's ptxas: ptx/*.ptx, the corrected twins of ptx/gallery, and the frames and
# solutions of the puzzles. It uses every architecture that ptxas knows, from sm_52 or the file's own target on. Warnings
# are errors. Needs no GPU:
#
#     python3 -m venv .venv && .venv/bin/pip install nvidia-cuda-nvcc-cu12
#     scripts/assemble-ptx.sh
#
# PTXAS names the program if it is not on the PATH, in a toolkit or in .venv. Prints the resources that each kernel needs
# on each architecture.
set -eu
cd "$(dirname "$0")/.."

# `--for sm_90 FOLDER`: one architecture, for the files in the folder's list.
if [ "${1:-}" = --for ]; then
    architecture=$2 out=$3
    failed=0
    while read -r least file; do
        # Files that need a newer architecture are skipped.
        [ "${architecture#sm_}" -ge "$least" ] || continue
        if ! "$PTXAS" -arch="$architecture" -v --warning-as-error "$file" \
            -o "$out/$architecture.cubin" >"$out/$architecture.log" 2>&1; then
            echo "$architecture: ptxas rejects $file:"
            cat "$out/$architecture.log"
            failed=1
            continue
        fi
        case $file in ptx/gallery/* | crates/*) continue ;; esac
        awk -v arch="$architecture" -v file="$file" '
            /Compiling entry/ { gsub("\047", ""); for (i = 1; i < NF; i++) if ($i == "function") name = $(i + 1) }
            /Used/ { sub(/^.*: Used/, "used"); printf "%-7s %-26s %-17s %s\n", arch, file, name, $0 }
        ' "$out/$architecture.log"
    done <"$out/list" >"$out/$architecture.txt"
    exit $failed
fi

find_ptxas() {
    if [ -n "${PTXAS:-}" ]; then
        echo "$PTXAS"
        return
    fi
    command -v ptxas && return
    for folder in "${CUDA_PATH:-}" "${CUDA_HOME:-}" /usr/local/cuda \
        "${VIRTUAL_ENV:-.venv}"/lib/python3*/site-packages/nvidia/* \
        .venv/lib/python3*/site-packages/nvidia/*; do
        if [ -x "$folder/bin/ptxas" ]; then
            echo "$folder/bin/ptxas"
            return
        fi
    done
    echo "error: can't find ptxas: pip install nvidia-cuda-nvcc-cu12 into .venv, or set PTXAS" >&2
    exit 2
}

ptxas=$(find_ptxas)
"$ptxas" --version | tail -n 2 | head -n 1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for file in ptx/*.ptx ptx/gallery/*_fixed.ptx ptx/gallery/unwritten_gradients.ptx \
    crates/puzzles/src/list/*/*.ptx; do
    least=$(sed -n 's/^\.target sm_\([0-9]*\).*/\1/p' "$file")
    echo "${least:-0} $file"
done >"$out/list"
architectures=$("$ptxas" --help | grep -o "'sm_[0-9]*'" | tr -d "'" | sort -u -t _ -k 2 -n |
    awk -F _ '$2 >= 52')
failed=0
echo "$architectures" |
    PTXAS=$ptxas xargs -P "$(getconf _NPROCESSORS_ONLN)" -I {} scripts/assemble-ptx.sh --for {} "$out" || failed=1
for architecture in $architectures; do
    cat "$out/$architecture.txt"
done
[ "$failed" = 0 ] || exit 1
