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
# The picture of a comparison's page, on the page about comparing and in the README: the top of a page that a session wrote.
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -f target/planted-bug.html ] && [ -n "$browser" ]; then
    profile=$(mktemp -d)
    "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$profile" \
        --window-size=1100,1055 --virtual-time-budget=5000 --screenshot=book/src/pictures/planted.png "file://$PWD/target/planted-bug.html"
    rm -rf "$profile"
fi
