#!/bin/sh
# Runs `cargo build` with these options. If WORKSPACE_BUILT is set, as .ci/run does after building everything in the dev
# profile, it is a no-op for that profile: cargo would build a few packages with fewer features of their dependencies, and
# so recompile most of them.
case "$*" in *"--profile dev"*) ;; *--profile*) WORKSPACE_BUILT= ;; esac
[ -n "${WORKSPACE_BUILT:-}" ] || exec cargo build --quiet "$@"
