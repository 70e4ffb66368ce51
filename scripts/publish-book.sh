#!/usr/bin/env bash
# Builds the book as a site that others may share: `scripts/book.sh`, then a picture of each page, as it looks at
# the top, and in each page's head where that picture will be found: scripts/publish-book.sh URL
#
# Needs what scripts/book.sh needs, and Chromium or Chrome for the pictures; without, the pages have none.
set -euo pipefail
cd "$(dirname "$0")/.."
site=${1:?usage: scripts/publish-book.sh URL, the address at which book/html will be found}
scripts/book.sh

browser=
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then
        browser=$name
        break
    fi
done
if [ -z "$browser" ]; then
    echo "there is no Chromium or Chrome: the pages have no pictures" >&2
    exit 0
fi
mkdir -p book/html/share
# A profile of its own, so that nobody's browser is asked.
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
