#!/bin/sh
# Reruns the commands whose output the book shows, and updates book/outputs.
# Without arguments it runs all of them, otherwise those whose names begin with one: scripts/book-outputs.sh gradient-check
# scripts/measure-book.sh runs those that measure time.
set -eu
cd "$(dirname "$0")/.."
cargo run -q -p book-check -- outputs "$@"
cargo run -q -p book-check -- levels
# The sheet of digits on the page about setting up, and the curve on the page about level 1's phases: the runs shown there
# have drawn them.
if [ -f target/plots/training.svg ]; then
    cp target/plots/training.svg book/src/pictures/digits.svg
    cp target/plots/curve.svg book/src/pictures/curve.svg
fi
# The roofline of level 4's ladder.
if [ -f target/level4-roofline.svg ]; then
    cp target/level4-roofline.svg book/src/pictures/level4-roofline.svg
fi
