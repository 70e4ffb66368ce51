#!/bin/sh
# PyTorch's own torchrun starts level 3 as four ranks, as it starts PyTorch's programs: where its agent
# listens at MASTER_PORT itself, and where it doesn't. They train to the bits of four threads, dump
# what PyTorch has computed, and when one of them is killed, none is left. Needs a Python with torch:
#
#     PYTHON=.venv/bin/python scripts/test-torchrun.sh
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
"$python" -c 'import torch.distributed.run' || {
    echo "no torch in $python: name one that has it in PYTHON" >&2
    exit 2
}
crates/emulated-gpu/scripts/build.sh -p level3-cublas -p tensor-diff
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
level3=target/debug/level3-cublas
# What the agents talk about is no result.
export OMP_NUM_THREADS=1 EMULATED_GPU_MEMORY=256M
# Without a list in --redirects and --tee, PyTorch 1.13 on Python 3.11 starts nothing; this one shows
# what rank 0 says, and keeps it.
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

# Twelve batches: their bits are as equal as those of an epoch.
set -- --device emulated --data digits --samples 3072 --save
"$level3" --gpus 4 "$@" "$folder/threads" >"$folder/threads.log" 2>&1 || fail "four threads"
for way in "--master_addr 127.0.0.1 --master_port $port" "--standalone"; do
    rm -f "$folder/processes"
    # The words of a way are arguments.
    # shellcheck disable=SC2086
    torchrun $way "$level3" --distributed --wait 60 "$@" "$folder/processes" \
        >"$folder/processes.log" 2>&1 || fail "training with $way"
    cmp "$folder/threads" "$folder/processes" || fail "other parameters with $way"
    grep 'test accuracy' "$folder/processes.log"
done

torchrun --standalone "$level3" dump --distributed --wait 60 --device emulated --preset bce \
    --out "$folder/bce.json" >"$folder/dump.log" 2>&1 || fail "a dump"
target/debug/tensor-diff reference/dumps/bce.json "$folder"/bce.rank*.json >"$folder/diff.log" || fail "another dump than PyTorch's"
head -n 1 "$folder/diff.log"

# One of them is killed: torchrun ends with an error, and all ranks do.
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
    fail "torchrun took the end of a rank for success"
fi
grep -q 'rank 2 is gone: its process has ended' "$folder/killed.log" || fail "nobody said which is gone"
left=$(ours)
[ -z "$left" ] || fail "processes are left: $left"
echo "four ranks of torchrun train to the bits of four threads, and end with one that is killed"
