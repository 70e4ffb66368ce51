#!/bin/sh
# Repeats all measurements of time and speed in the book, one after the other, so that all of them come
# from one machine in one state. Needs MNIST in MNIST_DIR, a python3 with PyTorch, an idle machine, and nearly an hour.
set -eu
cd "$(dirname "$0")/.."
: "${MNIST_DIR:?set it to the folder with MNIST}"
scripts/compare-speed.py --table book/outputs/speed.md
# All their names end in `slow`, except that of one short training.
set -- train-small.
for output in book/outputs/*.slow.txt; do
    set -- "$@" "$(basename "$output" .txt)"
done
scripts/book-outputs.sh "$@"
