#!/bin/sh
# Assembles the hand-written PTX, ptx/*.ptx, the corrected twins of ptx/gallery, and the frames and
# solutions of the puzzles, with NVIDIA's ptxas, for every architecture from sm_52, or from the file's own target, on that it
# knows. A warning is an error. Needs no GPU:
#
#     python3 -m venv .venv && .venv/bin/pip install nvidia-cuda-nvcc-cu12
#     scripts/assemble-ptx.sh
#
# PTXAS names the program where it is not on the PATH, in a toolkit or in .venv. Prints what each
# kernel takes of the device, on each architecture.
set -eu
cd "$(dirname "$0")/.."

# `--for sm_90 FOLDER`: one architecture, of the files that the folder's list has.
if [ "${1:-}" = --for ]; then
    architecture=$2 out=$3
    failed=0
    while read -r least file; do
        # What needs a newer one says so.
        [ "${architecture#sm_}" -ge "$least" ] || continue
        if ! "$PTXAS" -arch="$architecture" -v --warning-as-error "$file" \
            -o "$out/$architecture.cubin" >"$out/$architecture.log" 2>&1; then
            echo "$architecture $file is refused:"
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
    echo "error: ptxas is not found: pip install nvidia-cuda-nvcc-cu12 into .venv, or set PTXAS" >&2
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
