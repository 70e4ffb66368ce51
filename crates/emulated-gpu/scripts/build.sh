#!/bin/sh
# `cargo build` with these options; where WORKSPACE_BUILT is set, as .ci/run does once everything is
# built, nothing. A few packages alone have fewer features of what others wrote than all together, so
# that cargo would build most of that, and what stands on it, once more.
#
# The profile that is built then is dev.
case "$*" in *"--profile dev"*) ;; *--profile*) WORKSPACE_BUILT= ;; esac
[ -n "${WORKSPACE_BUILT:-}" ] || exec cargo build --quiet "$@"
