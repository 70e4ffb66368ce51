#!/usr/bin/env bash
# Checks that the workspace compiles with the oldest supported Rust, `rust-version` in Cargo.toml.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
rustup toolchain install "$version" --profile minimal --no-self-update
export CARGO_TARGET_DIR=target/msrv
cargo "+$version" check --workspace --all-targets --locked
