#!/bin/sh
# Builds NVIDIA's test program of NCCL, nccl-tests, unmodified, and runs it on the emulated GPU:
#
#     crates/emulated-gpu/scripts/test-nccl-tests.sh FOLDER [PROGRAM …]
#
# FOLDER has nccl-tests' sources (such as a clone of github.com/NVIDIA/nccl-tests). All of its programs (all_reduce,
# all_gather, …), or the named ones, run with 2 and with 4 devices, all types, all operations and all roots, and check
# their results. A table lists the numbers of checked results and of wrong elements; a failure leads to exit code 1. The
# output of each run is kept in target/nccl-tests.
#
# NVCC names the nvcc of an installed CUDA; otherwise nvcc 13 and its dependencies are installed from PyPI into
# target/nccl-tests (about 300 MB). NCCL_HEADER is the version of NCCL's header (default: 2.24.3, whose functions the
# emulated NCCL has). Sources of nccl-tests from before 2025 do not know that version's types and need 2.23.4. SIZES has
# the options for sizes (default: `-b 8 -e 64K -f 8`), and RANKS the numbers of devices (default: `2 4`).
set -eu
[ $# -ge 1 ] && [ -f "$1/src/common.cu" ] && [ -f "$1/verifiable/verifiable.cu" ] || {
    echo "usage: crates/emulated-gpu/scripts/test-nccl-tests.sh FOLDER [PROGRAM …]" >&2
    echo "FOLDER has to contain src/common.cu and verifiable/verifiable.cu of nccl-tests" >&2
    exit 2
}
sources=$(cd "$1" && pwd)
shift
root=$(cd "$(dirname "$0")/../../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
work=$target/nccl-tests
python=$work/python
header=${NCCL_HEADER:-2.24.3}
mkdir -p "$work/build" "$work/lib" "$work/output"

export PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
wheels() {
    python3 -m pip install --quiet --no-deps --upgrade --target "$python" "$@"
}
nccl=$work/nccl-$header
[ -f "$nccl/nvidia/nccl/include/nccl.h" ] ||
    python3 -m pip install --quiet --no-deps --target "$nccl" "nvidia-nccl-cu12==$header"
include="-I$nccl/nvidia/nccl/include"
if [ -z "${NVCC:-}" ]; then
    cuda=$python/nvidia/cu13
    [ -x "$cuda/bin/nvcc" ] && [ -f "$cuda/include/nv/target" ] || wheels nvidia-cuda-nvcc==13.* \
        nvidia-nvvm==13.* nvidia-cuda-crt==13.* nvidia-cuda-runtime==13.* nvidia-cuda-cccl==13.*
    NVCC=$cuda/bin/nvcc
    ln -sfn "$cuda/lib/libcudart.so.13" "$work/lib/libcudart.so"
fi
# Builds the libraries, and prints where they are.
# shellcheck disable=SC2016 # expanded by that shell
links=$("$root/crates/emulated-gpu/emulate" sh -c 'echo "${LD_LIBRARY_PATH%%:*}"')

compile() {
    object=$work/build/$(basename "$1").o
    # Skips an object that is up to date and was built with the same tools.
    [ -f "$object" ] && [ "$(cat "$object.with" 2>/dev/null)" = "$1 $NVCC $header" ] &&
        [ -z "$(find "$sources/src" "$sources/verifiable" -newer "$object" -type f)" ] && return
    echo "compiling $1" >&2
    "$NVCC" -std=c++17 -O3 -DNCCL_OS_LINUX -cudart shared -gencode arch=compute_90,code=compute_90 \
        "$include" -I"$sources/src" -c "$1" -o "$object"
    echo "$1 $NVCC $header" >"$object.with"
}
objects=
for file in "$sources"/src/common.cu "$sources"/src/util.cu "$sources"/src/*.cc \
    "$sources"/verifiable/verifiable.cu; do
    [ -f "$file" ] || continue
    compile "$file"
    objects="$objects $work/build/$(basename "$file").o"
done

[ $# -gt 0 ] || set -- all_reduce all_gather broadcast reduce reduce_scatter sendrecv alltoall gather \
    scatter hypercube
failed=0
printf '%-16s %8s %16s %16s  %s\n' program devices "results checked" "wrong elements" outcome
for program in "$@"; do
    [ -f "$sources/src/$program.cu" ] || continue
    compile "$sources/src/$program.cu"
    # Paths of folders may have spaces, so they are quoted; the list of objects is split on purpose.
    # shellcheck disable=SC2086
    "$NVCC" -cudart shared -L"$work/lib" -L"$links" -o "$work/build/${program}_perf" \
        "$work/build/$program.cu.o" $objects -lnccl -lpthread -lrt
    for ranks in ${RANKS:-2 4}; do
        output=$work/output/$program-$ranks.txt
        outcome=passed
        # shellcheck disable=SC2086
        LD_LIBRARY_PATH=$links EMULATED_GPU_DEVICES=$ranks "$work/build/${program}_perf" -g "$ranks" \
            ${SIZES:--b 8 -e 64K -f 8} -n 1 -w 1 -c 1 -d all -o all -r -1 >"$output" 2>&1 ||
            outcome="failed: $output"
        # A row ends in time, two bandwidths and #wrong, twice: out of place and in place.
        counts=$(awk '$1 ~ /^[0-9]+$/ && NF >= 12 {
            for (at = NF - 4; at <= NF; at += 4) if ($at != "N/A") { checked++; wrong += $at }
        } END { print checked + 0, wrong + 0 }' "$output")
        [ "${counts#* }" = 0 ] && [ "${counts% *}" != 0 ] ||
            { [ "$outcome" = passed ] && outcome="failed: $output"; }
        [ "$outcome" = passed ] || failed=1
        printf '%-16s %8s %16s %16s  %s\n' "$program" "$ranks" "${counts% *}" "${counts#* }" "$outcome"
    done
done
exit $failed
