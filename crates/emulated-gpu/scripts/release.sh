#!/bin/sh
# Makes everything that a release of the emulated GPU consists of, for this machine's architecture: the folder that
# `emulate --install` fills, as a tarball; the wheel; their checksums; and notes from the changelog.
#
#     crates/emulated-gpu/scripts/release.sh FOLDER
#
# Needs cargo-zigbuild 0.24 (crates.io), and build, ziglang and auditwheel (PyPI).
set -eu
[ $# = 1 ] || {
    echo "usage: $0 FOLDER" >&2
    exit 2
}
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' ../../Cargo.toml)
name=emulated-gpu-$version-linux-$(uname -m)
# The changelog's newest section: that of this version, or what will be in it.
awk '/^## / { part++ } part == 1' CHANGELOG.md >"$out/NOTES.md"
[ -s "$out/NOTES.md" ] || {
    echo "error: CHANGELOG.md has no section" >&2
    exit 1
}
scripts/wheel.py "$out"
# The libraries of the wheel, so that the tarball runs on old systems, too.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
triple=$(uname -m)-unknown-linux-gnu
BUILT=${CARGO_TARGET_DIR:-$PWD/../../target}/$triple/release ./emulate --install "$work/$name"
tar -C "$work" -cJf "$out/$name.tar.xz.part" "$name"
mv "$out/$name.tar.xz.part" "$out/$name.tar.xz"
(cd "$out" && sha256sum "$name.tar.xz" emulated_gpu-"$version"-*.whl >SHA256SUMS)
cat "$out/SHA256SUMS"
