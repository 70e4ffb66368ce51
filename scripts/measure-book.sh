#!/bin/sh
# Measures again every time and speed that the book and the README state, one after the other, so that all of
# them are of one machine in one state. Wants MNIST in MNIST_DIR, a python3 with PyTorch, a machine that does
# nothing else, and the better part of an hour.
set -eu
cd "$(dirname "$0")/.."
: "${MNIST_DIR:?name the folder of MNIST}"
scripts/compare-speed.py --table book/outputs/speed.md
# Their names end in `slow`, but for one short training.
set -- train-small.
for output in book/outputs/*.slow.txt; do
    set -- "$@" "$(basename "$output" .txt)"
done
scripts/book-outputs.sh "$@"
