#!/bin/sh
# Runs NVIDIA's own Python bindings of NCCL, unmodified, on the emulated NCCL and driver: three processes, with every
# operation compared with NumPy. Unlike NVIDIA's nccl-tests, they need no CUDA runtime. The script makes a virtual
# environment for them below target, once, from PyPI:
#
#     PYTHON=python3 crates/emulated-gpu/scripts/nccl-python-tests.sh
set -eu
cd "$(dirname "$0")/../../.."
environment=target/nccl-python
wheels="nccl4py==0.6.0 cuda-core==1.* cuda-bindings==12.9.* numpy"
if [ "$(cat "$environment/wheels" 2>/dev/null)" != "$wheels" ]; then
    rm -rf "$environment"
    "${PYTHON:-/usr/bin/python3}" -m venv "$environment"
    # shellcheck disable=SC2086
    "$environment/bin/pip" install --quiet --disable-pip-version-check $wheels
    echo "$wheels" >"$environment/wheels"
fi
# Every rank also prints the errors that the test causes on purpose.
log=target/nccl-python.log
EMULATED_GPU_MEMORY=256M crates/emulated-gpu/emulate "$environment/bin/python" crates/emulated-gpu/scripts/nccl-python-tests.py \
    2>"$log" || { cat "$log" >&2; exit 1; }
