#!/bin/sh
# Prepares a container of Debian 13 for the workflows: a C compiler, Python, and Rust in the version that
# rust-toolchain.toml names.
set -eu
cd "$(dirname "$0")/.."
apt-get update --quiet=2
apt-get install --yes --quiet=2 --no-install-recommends build-essential curl pkg-config python3-venv rustup
channel=$(sed -n 's/^channel = "\(.*\)"$/\1/p' rust-toolchain.toml)
rustup toolchain install "$channel" --profile minimal --component clippy --component rustfmt
git config --global --add safe.directory "$PWD"
