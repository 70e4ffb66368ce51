#!/usr/bin/env bash
# Unpacks a rustc with the target wasm32-unknown-unknown and its linker below target/wasm-toolchain, from Debian's
# packages, for machines that can reach Debian but not rustup's server. Nothing is installed: the programs run there with
# their own loader. apt checks the packages' signatures. Needs apt and dpkg.
set -euo pipefail
cd "$(dirname "$0")/.."
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
folder=$PWD/target/wasm-toolchain
[ -x "$folder/bin/rustc" ] && "$folder/bin/rustc" --version >/dev/null && exit 0
mkdir -p "$folder"/{lists/partial,cache/archives/partial,root,bin}
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$folder/sources.list"
: >"$folder/status"
options=(-o "Dir::Etc::SourceList=$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$folder/lists" -o "Dir::State::Status=$folder/status"
    -o "Dir::Cache=$folder/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none
    -o APT::Install-Recommends=false)
apt-get "${options[@]}" --quiet=2 update
# Their dependencies, except compilers and linkers for the machine itself.
apt-get "${options[@]}" --print-uris --quiet=2 --yes install libstd-rust-dev-wasm32 rustc lld libc6 |
    awk '{print $2}' | sed 's/_.*//' | grep -v -E '^(gcc|cpp|g\+\+|binutils|.*-dev$|linux-libc)' >"$folder/names" || true
for name in libstd-rust-dev libstd-rust-dev-wasm32; do echo "$name"; done >>"$folder/names"
sort -u "$folder/names" -o "$folder/names"
(cd "$folder/cache" && xargs apt-get "${options[@]}" --quiet=2 download <"$folder/names")
for package in "$folder"/cache/*.deb; do
    dpkg -x "$package" "$folder/root"
done
root=$folder/root/usr
loader=$root/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2
llvm=$(echo "$root"/lib/llvm-*/bin/lld)
libraries=$root/lib/x86_64-linux-gnu:${llvm%/bin/lld}/lib
cat >"$folder/bin/rustc" <<END
#!/bin/sh
exec $loader --library-path $libraries --argv0 $root/bin/rustc $root/bin/rustc --sysroot $root "\$@"
END
cat >"$folder/bin/wasm-ld" <<END
#!/bin/sh
exec $loader --library-path $libraries --argv0 lld $llvm "\$@"
END
chmod +x "$folder/bin/"*
rm -rf "$folder/cache" "$folder/lists"
"$folder/bin/rustc" --version
