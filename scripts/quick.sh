#!/usr/bin/env bash
# The quick tests, for use while editing: formatting, lints of the default members, their unit tests, and the tests
# of the four levels. Less than 5 minutes once everything is built. `.ci/run` is what has to hold before a
# change lands.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all --check
cargo clippy --locked --all-targets -- -D warnings
# The features of all default members, as `cargo test` has them, so that both share what is built.
cargo test --locked --lib --test level1 --test level2 --test level3 --test level4
