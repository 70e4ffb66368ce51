#!/usr/bin/env bash
# Builds the book as a site: `scripts/book.sh`, then a preview picture of the top of each page, whose URL goes into the
# page's head: scripts/publish-book.sh URL [ARCHIVE.tar.gz]
#
# With an archive, the committed files and the site (in book/html) are packed into it, in a folder named after the archive.
#
# The prerequisites are those of scripts/book.sh, and Chromium or Chrome for the pictures, which are optional.
set -euo pipefail
cd "$(dirname "$0")/.."
site=${1:?usage: scripts/publish-book.sh URL [ARCHIVE.tar.gz], with the address at which book/html will be published}
archive=${2:-}
case $archive in
"" | *.tar.gz) ;;
*)
    echo "error: the archive's name $archive doesn't end with .tar.gz" >&2
    exit 2
    ;;
esac
scripts/book.sh
if [ -n "$archive" ] && [ ! -e book/html/page/module.wasm ]; then
    echo "error: the archive would have pages that don't run, see above" >&2
    exit 1
fi

browser=
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then
        browser=$name
        break
    fi
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ -z "$browser" ]; then
    echo "Chromium or Chrome is missing: the pages get no preview pictures" >&2
else
    mkdir -p book/html/share
    # A separate profile, so that a running browser is not used.
    (cd book/src && find . -name '*.md' ! -name SUMMARY.md) | sed 's|^\./||; s|\.md$||' | sort |
        while read -r page; do
            "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
                --user-data-dir="$scratch/browser" --window-size=1200,630 \
                --screenshot="$PWD/book/html/share/${page//\//-}.png" \
                "file://$PWD/book/html/$page.html" 2>"$scratch/log" </dev/null ||
                { cat "$scratch/log" >&2; exit 1; }
        done
    cargo run -q -p book-check -- finish "$site"
    cargo run -q -p book-check -- html
fi

if [ -n "$archive" ]; then
    folder=$(basename "$archive" .tar.gz)
    git archive --prefix="$folder/" HEAD >"$scratch/release.tar"
    # Without this machine's users and times.
    tar --append --file="$scratch/release.tar" --transform="s|^|$folder/|" --sort=name --owner=0 --group=0 \
        --numeric-owner --mtime="@$(git log -1 --format=%ct)" book/html
    gzip -9 --no-name <"$scratch/release.tar" >"$archive"
    echo "$archive has the committed files and the site: open $folder/book/html/index.html in it"
fi
