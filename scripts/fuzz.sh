#!/bin/sh
# Coverage-guided fuzzing of the readers of files (dumps, models, data sets, pictures): the target `readers` of
# crates/fuzz-targets. Arguments are those of crates/emulated-gpu/scripts/fuzz.sh, which does the work.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
FUZZ=$root/crates/fuzz-targets/fuzz exec "$root/crates/emulated-gpu/scripts/fuzz.sh" "$@"
