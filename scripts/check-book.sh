#!/bin/sh
# Builds the book and checks its pages: no file from the network, no dead link, no empty block of code. Needs mdbook and
# mdbook-katex, see the book's page on setting up.
set -eu
cd "$(dirname "$0")/.."
crates/emulated-gpu/scripts/build.sh -p book-check
check=${CARGO_TARGET_DIR:-target}/debug/book-check
mdbook build book
"$check" finish
"$check" html
