#!/usr/bin/env bash
# Builds the whole book in book/html: its pages, the emulator as WebAssembly, and the editor. If a tool is missing, the
# script prints its name and builds the book without that part; the pages can still be read.
#
# Needs mdbook and mdbook-katex, see the book's page on setting up. Running kernels in the pages needs Rust's target
# wasm32-unknown-unknown (`rustup target add wasm32-unknown-unknown`, or `scripts/wasm-target.sh`). The editor with colours
# needs npm, which fetches the versions that book/page/package-lock.json names.
set -euo pipefail
cd "$(dirname "$0")/.."
crates/emulated-gpu/scripts/build.sh -p book-check
check=${CARGO_TARGET_DIR:-target}/debug/book-check
mdbook build book
"$check" finish

if ! module=$(scripts/wasm-module.sh); then
    echo "the book is built, but its kernels don't run, because the WebAssembly module is missing (see above)" >&2
    "$check" html
    exit 0
fi

editor=()
folder=target/book-page
if command -v npm >/dev/null && command -v node >/dev/null; then
    mkdir -p "$folder"
    cp book/page/package.json book/page/package-lock.json book/page/codemirror-entry.js \
        book/page/languages.js "$folder"
    if npm ci --prefix "$folder" --no-audit --no-fund --ignore-scripts --silent &&
        (cd "$folder" && node node_modules/esbuild/bin/esbuild codemirror-entry.js --bundle --minify \
            --format=iife --target=es2022 --log-level=warning --outfile=codemirror.js); then
        editor=("$folder/codemirror.js")
    else
        echo "the editor can't be fetched or built: the pages get a plain text field" >&2
    fi
else
    echo "Node or npm is missing: the pages get a plain text field in place of the editor" >&2
fi

"$check" runs "$module" "${editor[@]}"
gzip -9 --no-name --keep --force book/html/page/module.wasm
if [ ${#editor[@]} != 0 ]; then
    # The licences of the editor's packages.
    for licence in "$folder"/node_modules/{@codemirror,@lezer,@marijn}/*/LICENSE \
        "$folder"/node_modules/{crelt,style-mod,w3c-keyname}/LICENSE; do
        printf '== %s\n\n' "${licence#"$folder"/node_modules/}"
        cat "$licence"
        printf '\n'
    done >book/html/page/codemirror.licences.txt
fi
"$check" html
echo "the book is built, and its kernels run: open book/html/index.html"
