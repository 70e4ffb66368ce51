#!/bin/sh
# Builds the book and checks the pages: nothing comes from the network, no link leads nowhere, no
# block of code is empty. Needs mdbook and mdbook-katex, see the book's own page on setting up.
set -eu
cd "$(dirname "$0")/.."
crates/emulated-gpu/scripts/build.sh -p book-check
check=${CARGO_TARGET_DIR:-target}/debug/book-check
mdbook build book
"$check" finish
"$check" html
