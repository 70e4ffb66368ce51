#!/bin/sh
# Regenerates reference/dumps: level 1 draws the inputs and parameters of each fixture, and PyTorch computes one training
# step from them in float64, and three steps for each loss, the last with a smaller batch. It also regenerates
# reference/ddp with PyTorch's DistributedDataParallel on 2 and 4 ranks. Needs a Python with numpy and torch:
#
#     PYTHON=.venv/bin/python scripts/make-reference-dumps.sh
#
# Results are rounded to 12 digits, 1/10,000 of float32's rounding. All files except `softmax.json`, which is meant for
# reading, are compressed. The same versions of Rust, PyTorch and this repository make the same bytes again. PyTorch uses
# one thread, because the order in which threads add would show in the last digits.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
dumps=reference/dumps
inputs=$(mktemp -d)
trap 'rm -rf "$inputs"' EXIT
mkdir -p "$dumps"
# make NAME OPTIONS-OF-LEVEL-1...
make() {
    name=$1
    shift
    cargo run -q -p level1-cpu -- dump "$@" --inputs-only --out "$inputs/$name.json"
    case $name in
        softmax) end=json ;;
        *) end=json.gz ;;
    esac
    "$python" reference/pytorch_mlp.py dump --dtype f64 --threads 1 --digits 12 \
        --inputs "$inputs/$name.json" --out "$dumps/$name.$end"
}
for fixture in $("$python" reference/presets.py --fixtures); do
    make "$fixture" --preset "$fixture"
done
for fixture in softmax bce squared-error; do
    make "$fixture-steps" --preset "$fixture" --sizes 196-16-10 --batch-size 8 --samples 20 --steps 3
done
# Several ranks: batches that divide evenly and that don't, and a rank without samples.
mkdir -p reference/ddp
# parallel NAME RANKS OPTIONS-OF-LEVEL-1...
parallel() {
    name=$1
    ranks=$2
    shift 2
    cargo run -q -p level1-cpu -- dump "$@" --inputs-only --out "$inputs/$name.json"
    "$python" reference/pytorch_ddp.py dump --ranks "$ranks" --digits 12 \
        --inputs "$inputs/$name.json" --out "reference/ddp/$name-$ranks.json.gz"
}
for ranks in 2 4; do
    parallel softmax "$ranks" --preset softmax --sizes 196-16-10 --batch-size 8
    parallel bce "$ranks" --preset bce --sizes 196-16-10 --batch-size 7
    parallel squared-error "$ranks" --preset squared-error --sizes 196-16-10 --batch-size 3
    parallel three-layer "$ranks" --preset three-layer --sizes 49-16-12-10 --batch-size 6
done
