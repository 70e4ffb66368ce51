#!/bin/sh
# Runs the commands whose output the book shows, and writes what they print now to book/outputs and, where the
# README repeats it, to the README.
# All of them, or those whose names begin with an argument: scripts/book-outputs.sh gradient-check
# Those that measure time: scripts/measure-book.sh
set -eu
cd "$(dirname "$0")/.."
cargo run -q -p book-check -- outputs "$@"
cargo run -q -p book-check -- readme
# The sheet of digits that the page on setting up shows, and the curve of the page on level 1's phases,
# as the run shown there wrote them.
if [ -f target/plots/training.svg ]; then
    cp target/plots/training.svg book/src/pictures/digits.svg
    cp target/plots/curve.svg book/src/pictures/curve.svg
fi
# The roofline of level 4's ladder.
if [ -f target/level4-roofline.svg ]; then
    cp target/level4-roofline.svg book/src/pictures/level4-roofline.svg
fi
