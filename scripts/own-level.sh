#!/bin/sh
# Makes the crate of the reader's own level, crates/own-level: the example of crates/conformance without its passes, which
# the reader writes. Does nothing if the crate exists.
set -eu
cd "$(dirname "$0")/.."
crate=crates/own-level
if [ -e "$crate" ]; then
    echo "error: $crate exists: remove it to start over" >&2
    exit 1
fi
cargo new --quiet --vcs none "$crate"
example=crates/conformance/examples/own_level
cp -r "$example/own" "$crate/src/own"
cp "$example/main.rs" "$crate/src/main.rs"
cargo add --quiet --offline -p own-level clap data host libm tensor training
cargo add --quiet --offline -p own-level --dev --path crates/conformance
# The functions of the passes keep their heads and lose their bodies.
awk '
    /ANCHOR/ { next }
    /^use super::buffers/ { print "use super::buffers::Buffers;"; next }
    /^pub\(super\) fn / { head = $0 }
    !inside { print }
    /^pub\(super\) fn / { inside = 1 }
    /^}/ {
        if (inside) {
            if (head ~ /fn forward/) print "    // Stage 2: z and a of each layer, then p.\n    let _ = (buffers, loss);"
            if (head ~ /fn loss/) print "    // Stage 2: the loss, from the last z.\n    let _ = (buffers, loss);\n    f32::NAN"
            if (head ~ /fn backward/) print "    // Stage 3: dz, dw and db of each layer, from the last to the first, and da between them.\n    let _ = buffers;"
            if (head ~ /fn update/) print "    // Stage 4: the parameters minus the learning rate times their gradients.\n    let _ = (buffers, learning_rate);"
            print
        }
        inside = 0
    }
' "$example/own/passes.rs" >"$crate/src/own/passes.rs"
sed -i.bak '/ANCHOR/d' "$crate"/src/own/*.rs && rm "$crate"/src/own/*.bak
echo "made $crate: write $crate/src/own/passes.rs, stage by stage, as the book's page Build your own level describes"
