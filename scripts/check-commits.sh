#!/usr/bin/env bash
# Checks the subjects of new commits: `area: imperative`, at most 72 characters. New are those that the remote's main
# branch doesn't have. Without a remote, or in a shallow clone, only the last commit is checked.
#
#     scripts/check-commits.sh            the new commits
#     scripts/check-commits.sh HEAD~3..   these
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8
main=$(git rev-parse --verify --quiet origin/HEAD || git rev-parse --verify --quiet origin/main || true)
if [ $# != 0 ]; then
    commits=("$@")
elif [ -z "$main" ] || [ "$(git rev-parse --is-shallow-repository)" = true ]; then
    commits=(-1)
else
    commits=("$main..HEAD")
fi
failed=0
while read -r commit subject; do
    if [ ${#subject} -gt 72 ]; then
        echo "error: $commit: the subject has ${#subject} characters, the limit is 72: $subject" >&2
        failed=1
    fi
    if ! [[ $subject =~ ^[A-Za-z0-9][A-Za-z0-9_.,/\ -]{0,39}:\ [^\ ] ]]; then
        echo "error: $commit: the subject does not begin with an area, as in 'tensor-diff: ...': $subject" >&2
        failed=1
    fi
done < <(git log --no-merges --format='%h %s' "${commits[@]}")
[ $failed = 0 ] || echo 'Reword these commits with git rebase -i; CONTRIBUTING.md has the rules.' >&2
exit $failed
