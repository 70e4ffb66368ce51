#!/usr/bin/env bash
# Builds the book as a site: `scripts/book.sh`, then a preview picture of the top of each page, whose URL goes into the
# page's head: scripts/publish-book.sh URL
#
# The prerequisites are those of scripts/book.sh, and Chromium or Chrome for the pictures, which are optional.
set -euo pipefail
cd "$(dirname "$0")/.."
site=${1:?usage: scripts/publish-book.sh URL, the address at which book/html will be published}
scripts/book.sh

browser=
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then
        browser=$name
        break
    fi
done
if [ -z "$browser" ]; then
    echo "Chromium or Chrome is missing: the pages get no preview pictures" >&2
    exit 0
fi
mkdir -p book/html/share
# A separate profile, so that a running browser is not used.
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
(cd book/src && find . -name '*.md' ! -name SUMMARY.md) | sed 's|^\./||; s|\.md$||' | sort |
    while read -r page; do
        "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
            --user-data-dir="$profile/browser" --window-size=1200,630 \
            --screenshot="$PWD/book/html/share/${page//\//-}.png" \
            "file://$PWD/book/html/$page.html" 2>"$profile/log" </dev/null ||
            { cat "$profile/log" >&2; exit 1; }
    done
cargo run -q -p book-check -- finish "$site"
cargo run -q -p book-check -- html
