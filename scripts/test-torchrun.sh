#!/bin/sh
# Test of level 3 under PyTorch's torchrun with four ranks, both if its agent listens at MASTER_PORT itself and if it
# doesn't. The ranks have to train to the same bits as four threads, their dumps have to agree with PyTorch's, and if one
# rank is killed, all have to end. Needs a Python with torch:
#
#     PYTHON=.venv/bin/python scripts/test-torchrun.sh
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
"$python" -c 'import torch.distributed.run' || {
    echo "error: $python has no torch: set PYTHON to a Python that has it" >&2
    exit 2
}
crates/emulated-gpu/scripts/build.sh -p level3-cublas -p tensor-diff
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
level3=target/debug/level3-cublas
export OMP_NUM_THREADS=1 EMULATED_GPU_MEMORY=256M
# Without lists in --redirects and --tee, PyTorch 1.13 on Python 3.11 starts nothing. With these, the output of rank 0 is
# shown and kept.
torchrun() {
    "$python" -m torch.distributed.run --nproc_per_node 4 --redirects 0:1 --tee 0:1 \
        --log_dir "$folder/logs" --no_python "$@"
}
fail() {
    echo "test-torchrun: $1" >&2
    cat "$folder"/*.log >&2
    exit 1
}
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(min(s.getsockname()[1], 65000))')

# Twelve batches prove as much as an epoch.
set -- --device emulated --data digits --samples 3072 --save
"$level3" --gpus 4 "$@" "$folder/threads" >"$folder/threads.log" 2>&1 || fail "four threads"
for way in "--master_addr 127.0.0.1 --master_port $port" "--standalone"; do
    rm -f "$folder/processes"
    # shellcheck disable=SC2086
    torchrun $way "$level3" --distributed --wait 60 "$@" "$folder/processes" \
        >"$folder/processes.log" 2>&1 || fail "training with $way"
    cmp "$folder/threads" "$folder/processes" || fail "the parameters differ with $way"
    grep 'test accuracy' "$folder/processes.log"
done

torchrun --standalone "$level3" dump --distributed --wait 60 --device emulated --preset bce \
    --out "$folder/bce.json" >"$folder/dump.log" 2>&1 || fail "a dump"
target/debug/tensor-diff reference/dumps/bce.json "$folder"/bce.rank*.json >"$folder/diff.log" || fail "the dump differs from PyTorch's"
head -n 1 "$folder/diff.log"

# If a rank is killed, torchrun and all ranks end with an error.
torchrun --standalone "$level3" --distributed --wait 60 --device emulated --data digits \
    --epochs 100000 --report-every 10 --save "$folder/never" >"$folder/killed.log" 2>&1 &
agent=$!
tries=0
until grep -q 'batch .* loss' "$folder/killed.log"; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || fail "no rank has trained a batch"
    sleep 0.1
done
ours() {
    pgrep -f "$level3 --distributed .*$folder/never" || true
}
# shellcheck disable=SC2016 # expanded by that shell
rank=$(ours | xargs -r -n 1 sh -c 'tr "\0" "\n" <"/proc/$0/environ" | grep -qx RANK=2 && echo "$0"' || true)
[ -n "$rank" ] || fail "rank 2 is not found"
kill -9 "$rank"
if wait "$agent"; then
    fail "torchrun reported success although a rank was killed"
fi
grep -q 'rank 2 is gone: its process has ended' "$folder/killed.log" || fail "no rank reported that rank 2 is gone"
left=$(ours)
[ -z "$left" ] || fail "processes are still running: $left"
echo "four ranks of torchrun train to the bits of four threads, and end with one that is killed"
