#!/usr/bin/env bash
# The quick tests, for use while editing: formatting, lints of the default members, their unit tests, and the tests
# of the four levels. Less than 5 minutes once everything is built. `.ci/run` has all checks for landing a change.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all --check
cargo clippy --locked --all-targets -- -D warnings
# All default members, as with `cargo test`, so that both use the same features and share compiled crates.
cargo test --locked --lib --test level1 --test level2 --test level3 --test level4
